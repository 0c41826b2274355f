#!/usr/bin/env python3
"""An independent reader of HTTP/1.1, h11, stands on both sides of the real binary.

It refuses whatever the standard does not allow: whatever it reads without complaint, from our
requests to the child and from our responses to clients, is well formed.
"""

import pathlib
import socket
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import harness
from daemon import DaemonCase

h11 = harness.module("h11", "python3-h11")
COMPLETION = "/v1/chat/completions"


def events_of(connection, sock):
    """Every event until the message ends or the connection pauses or closes."""
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(sock.recv(65536))
            continue
        yield event
        if isinstance(event, (h11.EndOfMessage, h11.ConnectionClosed)) or event is h11.PAUSED:
            return


class Message:
    """A request or a response as h11 read it."""

    def __init__(self, connection, sock):
        self.interim, self.body, self.head, self.trailers = [], b"", None, None
        for event in events_of(connection, sock):
            if isinstance(event, h11.InformationalResponse):
                self.interim.append(event)
            elif isinstance(event, (h11.Request, h11.Response)):
                self.head = event
                if isinstance(event, h11.Request) and connection.they_are_waiting_for_100_continue:
                    sock.sendall(connection.send(
                        h11.InformationalResponse(status_code=100, headers=[])))
            elif isinstance(event, h11.Data):
                self.body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                self.trailers = event.headers.raw_items()

    def values(self, name):
        return [value for key, value in self.head.headers.raw_items()
                if key.lower() == name.lower().encode()]


class Backend:
    """A server on a port of its own; answers(request) gives the events, or bytes, to send."""

    def __init__(self, answers):
        self.answers, self.requests, self.errors = answers, [], []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock):
        connection = h11.Connection(h11.SERVER)
        with sock:
            try:
                request = Message(connection, sock)
                self.requests.append(request)
                for event in self.answers(request):
                    raw = event if isinstance(event, bytes) else connection.send(event)
                    sock.sendall(raw or b"")
            except (h11.ProtocolError, OSError) as error:
                self.errors.append(error)

    def close(self):
        self.listener.close()


class Client:
    """One connection to the daemon."""

    def __init__(self, port):
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=harness.patience(10))
        self.h11 = h11.Connection(h11.CLIENT)

    def ask(self, method, target, headers=(), body=b"", trailers=(), waits=False):
        """One exchange; the connection is ready for the next if h11 thinks so."""
        if self.h11.our_state is h11.DONE:
            self.h11.start_next_cycle()
        request = h11.Request(method=method, target=target,
                              headers=[("Host", "h"), *headers])
        self.sock.sendall(self.h11.send(request))
        if waits:
            event = next(events_of(self.h11, self.sock))
            assert isinstance(event, h11.InformationalResponse), event
            assert event.status_code == 100, event
        data = self.h11.send(h11.Data(data=body)) if body else b""
        self.sock.sendall(data + self.h11.send(h11.EndOfMessage(headers=list(trailers))))
        return Message(self.h11, self.sock)

    def is_closed(self):
        """Nothing but the end comes."""
        return self.sock.recv(1) == b""


def response(status=200, headers=(), body=b"", trailers=()):
    return [h11.Response(status_code=status, headers=list(headers)),
            *([h11.Data(data=body)] if body else []),
            h11.EndOfMessage(headers=list(trailers))]


CHUNKED = [("Transfer-Encoding", "chunked")]
ANSWERS = {
    b"/plain": response(headers=[("Content-Length", "5"), ("X-A", "1"), ("X-A", "2"),
                                 ("Set-Cookie", "a=1; Path=/"), ("Set-Cookie", "b=2")],
                        body=b"plain"),
    b"/chunks": response(headers=CHUNKED, body=b"data: x\n\n" * 1000, trailers=[("X-End", "1")]),
    b"/unframed": [b"HTTP/1.1 200 OK\r\n\r\nuntil the end"],  # h11 would frame it
    b"/nothing": response(204),
    b"/unchanged": response(304, [("Content-Length", "77"), ("ETag", '"x"')]),
    b"/early": [h11.InformationalResponse(status_code=103, headers=[("Link", "</x>")]),
                *response(headers=[("Content-Length", "2")], body=b"ok")],
}


def answer(request):
    if request.head.method == b"HEAD":
        return response(headers=[("Content-Length", "1234")])
    echo = response(headers=[("Content-Length", str(len(request.body)))], body=request.body)
    return ANSWERS.get(request.head.target, echo)


class H11(DaemonCase):
    def setUp(self):
        super().setUp()
        self.backend = Backend(answer)
        self.addCleanup(self.backend.close)
        self.daemon = self.forwarding(self.backend.port)

    def client(self):
        client = Client(self.daemon.port)
        self.addCleanup(client.sock.close)
        return client

    def tearDown(self):
        self.assertEqual(self.backend.errors, [])

    def test_every_kind_of_response_on_one_connection(self):
        client = self.client()
        for _ in range(2):
            plain = client.ask("GET", "/plain")
            self.assertEqual((plain.head.status_code, plain.body), (200, b"plain"))
            self.assertEqual(plain.values("X-A"), [b"1", b"2"])
            self.assertEqual(plain.values("Set-Cookie"), [b"a=1; Path=/", b"b=2"])
            chunks = client.ask("GET", "/chunks")
            self.assertEqual(chunks.body, b"data: x\n\n" * 1000)
            self.assertEqual(chunks.trailers, [(b"X-End", b"1")])
            self.assertEqual(client.ask("GET", "/nothing").head.status_code, 204)
            unchanged = client.ask("GET", "/unchanged")
            self.assertEqual((unchanged.head.status_code, unchanged.body), (304, b""))
            head = client.ask("HEAD", "/plain")
            self.assertEqual((head.values("Content-Length"), head.body), ([b"1234"], b""))
            early = client.ask("GET", "/early")
            self.assertEqual([each.status_code for each in early.interim], [103])
            self.assertEqual(early.body, b"ok")
        unframed = client.ask("GET", "/unframed")
        self.assertEqual(unframed.body, b"until the end")
        self.assertTrue(client.is_closed())

    def test_every_kind_of_request_arrives(self):
        client = self.client()
        body = bytes(range(256)) * 500
        for target in ("/echo", COMPLETION):
            measured = [("Content-Length", str(len(body)))]
            self.assertEqual(client.ask("POST", target, measured, body).body, body)
            waiting = [*measured, ("Expect", "100-continue")]
            self.assertEqual(client.ask("POST", target, waiting, body, waits=True).body, body)
            self.assertEqual(client.ask("PUT", target, CHUNKED, body).body, body)
            sent = client.ask("POST", target, CHUNKED, body, [("X-End", "1"), ("X-End", "2")])
            self.assertEqual(sent.body, body)
            seen = self.backend.requests[-1]
            self.assertEqual(seen.trailers, [(b"X-End", b"1"), (b"X-End", b"2")])
            self.assertEqual(seen.values("Connection"), [b"close"])
            self.assertEqual(seen.values("X-Forwarded-For"), [b"127.0.0.1"])
            self.assertEqual(client.ask("DELETE", target).body, b"")

    def test_a_client_that_asks_to_close_is_closed(self):
        for target in ("/plain", "/chunks", "/nothing"):
            client = self.client()
            client.ask("GET", target, [("Connection", "close")])
            self.assertIs(client.h11.their_state, h11.MUST_CLOSE)
            self.assertTrue(client.is_closed())

    def test_our_own_answers_are_well_formed(self):
        cases = {
            b"GET / HTTP/1.1\r\n\r\n": 400,
            b"GET / HTTP/3.0\r\nHost: h\r\n\r\n": 505,
            b"CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n": 501,
            b"POST / HTTP/1.1\r\nHost: h\r\nExpect: x\r\n\r\n": 417,
            b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n": (400, 501),
            b"GET /" + b"x" * 70_000: 414,
            b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"x" * 70_000: 431,
        }
        for sent, status in cases.items():
            client = self.client()
            # What h11 believes to have sent has no say in what it reads.
            client.h11.send(h11.Request(method="GET", target="/", headers=[("Host", "h")]))
            client.h11.send(h11.EndOfMessage())
            client.sock.sendall(sent)
            refused = Message(client.h11, client.sock)
            self.assertIn(refused.head.status_code, status if isinstance(status, tuple) else (status,))
            self.assertEqual(refused.values("Connection"), [b"close"])
            self.assertTrue(client.is_closed())
        client = self.client()
        for _ in range(2):  # its body is read, so that the connection can stay
            slots = client.ask("POST", "/slots/0?action=save", [("Content-Length", "2")], b"{}")
            self.assertEqual(slots.head.status_code, 403)
        self.assertEqual(self.backend.requests, [])

    def test_http_1_0_gets_neither_chunks_nor_interim_responses(self):
        for target, body in (("/chunks", b"data: x\n\n" * 1000), ("/early", b"ok")):
            client = self.client()
            client.sock.sendall(f"GET {target} HTTP/1.0\r\n\r\n".encode())
            client.h11.send(h11.Request(method="GET", target="/", headers=[("Host", "h")]))
            client.h11.send(h11.EndOfMessage())
            got = Message(client.h11, client.sock)
            self.assertEqual((got.interim, got.body), ([], body))
            self.assertEqual(got.values("Transfer-Encoding"), [])


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN")
