#!/usr/bin/env python3
"""Clients that send or read slowly on purpose, played by slowhttptest, hurt nobody else."""

import contextlib
import csv
import http.server
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import harness
from daemon import DaemonCase

SLOWHTTPTEST = shutil.which("slowhttptest")
if SLOWHTTPTEST is None:
    sys.exit("slowhttptest is missing: packaging/install-packages test")

MIB = 1024 * 1024
SECONDS = 6
# A sanitizer holds back what was freed.
HELD_BACK = 400 * MIB if os.environ.get("SANITIZED") == "1" else 0
FEW = 4  # sockets of a daemon that serves nobody


def memory(pid):
    """Resident bytes."""
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


def sockets(pid):
    """How many it has open."""
    count = 0
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            count += os.readlink(entry).startswith("socket:")
    return count


class Big(http.server.BaseHTTPRequestHandler):
    """A long response to every GET."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(16 * MIB))
        self.end_headers()
        try:
            for _ in range(16):
                self.wfile.write(bytes(MIB))
        except OSError:
            pass

    def log_message(self, *_):
        pass


class SlowClients(DaemonCase):
    def attack(self, daemon, mode, connections, path="/slow"):
        """Runs it beside a client that wants /health now and then; returns its own account, a row
        for each second."""
        report = self.folder / "report"
        process = subprocess.Popen(
            [SLOWHTTPTEST, mode, "-g", "-o", report, "-c", str(connections), "-r", str(connections),
             "-i", "1", "-l", str(SECONDS), "-p", "3", "-v", "0",
             "-u", f"http://127.0.0.1:{daemon.port}{path}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        self.most_memory = 0
        while process.poll() is None:
            answer = harness.get(daemon.port, "/health", timeout=harness.patience(5))
            self.assertEqual(answer.status, 200)
            self.most_memory = max(self.most_memory, memory(daemon.pid))
            time.sleep(0.1)
        with open(f"{report}.csv", newline="") as file:
            rows = [{name.strip(): int(value) for name, value in row.items() if value}
                    for row in csv.DictReader(file)]
        self.assertTrue(rows)
        self.assertGreaterEqual(max(row["Connected"] for row in rows), connections * 9 // 10, rows)
        return rows

    def all_gone(self, daemon):
        """No socket of an attack is left open."""
        harness.wait_until(lambda: sockets(daemon.pid) <= self.at_rest, 10, "closed connections")

    def at_ease(self, daemon):
        harness.get(daemon.port, "/health")
        harness.wait_until(lambda: sockets(daemon.pid) <= FEW, what="no open connection")
        self.at_rest = sockets(daemon.pid)
        return daemon

    def test_heads_that_never_end(self):
        daemon = self.at_ease(self.ready())
        self.attack(daemon, "-H", 500)
        self.assertLess(self.most_memory, 96 * MIB + HELD_BACK)
        # slowhttptest looks once a second whether anybody is served still: those are whole.
        seen = [event for event in self.events("request") if "slow" in event["target"]]
        self.assertLessEqual(len(seen), 2 * SECONDS, "the child saw heads that never ended")
        self.all_gone(daemon)

    def test_bodies_that_never_end(self):
        daemon = self.at_ease(self.ready())
        self.attack(daemon, "-B", 100, "/v1/chat/completions")
        self.all_gone(daemon)
        self.complete(daemon)

    def test_responses_that_nobody_reads(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Big)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        daemon = self.at_ease(self.forwarding(server.server_address[1]))
        self.attack(daemon, "-X", 100)
        self.assertLess(self.most_memory, 64 * MIB + HELD_BACK, "100 responses of 16 MiB, unread")
        self.all_gone(daemon)


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "FAKE_LLAMA_SERVER")
