#!/usr/bin/env python3
"""Stands where llama-server stood, and passes every connection on to a server that the test plays.

Only what llama-hibernate asks by itself is answered here. BACKEND is the port of the test's server.
Bytes pass as they are, and so do the two ways in which a connection may end.
"""

import os
import signal
import socket
import struct
import sys
import threading

OURS = {b"/health": b'{"status":"ok"}', b"/props": b"{}", b"/slots": b"[]", b"/v1/models": b'{"data":[]}'}


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def pass_on(source, target, first=b""):
    try:
        data = first or source.recv(65536)
        while data:
            target.sendall(data)
            data = source.recv(65536)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        for each in (source, target):
            try:
                each.shutdown(socket.SHUT_RDWR)
                reset(each)
            except OSError:
                pass


def serve(client, backend):
    with client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            first = client.recv(65536)
        except OSError:
            return
        words = first.split(b" ", 2)
        answer = OURS.get(words[1].split(b"?")[0]) if len(words) == 3 else None
        if answer is not None:
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                           b"Connection: close\r\nContent-Length: %d\r\n\r\n%s"
                           % (len(answer), answer))
            return
        try:
            server = socket.create_connection(("127.0.0.1", backend))
        except OSError:
            return
        with server:
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            back = threading.Thread(target=pass_on, args=(server, client), daemon=True)
            back.start()
            pass_on(client, server, first)
            back.join()


def main():
    arguments = sys.argv[1:]
    port = int(arguments[arguments.index("--port") + 1])
    signal.signal(signal.SIGINT, lambda *_: os._exit(0))
    backend = int(os.environ["BACKEND"])
    listener = socket.create_server(("127.0.0.1", port), backlog=128)
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client, backend), daemon=True).start()


main()
