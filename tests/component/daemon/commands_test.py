#!/usr/bin/env python3
"""llama-hibernate store: what is there, whether it is sound, and what becomes of it."""

import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import harness
from daemon import DaemonCase, LONG, OTHER


class StoreCase(DaemonCase):
    def listed(self):
        return json.loads(self.store("ls", "--json"))["snapshots"]

    def ids(self):
        return [one["id"] for one in self.listed()]

    def path(self, snapshot, extension=".kv"):
        return self.root / snapshot["directory"] / (snapshot["id"] + extension)

    def damage(self, snapshot):
        data = bytearray(self.path(snapshot).read_bytes())
        data[-5] ^= 4
        self.path(snapshot).write_bytes(data)


class Listing(StoreCase):
    def test_an_empty_store(self):
        self.root.mkdir()
        self.assertEqual(self.store("ls"), f"0 snapshots in {self.root}, 0 B of at most 16.0 GiB\n")
        self.assertEqual(self.listed(), [])

    def test_one_that_was_named_and_is_not_there(self):
        self.assertEqual(self.store("ls", status=1), "")
        self.assertEqual(self.complaints, f"llama-hibernate: there is no directory {self.root}\n")
        self.assertFalse(self.root.exists(), "to look makes nothing")

    def test_the_usual_one_need_not_be_there_yet(self):
        done = subprocess.run([harness.program("HIBERNATE_BIN"), "store", "ls"],
                              env=self.environment(), capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"0 snapshots in {self.folder}/.cache/llama-hibernate", done.stdout)

    def test_the_table_and_json(self):
        self.seed(LONG, OTHER)
        table = self.store("ls")
        self.assertRegex(table.splitlines()[0], r"^ID +MODEL +TOKENS +SIZE +AGE +USES +REUSED +STATE$")
        self.assertEqual(len(table.splitlines()), 4)
        self.assertIn("model.gguf", table)
        self.assertEqual({one["state"] for one in self.listed()}, {"ready"})
        self.assertEqual(sorted(one["tokens"] for one in self.listed()), self.snapshot_tokens())

    def test_it_is_the_store_that_the_daemon_uses(self):
        self.seed(LONG)
        done = subprocess.run([harness.program("HIBERNATE_BIN"), "store", "ls", "--json"],
                              env=self.environment(LLAMA_HIBERNATE_DIR=self.root,
                                                   LLAMA_HIBERNATE_MAX_DISK="1MiB"),
                              capture_output=True, text=True, check=True, timeout=60)
        told = json.loads(done.stdout)
        self.assertEqual(len(told["snapshots"]), 1)
        self.assertEqual(told["max_disk"], 1 << 20)
        self.assertEqual(told["root"], str(self.root))

    def test_lines_that_are_not_understood(self):
        for line in ([], ["nothing"], ["ls", "--jsom"], ["rm"], ["show"], ["gc", "--max-disk", "x"]):
            with self.subTest(line):
                self.assertEqual(self.store(*line, status=2), "")
                self.assertTrue(self.complaints)
        self.assertIn("gc", self.store("--help"))
        self.assertIn("--dry-run", self.store("gc", "--help"))

    def test_a_store_that_cannot_be_read_is_no_empty_one(self):
        self.root.write_text("a file")
        self.store("ls", status=1)
        self.assertIn("Not a directory", self.complaints)


class Showing(StoreCase):
    def test_all_about_one(self):
        self.seed(LONG)
        (one,) = self.listed()
        text = self.store("show", one["id"][:6])
        for part in (one["id"], "model.gguf", f"tokens      {one['tokens']}", "from slot 0: stop",
                     "XXH3-128 " + one["checksum"], "state file version 4", "build b11669-fake"):
            self.assertIn(part, text)
        # The fake's model has no tokenizer.
        self.assertRegex(text, r"no words .*it has no list of tokens")
        self.assertRegex(text, r"tokens +\d+ \d+ \d+")

    def test_one_that_is_not_there_or_is_broken(self):
        self.seed(LONG)
        self.store("show", "zzz", status=1)
        self.assertIn(f"there is no snapshot zzz in {self.root}\n", self.complaints)
        (one,) = self.listed()
        self.path(one, ".json").write_text("{")
        self.assertIn("broken: its manifest is unusable", self.store("show", one["id"]))
        self.path(one).write_bytes(b"x" * 5)
        self.assertIn("content", self.store("show", one["id"]))


class Verifying(StoreCase):
    def test_sound_and_damaged(self):
        self.seed(LONG, OTHER)
        self.assertIn("2 of 2 sound", self.store("verify"))
        bad, good = self.listed()
        self.damage(bad)
        text = self.store("verify", status=1)
        self.assertRegex(text, bad["id"] + r"  FAILED: .*checksum differs")
        self.assertIn(good["id"] + "  sound", text)
        self.store("verify", good["id"])
        self.store("verify", bad["id"], status=1)
        # It only looks.
        self.assertEqual([one["state"] for one in self.listed()], ["ready", "ready"])

    def test_a_short_file_and_a_broken_manifest(self):
        self.seed(LONG, OTHER)
        short, broken = self.listed()
        self.path(short).write_bytes(self.path(short).read_bytes()[:-1])
        self.path(broken, ".json").write_text("[]")
        text = self.store("verify", status=1)
        self.assertIn("0 of 2 sound", text)
        self.assertEqual({one["state"] for one in self.listed()}, {"broken"})

    def test_a_terminal_shows_how_far_it_is(self):
        self.seed(LONG)
        leader, follower = pty.openpty()
        told = []

        def read():
            try:
                while part := os.read(leader, 4096):
                    told.append(part)
            except OSError:
                pass

        reader = threading.Thread(target=read)
        reader.start()
        done = subprocess.run([harness.program("HIBERNATE_BIN"), "store", "verify",
                               "--hibernate-dir", self.root],
                              env=self.environment(), stdout=subprocess.PIPE, stderr=follower,
                              timeout=60)
        os.close(follower)
        reader.join(10)
        os.close(leader)
        self.assertEqual(done.returncode, 0)
        shown = b"".join(told).decode()
        self.assertRegex(shown, r"\r\[#* *\] +\d+%  .* of ")
        self.assertTrue(shown.endswith("\r"), "it is wiped at the end")
        self.assertNotIn("%", done.stdout.decode())


class Changing(StoreCase):
    def test_removed_ones_do_not_come_back(self):
        self.seed(LONG, OTHER)
        gone, kept = self.listed()
        self.assertIn("removed " + gone["id"], self.store("rm", gone["id"]))
        self.assertEqual(self.ids(), [kept["id"]])
        self.assertFalse(self.path(gone).exists())
        daemon = self.ready("-np", 2)
        self.assertEqual(len(self.actions("restore")), 1)
        daemon.end()
        self.store("rm", "--all")
        self.assertEqual(self.ids(), [])

    def test_by_model_and_never_what_is_pinned(self):
        self.seed(LONG, OTHER)
        first, second = self.listed()
        self.store("pin", first["id"])
        self.store("rm", "--model", "another", status=1)
        self.assertIn("1 pinned", self.store("rm", "--model", "model"))
        self.assertEqual(self.ids(), [first["id"]])
        self.store("unpin", first["id"])
        self.store("rm", "--all")
        self.assertEqual(self.ids(), [])

    def test_a_pin_outlives_the_next_turns(self):
        self.seed(LONG)
        self.store("pin", self.ids()[0])
        daemon = self.ready("-np", 2)
        self.complete(daemon, LONG + "And on it goes. " * 8, id_slot=0)
        self.stop(daemon)
        pinned = [one for one in self.listed() if one["pinned"]]
        self.assertTrue(pinned, self.store("ls"))
        # Not even a bound of nothing takes it.
        self.store("gc", "--max-disk", 0, status=1)
        self.assertIn(pinned[0]["id"], self.ids())

    def test_released_from_quarantine_it_is_restored_again(self):
        self.seed(LONG)
        self.ready("-np", 2, FAKE_FAIL_RESTORE=1).end()
        (one,) = self.listed()
        self.assertEqual(one["state"], "quarantined")
        self.assertIn("invalid slot save file", one["problem"])
        self.store("release", one["id"])
        self.log.unlink()
        daemon = self.ready("-np", 2)
        self.assertEqual(len(self.actions("restore")), 1)
        self.assertGreater(self.complete(daemon)["timings"]["cache_n"], 100)


@unittest.skipUnless(os.geteuid() == 0, "only root can work on the store of another user")
class AsRoot(StoreCase):
    """A store of a service's user, on which root works."""

    NOBODY = 65534

    def setUp(self):
        super().setUp()
        self.seed(LONG, OTHER)
        self.folder.chmod(0o755)
        for path in (self.root, *self.root.rglob("*")):
            os.chown(path, self.NOBODY, self.NOBODY)

    def environment(self, **more):
        # A sanitized program that gave its rights up cannot look for leaks: it may not trace itself.
        return super().environment(**more) | {"ASAN_OPTIONS": "detect_leaks=0"}

    def assert_all_is_theirs(self):
        for path in self.root.rglob("*"):
            about = path.stat()
            self.assertEqual((about.st_uid, about.st_gid), (self.NOBODY, self.NOBODY), path)
            self.assertEqual(about.st_mode & 0o700, 0o700 if path.is_dir() else 0o600, path)

    def test_what_is_written_stays_the_owners(self):
        first, second = self.ids()
        self.store("pin", first)
        self.assertEqual([m["pinned"] for m in self.manifests() if m["id"] == first], [True])
        self.assert_all_is_theirs()
        self.store("unpin", first)
        self.store("release", first)
        self.store("verify")
        self.store("gc")
        self.store("rm", second)
        self.assertEqual(self.ids(), [first])
        self.assert_all_is_theirs()

    def test_status_looks_as_the_owner(self):
        (folder,) = self.root.glob("*/")
        done = subprocess.run([harness.program("HIBERNATE_BIN"), "status", "--model-dir", folder],
                              env=self.environment(), capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(self.ids()[0], done.stdout)
        self.assert_all_is_theirs()

    def test_where_root_cannot_act_as_the_owner_nothing_is_touched(self):
        setpriv = ["setpriv", "--bounding-set=-setuid,-setgid"]
        if not shutil.which("setpriv") or subprocess.run([*setpriv, "true"], check=False).returncode:
            self.skipTest("no setpriv")
        before = self.manifests()
        done = subprocess.run([*setpriv, harness.program("HIBERNATE_BIN"), "store", "pin",
                               before[0]["id"], "--hibernate-dir", self.root],
                              env=self.environment(), capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn(f"{self.root} belongs to another user, as whom root cannot act here",
                      done.stderr)
        self.assertEqual(self.manifests(), before)
        self.assert_all_is_theirs()


class Collecting(StoreCase):
    def test_what_is_of_no_use_goes(self):
        self.seed(LONG, OTHER)
        good, broken = self.listed()
        self.path(broken, ".json").write_text("{}")
        folder = self.root / good["directory"]
        (folder / "staging-1-1.kv").write_bytes(b"half")
        (folder / "notes.txt").write_text("mine")
        told = self.store("gc", "--dry-run")
        self.assertEqual(told.count("would remove "), 2, told)
        self.assertEqual(len(self.ids()), 2)
        done = self.store("gc")
        self.assertEqual(done.count("removed "), 2, done)
        self.assertEqual(self.ids(), [good["id"]])
        self.assertTrue((folder / "notes.txt").exists())
        self.assertFalse((folder / "staging-1-1.kv").exists())

    def test_a_bound(self):
        self.seed(LONG, OTHER)
        sizes = [one["bytes"] for one in self.listed()]
        self.store("gc", "--max-disk", sum(sizes) - 1)
        self.assertEqual(len(self.ids()), 1)
        self.store("gc", "--max-disk", 0)
        self.assertEqual(self.ids(), [])

    def test_a_directory_that_a_daemon_uses_is_left_alone(self):
        self.seed(LONG)
        self.ready("-np", 2)
        text = self.store("gc", "--max-disk", 0, status=1)
        (folder,) = self.root.glob("*/")
        self.assertIn(f"left alone: {folder}, because a daemon uses it", text)
        self.assertEqual(len(self.ids()), 1)


class BesideADaemon(StoreCase):
    def test_a_daemon_bears_whatever_is_done(self):
        self.seed(LONG, OTHER)
        daemon = self.ready("-np", 2)
        first, second = self.ids()
        self.store("ls")
        self.store("show", first)
        self.store("verify")
        self.store("pin", first)
        self.store("rm", second)
        self.complete(daemon, LONG)
        self.stop(daemon)
        self.assertNotIn(second, self.ids())
        self.assertNotIn("error", daemon.output)
        self.store("verify")

    def test_changes_at_the_same_time_do_not_undo_each_other(self):
        """The daemon syncs and notes restores while commands pin and unpin."""
        self.seed(LONG, OTHER)
        # A portable build does not restore what another process left unsynced.
        for path in () if harness.PORTABLE else self.root.glob("*/*.json"):
            manifest = json.loads(path.read_text())
            path.write_text(json.dumps({**manifest, "checksum": "", "synced": False}))
        ids = self.ids()
        stop = threading.Event()

        def pin_and_unpin():
            while not stop.is_set():
                for command in ("unpin", "pin"):
                    self.store(command, *ids)

        other = threading.Thread(target=pin_and_unpin)
        other.start()
        try:
            self.ready("-np", 2)
            harness.wait_until(
                lambda: all(m["synced"] and m["uses"] == 1 for m in self.manifests()), 10,
                "the daemon's changes stay")
        finally:
            stop.set()
            other.join(30)
        self.assertEqual([(m["pinned"], m["synced"], m["uses"]) for m in self.manifests()],
                         [(True, True, 1)] * 2)

    def test_a_change_does_not_wait_for_ever(self):
        self.seed(LONG)
        (folder,) = self.root.glob("*/")
        held = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
            self.store("pin", self.ids()[0], status=1)
        finally:
            os.close(held)
        self.assertTrue(self.complaints)
        self.store("pin", self.ids()[0])


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "FAKE_LLAMA_SERVER")
