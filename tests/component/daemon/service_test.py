#!/usr/bin/env python3
"""Under a service manager that speaks sd_notify's protocol: what it is told, and when."""

import os
import pathlib
import signal
import socket
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import harness
from daemon import DaemonCase, LONG, OTHER, chat


class Manager:
    """The manager's end of the socket; what it got is kept with the time."""

    def __init__(self, address, on_message=None):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address.replace("@", "\0") if address.startswith("@") else address)
        self.messages = []  # (seconds, [lines])
        self.on_message = on_message
        self.thread = threading.Thread(target=self._listen, daemon=True)
        self.thread.start()

    def _listen(self):
        while data := self.socket.recv(65536):
            lines = data.decode().split("\n")
            if self.on_message:
                self.on_message(lines)
            self.messages.append((time.monotonic(), lines))

    def lines(self, start=""):
        return [line for _, lines in list(self.messages) for line in lines if line.startswith(start)]

    def times_of(self, start):
        return [at for at, lines in list(self.messages) if any(l.startswith(start) for l in lines)]

    def wait_for(self, start):
        harness.wait_until(lambda: self.lines(start), what=f"{start} is told")

    def close(self):
        self.socket.sendto(b"", self.socket.getsockname())
        self.thread.join()
        self.socket.close()


class Service(DaemonCase):
    def manager(self, address=None, on_message=None):
        there = Manager(address or str(self.folder / "notify"), on_message)
        self.addCleanup(there.close)
        return there

    def serve(self, *arguments, address=None, **more):
        return self.launch("-np", 2, *arguments,
                           NOTIFY_SOCKET=address or self.folder / "notify", **more)

    def test_ready_is_said_once_and_when_health_says_200(self):
        self.seed(LONG, OTHER)
        port = harness.free_port()
        healths = []

        def look(lines):
            answer = harness.try_get(port, "/health")
            healths.append(("READY=1" in lines, answer and answer.status))

        manager = self.manager(on_message=look)
        daemon = self.serve(ours=["--hibernate-health-hold", "0"], port=port, FAKE_LOAD_MS=300,
                            FAKE_RESTORE_MS=300)
        manager.wait_for("READY=1")
        self.assertIn((True, 200), healths)
        before = healths[:healths.index((True, 200))]
        self.assertTrue(before)
        self.assertNotIn(200, [status for _, status in before])
        self.complete(daemon)
        self.stop(daemon)
        self.assertEqual(manager.lines("READY"), ["READY=1"])
        self.assertEqual(
            [line for line in manager.lines("STATUS") if "saving" not in line and
             "stopping" not in line and "ended" not in line][:4],
            ["STATUS=loading", "STATUS=restoring", "STATUS=restoring 1 of 2",
             "STATUS=restoring 2 of 2"])
        (ready,) = manager.lines("STATUS=ready")
        self.assertRegex(ready, r"ready: 2 conversations, 1,\d\d\d tokens restored \(.*\)$")

    def test_a_long_load_asks_for_time(self):
        manager = self.manager()
        daemon = self.serve(FAKE_LOAD_MS=60000, WATCHDOG_USEC=200000)
        harness.wait_until(lambda: len(manager.lines("EXTEND_TIMEOUT_USEC=")) > 3)
        self.assertEqual(manager.lines("READY"), [])
        self.stop(daemon, within=2)
        self.assertEqual(manager.lines("READY"), [])
        self.assertEqual(manager.lines("STOPPING"), ["STOPPING=1"])

    def test_a_slow_save_is_announced_and_watched(self):
        manager = self.manager()
        daemon = self.serve(ours=["--hibernate-stop-budget", "20s", "--hibernate-idle-save", "0"],
                            FAKE_SAVE_MS=1200, FAKE_TOKEN_MS=50, WATCHDOG_USEC=200000)
        harness.wait_ready(daemon.port, process=daemon)
        # At the same time: one after the other, the first would be saved before the second.
        both = [harness.Stream(daemon.port, "/v1/chat/completions", chat(text, 20, stream=True))
                for text in (LONG, OTHER)]
        for each in both:
            each.read_until(b"[DONE]")
            each.close()
        self.assertEqual(manager.lines("STOPPING"), [])
        ready = manager.times_of("READY=1")[0]
        self.assertEqual([at for at in manager.times_of("EXTEND") if at > ready], [],
                         "a service that runs needs no more time")
        daemon.send(signal.SIGTERM)
        self.ends(daemon, 6, 0)
        self.assertEqual(manager.lines("STOPPING"), ["STOPPING=1"])
        saving = [manager.times_of(f"STATUS=saving {step} of 2")[0] for step in (1, 2)]
        self.assertGreater(saving[1] - saving[0], 1)
        fed = [at for at in manager.times_of("WATCHDOG=1") if saving[0] <= at <= saving[1]]
        self.assertGreater(len(fed), 5, "twice in its time, while a save runs")
        self.assertLess(max(b - a for a, b in zip(fed, fed[1:])), harness.patience(0.2))
        asked = [int(line.split("=")[1]) for at, lines in manager.messages
                 for line in lines if at >= saving[0] and line.startswith("EXTEND")]
        self.assertLess(max(asked), 25_000_001, "not beyond our own budget, and a little")
        self.assertGreater(min(asked), 15_000_000)

    def test_the_child_hears_nothing_of_it(self):
        manager = self.manager()
        daemon = self.serve(WATCHDOG_USEC=60000000, LISTEN_FDS=1, LISTEN_PID=1)
        manager.wait_for("READY=1")
        seen = pathlib.Path(f"/proc/{self.child(daemon)}/environ").read_bytes().split(b"\0")
        self.assertTrue(any(entry.startswith(b"HIBERNATE_TEST=") for entry in seen))
        for ours in (b"NOTIFY_SOCKET", b"WATCHDOG_", b"LISTEN_"):
            self.assertEqual([entry for entry in seen if entry.startswith(ours)], [])

    def test_a_child_that_is_started_again_is_no_second_start(self):
        manager = self.manager()
        daemon = self.serve(ours=["--hibernate-on-exit", "restart"])
        manager.wait_for("READY=1")
        os.kill(self.child(daemon), signal.SIGKILL)
        harness.wait_until(lambda: len(manager.lines("STATUS=ready")) == 2, what="ready again")
        self.assertEqual(manager.lines("READY"), ["READY=1"])
        self.assertEqual(manager.lines("STATUS=llama-server is started again"),
                         ["STATUS=llama-server is started again"])
        self.stop(daemon)

    def test_an_abstract_address(self):
        address = f"@hibernate-test-{os.getpid()}"
        manager = self.manager(address)
        daemon = self.serve(address=address)
        manager.wait_for("READY=1")
        self.stop(daemon, within=2)

    def test_a_watchdog_for_another_process_is_not_ours(self):
        manager = self.manager()
        daemon = self.serve(WATCHDOG_USEC=100000, WATCHDOG_PID=1)
        manager.wait_for("READY=1")
        self.stop(daemon, within=2)
        self.assertEqual(manager.lines("WATCHDOG"), [])

    def test_ready_comes_late_to_a_manager_that_was_not_there(self):
        daemon = self.serve()
        harness.wait_ready(daemon.port, process=daemon)
        manager = self.manager()
        manager.wait_for("READY=1")
        self.stop(daemon, within=2)

    def test_a_manager_that_does_not_read_holds_nothing_up(self):
        deaf = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(deaf.close)
        deaf.bind(str(self.folder / "notify"))
        deaf.setblocking(False)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as filler:
            filler.setblocking(False)
            with self.assertRaises(BlockingIOError):
                while True:
                    filler.sendto(b"x", str(self.folder / "notify"))
        daemon = self.serve(WATCHDOG_USEC=20000)
        harness.wait_ready(daemon.port, process=daemon)
        self.complete(daemon)
        self.stop(daemon, within=2)
        self.assertEqual(len(self.snapshot_tokens()), 1)


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "FAKE_LLAMA_SERVER")
