#!/usr/bin/env python3
"""llama-server as it was before it wrote context checkpoints and the draft model's state into its
slot files.

    REAL_LLAMA_SERVER=... old_llama_server.py [llama-server's arguments...]

Starts the real one behind itself, passes requests on, and cuts what follows the KV state off each
file right after it was saved.
"""

import ctypes
import http.client
import http.server
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import threading
import time


MAGIC = (b"SCKP" + struct.pack("<I", 1), b"SDFT" + struct.pack("<I", 1))


def end_of_state(data):
    """Where the trailers begin ("SCKP" and "SDFT", see llama/state_trailers.hpp), or the end."""
    end = len(data)
    for magic in MAGIC:
        at = data.rfind(magic)
        while at >= 0:
            if follows_to_the_end(data, at):
                end = min(end, at)
                break
            at = data.rfind(magic, 0, at)
    return end


def follows_to_the_end(data, at):
    def skip(at, count):
        for _ in range(count):
            at += 8 + struct.unpack_from("<Q", data, at)[0]
        return at

    try:
        if data[at:].startswith(MAGIC[0]):
            count = struct.unpack_from("<I", data, at + 8)[0]
            at += 12
            for _ in range(count):
                at = skip(at + 16, 3)
        if data[at:].startswith(MAGIC[1]):
            at = skip(at + 8, 2)
    except struct.error:
        return False
    return at == len(data)


class Relay(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    port = 0
    folder = pathlib.Path()

    def log_message(self, *_):
        pass

    def relay(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        to = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            to.request(self.command, self.path, body, dict(self.headers))
            answer = to.getresponse()
            content = answer.read()
        except OSError:
            content, status, kind = b'{"error":{"message":"Loading model"}}', 503, "application/json"
        else:
            status, kind = answer.status, answer.headers.get("Content-Type", "")
            if status == 200 and "action=save" in self.path:
                content = self.cut(json.loads(content), json.loads(body)["filename"])
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_DELETE = relay

    def cut(self, answer, name):
        path = self.folder / name
        end = end_of_state(path.read_bytes())
        os.truncate(path, end)
        answer["n_written"] = end
        return json.dumps(answer).encode()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main():
    arguments = sys.argv[1:]
    server = os.environ["REAL_LLAMA_SERVER"]
    if "--port" not in arguments:
        os.execv(server, [server, *arguments])
    at = arguments.index("--port") + 1
    port, Relay.port = int(arguments[at]), free_port()
    arguments[at] = str(Relay.port)
    if "--slot-save-path" in arguments:
        Relay.folder = pathlib.Path(arguments[arguments.index("--slot-save-path") + 1])

    def die_with_parent():
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)

    child = subprocess.Popen([server, *arguments], preexec_fn=die_with_parent)
    signal.signal(signal.SIGINT, lambda *_: child.send_signal(signal.SIGINT))
    relay = http.server.ThreadingHTTPServer(("127.0.0.1", port), Relay)
    threading.Thread(target=relay.serve_forever, daemon=True).start()
    while child.poll() is None:
        time.sleep(0.02)
    os._exit(child.returncode if child.returncode >= 0 else 1)


if __name__ == "__main__":
    main()
