#!/usr/bin/env python3
"""What llama-hibernate adds to a start and to a stop, on a real llama-server with a tiny model.

    tests/bench/start_and_stop.py [RUNS]

Programs as the tests take them (HIBERNATE_BIN, REAL_LLAMA_SERVER, MODELS), else those that
tests/run.sh left in build/. Prints milliseconds: from the child's first 200 on /health to ours, and
from SIGTERM to our exit less the time that llama-server itself reports for its saves.
"""

import http.client
import json
import os
import pathlib
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
BIN = os.environ.get("HIBERNATE_BIN", TOP / "build/release/llama-hibernate")
SERVER = os.environ.get("REAL_LLAMA_SERVER", TOP / "build/llama/llama-server")
MODELS = pathlib.Path(os.environ.get("MODELS", TOP / "build/release/models"))
TEXT = "The river ran past seven old houses and a mill. " * 12


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def request(port, method, path, body=None, timeout=30):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request(method, path, json.dumps(body) if body else None)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def first_200(port, pause):
    """When /health says 200 for the first time."""
    while True:
        try:
            if request(port, "GET", "/health")[0] == 200:
                return time.monotonic()
        except OSError:
            pass
        time.sleep(pause)


class Run:
    """One life of the daemon, measured."""

    def __init__(self, store, chat):
        port = free_port()
        self.lines = []
        self.saving_ms = 0.0
        process = subprocess.Popen(
            [BIN, "--hibernate-dir", store, SERVER, "-m", MODELS / "tiny-llama.gguf", "--port",
             str(port), "-np", "2", "-t", "1", "--log-disable"],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, errors="replace")
        child_port = threading.Event()
        reader = threading.Thread(target=self.read, args=(process.stderr, child_port))
        reader.start()
        ours = []
        asker = threading.Thread(target=lambda: ours.append(first_200(port, 0.001)))
        asker.start()
        child_port.wait(30)
        child = first_200(self.child_port, 0.001)
        asker.join()
        self.start_ms = (ours[0] - child) * 1000

        if chat:
            status, body = request(port, "POST", "/v1/chat/completions", {
                "messages": [{"role": "user", "content": TEXT}], "max_tokens": 8,
                "temperature": 0})
            assert status == 200, body
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        process.wait()
        total = (time.monotonic() - began) * 1000
        reader.join()
        assert process.returncode == 0, self.lines
        for line in self.lines:
            if saved := re.search(r"saved slot \d+: .* in (\d+) ms", line):
                self.saving_ms += int(saved[1])
        self.stop_ms = total - self.saving_ms

    def read(self, stream, child_port):
        for line in stream:
            self.lines.append(line)
            if found := re.search(r"process \d+, port (\d+)\)", line):
                self.child_port = int(found[1])
                child_port.set()


def show(what, values):
    values = sorted(values)
    print(f"{what:58}{statistics.median(values):9.1f}{values[int(len(values) * .9)]:9.1f}"
          f"{values[-1]:9.1f}")


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print(f"{f'milliseconds, {runs} runs':58}{'median':>9}{'p90':>9}{'max':>9}")
    with tempfile.TemporaryDirectory() as store:
        idle = [Run(store, chat=False) for _ in range(runs)]
    show("child's 200 to ours, nothing to restore", [run.start_ms for run in idle])
    show("SIGTERM to exit, nothing to save", [run.stop_ms for run in idle])
    with tempfile.TemporaryDirectory() as store:
        Run(store, chat=True)
        busy = [Run(store, chat=True) for _ in range(runs)]
    show("child's 200 to ours, one conversation restored", [run.start_ms for run in busy])
    show("SIGTERM to exit less the save, one conversation saved", [run.stop_ms for run in busy])


main()
