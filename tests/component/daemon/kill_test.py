#!/usr/bin/env python3
"""A kill -9 at any instant leaves the old conversation or the new one, whole, and nothing else."""

import contextlib
import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import harness
from daemon import DaemonCase, LONG

TRIES = 20
NOT_SYNCED = "the machine may have restarted before it was synced to the disk"


class Kill(DaemonCase):
    def setUp(self):
        super().setUp()
        # A store with one conversation, and what is said when that goes on.
        daemon = self.seed(LONG)
        (self.old,) = self.snapshot_tokens()
        self.template = self.folder / "template"
        self.root.rename(self.template)
        self.root = self.folder / "fresh"
        daemon = self.ready("-np", 2)
        reply = self.complete(daemon)["choices"][0]["message"]["content"]
        self.messages = [{"role": "user", "content": LONG},
                         {"role": "assistant", "content": reply},
                         {"role": "user", "content": "And what does the dog say?"}]
        self.answer = self.go_on(daemon)["choices"][0]["message"]["content"]
        daemon.end()

    def go_on(self, daemon):
        answer = harness.post(daemon.port, "/v1/chat/completions",
                              {"messages": self.messages, "max_tokens": 8, "temperature": 0})
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def begin(self, name, program=None, **script):
        """A daemon on a new copy of the store, which is not waited for."""
        self.root = self.folder / name
        shutil.copytree(self.template, self.root)
        line = [program or harness.program("HIBERNATE_BIN"), "--hibernate-dir", self.root,
                self.fake, "-m", self.model, "-np", "2", "--host", "127.0.0.1"]
        port = harness.free_port()
        daemon = self.start([*line, "--port", port], self.environment(**script))
        daemon.port = port
        return daemon

    def live(self, daemon):
        """Its life up to the stop, as far as it gets."""
        with contextlib.suppress(OSError, http.client.HTTPException, AssertionError):
            harness.wait_ready(daemon.port, process=daemon)
            self.go_on(daemon)
            # What it notes in the background is done: so each life has the same steps.
            harness.wait_until(
                lambda: daemon.poll() is not None or [m["uses"] for m in self.manifests()] == [1],
                10, "the restore is noted")
            daemon.send(signal.SIGTERM)

    def check_what_is_left(self):
        """Starts again as if nothing had been, and returns how many tokens were there."""
        daemon = self.ready("-np", 2)
        told = self.go_on(daemon)
        self.assertEqual(told["choices"][0]["message"]["content"], self.answer)
        self.assertGreaterEqual(told["timings"]["cache_n"], self.old, daemon.output)

        def lost():
            # To a portable build nobody tells whether the machine was restarted, too: the one before
            # that is back, and the new one stays in quarantine unless it was synced.
            return [m for m in self.manifests() if harness.PORTABLE and m["quarantine"]]

        def names():
            ids = [m["id"] for m in lost()]
            return sorted(path.name for path in self.root.glob("*/*")
                          if path.name not in ("lock", "stopped", "stopped.tmp") and
                          path.name[:16] not in ids)

        # What is unfinished is finished in the background.
        harness.wait_until(lambda: [name[16:] for name in names()] == [".json", ".kv"], 5,
                           f"one snapshot and nothing else in {names()}")
        self.assertEqual(len({name[:16] for name in names()}), 1)
        (manifest,) = [m for m in self.manifests() if m not in lost()]
        self.assertEqual(manifest["quarantine"], "")
        self.assertEqual({m["quarantine"] for m in lost()} - {NOT_SYNCED}, set())
        self.assertEqual(daemon.output.count("into quarantine"), len(lost()), daemon.output)
        daemon.end()
        self.assertEqual(len(self.snapshot_tokens()), 1 + len(lost()))
        return manifest["tokens"]

    def test_at_every_step(self):
        faulty = harness.program("FAULTY_HIBERNATE")
        steps = self.folder / "steps"
        daemon = self.begin("whole", faulty, FAULT_STEPS=steps)
        self.live(daemon)
        self.assertEqual(self.status_of(daemon), 0, daemon.output)
        planned = steps.read_text().splitlines()
        new = self.check_what_is_left()
        self.assertGreater(new, self.old)
        for step in ("lock", "create", "make private", "rename", "replace, half", "sync",
                     "sync directory", "remove"):
            self.assertTrue([line for line in planned if line.startswith(step)], planned)

        left = []
        for number, what in enumerate(planned, 1):
            with self.subTest(step=number, what=what):
                daemon = self.begin(f"step-{number}", faulty, FAULT_KILL_AT=number)
                self.live(daemon)
                self.assertEqual(self.status_of(daemon), -signal.SIGKILL, daemon.output)
                left.append(self.check_what_is_left())
        self.assertEqual(set(left), {self.old, new})
        # Once the new one is there it stays.
        self.assertEqual(left, sorted(left))

    def test_at_random_instants(self):
        chance = random.Random(4711)
        daemon = self.begin("whole")
        begun = time.monotonic()
        self.live(daemon)
        self.assertEqual(self.status_of(daemon), 0, daemon.output)
        whole = time.monotonic() - begun
        new = self.check_what_is_left()
        for number in range(TRIES):
            daemon = self.begin(f"try-{number}")
            kill_after = chance.uniform(0, whole)
            with self.subTest(number=number, kill_after=kill_after):
                self.kill_in(daemon, kill_after)
                self.live(daemon)
                self.status_of(daemon)
                self.assertIn(self.check_what_is_left(), (self.old, new))

    def kill_in(self, daemon, seconds):
        """Kills it and its child from a process of its own, so that what we do goes on."""
        killer = os.fork()
        if killer:
            self.addCleanup(os.waitpid, killer, 0)
            return
        try:
            time.sleep(seconds)
            children = [pid for pid, _ in harness.children(daemon.pid)]
            for pid in (daemon.pid, *children):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        finally:
            os._exit(0)


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "FAULTY_HIBERNATE", "FAKE_LLAMA_SERVER")
