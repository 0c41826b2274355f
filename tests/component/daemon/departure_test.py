#!/usr/bin/env python3
"""Clients that go away from the real binary, and what a half-closed connection means to it."""

import pathlib
import socket
import struct
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import harness
from daemon import FORWARDER, DaemonCase

GET = b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n"
POST = b"POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}"
UPLOAD = b"PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nabc"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Departure(DaemonCase):
    def setUp(self):
        super().setUp()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(harness.patience(10))
        self.addCleanup(self.listener.close)

    def serve(self, *ours):
        return self.ready(server=FORWARDER, model=False, ours=ours,
                          BACKEND=self.listener.getsockname()[1])

    def exchange(self, daemon, request):
        """A client that has sent a request, and the child that has received it."""
        client = socket.create_connection(("127.0.0.1", daemon.port))
        self.addCleanup(client.close)
        client.sendall(request)
        child, _ = self.listener.accept()
        self.addCleanup(child.close)
        for each in (client, child):
            each.settimeout(harness.patience(10))
        received = b""
        while not received.endswith(request[-3:]):
            received += child.recv(65536)
        return client, child

    def test_the_child_learns_of_it_at_once(self):
        def fin(client):
            client.close()

        def half(client):
            client.shutdown(socket.SHUT_WR)

        def reset(client):
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()

        daemon = self.serve()
        for request in (GET, POST, UPLOAD):
            for leave in (fin, half, reset):
                for streaming in (False, True):
                    with self.subTest(request=request[:4], how=leave.__name__, streaming=streaming):
                        times = []
                        while len(times) < 5 and min(times, default=1) > 0.05:
                            client, child = self.exchange(daemon, request)
                            if streaming:
                                child.sendall(b"HTTP/1.1 200 OK\r\n\r\ndata: a\n\n")
                                client.recv(65536)
                            left = time.monotonic()
                            leave(client)
                            try:
                                self.assertEqual(child.recv(1), b"")
                            except ConnectionResetError:
                                pass
                            times.append(time.monotonic() - left)
                        self.assertLess(min(times), 0.05)

    def test_a_half_closed_client_gets_its_answer_where_that_is_asked_for(self):
        daemon = self.serve("--hibernate-half-close", "keep")
        for request in (GET, POST):
            client, child = self.exchange(daemon, request)
            client.shutdown(socket.SHUT_WR)
            # The child hears nothing of it, and the answer comes through.
            child.settimeout(0.3)
            with self.assertRaises(TimeoutError):
                child.recv(1)
            child.sendall(OK)
            received = b""
            while data := client.recv(65536):
                received += data
            self.assertEqual(received, OK)


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "FAKE_LLAMA_SERVER")
