#!/usr/bin/env python3
"""The store stays within its bound, and a disk that is full, closed or gone costs saves only."""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import harness
from daemon import DaemonCase, LONG, OTHER

KIB = 1024


class BoundCase(DaemonCase):
    def used(self):
        return sum(path.lstat().st_size for path in self.root.rglob("*") if path.is_file())

    def ids(self):
        return {path.stem for path in self.root.glob("*/*.kv")}

    def lines(self, daemon, text):
        return [line for line in daemon.output.splitlines() if text in line]

    def each_says(self, daemon, text, pattern):
        """At a handover, and again at the stop."""
        lines = self.lines(daemon, text)
        self.assertTrue(lines, daemon.output)
        for line in lines:
            self.assertRegex(line, pattern)

    def removals(self, daemon):
        """The ids of removed snapshots, in order."""
        return re.findall(r"removed snapshot ([0-9a-f]{16}) .* to make room", daemon.output)

    def noted(self, daemon):
        """Waits until it has noted its restores, after which it leaves the disk alone."""
        harness.wait_until(
            lambda: all(manifest["uses"] > 0 for manifest in self.manifests()), what="uses")

    def life(self, text, *arguments, slot=0, ours=(), **script):
        """One conversation, saved by a daemon of its own; returns the daemon and the new ids."""
        before = self.ids()
        daemon = self.ready("-np", 2, *arguments, ours=ours, **script)
        self.complete(daemon, text, id_slot=slot)
        self.stop(daemon)
        return daemon, self.ids() - before

    def one_life(self, text, *arguments, **more):
        (new,) = self.life(text, *arguments, **more)[1]
        return new

    def assert_removed(self, daemon, ids):
        """Waits until a daemon that was just started has removed these, and nothing else."""
        harness.wait_until(lambda: len(self.removals(daemon)) >= len(ids), what="removals")
        self.assertEqual(self.removals(daemon), ids)
        self.assertLessEqual(self.used(), self.limit)


class Bound(BoundCase):
    def three(self):
        """Three conversations of one size, the oldest first, and what they take up."""
        found = [self.one_life(f"{name}. " + LONG) for name in ("One", "Two", "Tri")]
        return found, self.used()

    def test_a_save_makes_room_for_itself_the_least_recently_used_first(self):
        (first, second, third), used = self.three()
        limit = used + 4 * KIB  # for manifests that are being changed just then
        daemon, new = self.life("Fou. " + LONG, ours=["--hibernate-max-disk", limit])
        self.assertEqual(len(new), 1, daemon.output)
        # The last two were restored just before, into the two slots.
        self.assertEqual(self.removals(daemon), [first])
        self.assertEqual(self.ids(), {second, third} | new)
        self.assertLessEqual(self.used(), limit)
        self.assertEqual(len(self.lines(daemon, "the least recently used")), 1)

    def test_what_was_there_before_counts_from_the_start_on(self):
        (first, second, third), used = self.three()
        self.limit = used - KIB
        daemon = self.ready("-np", 2, ours=["--hibernate-max-disk", self.limit])
        self.assert_removed(daemon, [first])
        self.assertGreater(self.complete(daemon, "Tri. " + LONG)["timings"]["cache_n"], 100)
        self.stop(daemon)

    def test_a_save_that_cannot_fit_is_skipped_and_said(self):
        (first, second, third), used = self.three()
        daemon, new = self.life(
            LONG * 20, "-c", 65536, ours=["--hibernate-max-disk", used + KIB])
        self.assertEqual(new, set())
        self.assertEqual(self.ids(), {first, second, third}, "nothing is evicted for nothing")
        lines = self.lines(daemon, "was not saved: ") # when it had grown, and at the stop
        self.assertTrue(lines)
        for line in lines:
            self.assertRegex(line, r"no room for the [\d.]+ [KM]iB that it may take: .* holds "
                                   r"[\d.]+ KiB of at most [\d.]+ KiB")
        self.assertEqual(len(self.actions("save")), 3, "it was not tried")

    def test_the_first_save_of_its_kind_is_measured_when_it_is_there(self):
        daemon, new = self.life(LONG, ours=["--hibernate-max-disk", 10 * KIB])
        self.assertEqual(new, set())
        self.assertEqual(self.used(), 0, daemon.output)
        self.each_says(daemon, "was not saved: ", "larger than expected")

    def test_a_conversation_that_goes_on_replaces_itself_within_the_bound(self):
        limit = 1 << 40
        for turn in range(5):
            daemon = self.ready("-np", 2, ours=["--hibernate-max-disk", limit])
            answer = harness.post(daemon.port, "/completion",
                                  {"prompt": LONG + " more" * turn, "n_predict": 1})
            self.assertEqual(answer.status, 200)
            self.stop(daemon)
            self.assertEqual(len(self.ids()), 1, "it replaces itself")
            self.assertLessEqual(self.used(), limit)
            self.assertNotIn("was not saved", daemon.output)
            limit = self.used() * 5 // 2

    def test_free_space_that_has_to_stay(self):
        (first, second, third), _ = self.three()
        daemon, new = self.life("Fou. " + LONG, ours=["--hibernate-min-free", "4000TiB"])
        self.assertEqual(new, set())
        self.assertEqual(self.ids(), {first, second, third})
        self.each_says(daemon, "was not saved: ", r"[\d.]+ [GT]iB are free on its disk, of which "
                                                  r"[\d.]+ \w+ have to stay")

    def test_foreign_files_count_and_stay(self):
        self.one_life(LONG)
        (folder,) = [path for path in self.root.iterdir() if path.is_dir()]
        mine = [self.root / "README", folder / "my.kv", self.root / "backup" / "0123456789abcdef.kv"]
        mine[2].parent.mkdir()
        for path in mine:
            path.write_bytes(b"x" * 100 * KIB)
        link = self.root / "linked-01234567"
        link.symlink_to(self.folder)
        before = self.ids()
        daemon = self.ready("-np", 2, ours=["--hibernate-max-disk", 200 * KIB])
        self.says(daemon, "stays over its bound")  # a stop may come before it looked
        self.complete(daemon, OTHER)
        self.stop(daemon)
        self.assertEqual(self.ids(), before)
        for path in mine:
            self.assertEqual(path.stat().st_size, 100 * KIB)
        self.assertTrue(link.is_symlink())
        self.assertEqual(len(self.lines(daemon, "4 files and folders (300 KiB)")), 1)
        self.assertEqual(len(self.lines(daemon, "stays over its bound")), 1)
        self.assertEqual(len(self.lines(daemon, "300 KiB of it not ours")), 2)

    def test_other_builds_and_models_that_are_gone_go_before_good_ones(self):
        mine = self.model
        self.model = harness.write_model(self.folder / "gone.gguf", b"gone")
        gone = self.one_life(LONG)
        pathlib.Path(self.model).unlink()
        self.model = mine
        good = self.one_life(LONG)
        other_build = self.one_life("Old. " + LONG, FAKE_BUILD="b1-old")
        self.limit = self.used() - KIB
        daemon = self.ready("-np", 2, ours=["--hibernate-max-disk", self.limit])
        self.assert_removed(daemon, [gone])
        self.assertEqual(len(self.lines(daemon, "gone.gguf is not there any more")), 1)
        self.stop(daemon)
        self.limit = self.used() - KIB
        daemon = self.ready("-np", 2, ours=["--hibernate-max-disk", self.limit])
        self.assert_removed(daemon, [other_build])
        self.assertEqual(len(self.lines(daemon, "make room: build b1-old, now b11669-fake")), 1)
        self.assertEqual(self.ids(), {good})

    def test_a_live_daemons_snapshots_are_its_own(self):
        theirs = self.one_life(LONG)
        live = self.ready("-np", 2)
        self.model = harness.write_model(self.folder / "second.gguf", b"second")
        second = self.one_life(LONG)
        third = self.one_life(OTHER)
        self.limit = self.used() - KIB
        ours = ["--hibernate-restore", "none", "--hibernate-max-disk", self.limit]
        daemon = self.ready("-np", 2, ours=ours)
        self.assert_removed(daemon, [second])
        self.stop(daemon)
        self.stop(live)
        # Nobody uses it any more.
        self.limit = self.used() - KIB
        ours = ["--hibernate-restore", "none", "--hibernate-max-disk", self.limit]
        daemon = self.ready("-np", 2, ours=ours)
        self.assert_removed(daemon, [theirs])
        self.assertEqual(self.ids(), {third})

    def test_pinned_snapshots_stay(self):
        (first, second, third), used = self.three()
        (manifest,) = self.root.glob(f"*/{first}.json")
        manifest.write_text(manifest.read_text().replace('"pinned": false', '"pinned": true'))
        self.limit = used - KIB
        daemon = self.ready(
            "-np", 2,
            ours=["--hibernate-restore", "none", "--hibernate-max-disk", self.limit])
        self.assert_removed(daemon, [second])


class Trouble(BoundCase):
    """Whatever the disk does, requests are served and the stop is in time."""

    def mount(self, size):
        """A small disk under the store."""
        self.root.mkdir(mode=0o700)
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", self.root],
            capture_output=True, check=False)
        if mounted.returncode != 0:
            raise unittest.SkipTest(f"no tmpfs can be mounted: {mounted.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", self.root], check=False)

    def fill_up(self):
        """Takes all that is left of the disk."""
        filler = self.root / "filler"
        with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)
        return filler

    def as_nobody(self):
        """From now on daemons run as a user whom a file's mode can keep out."""
        if os.geteuid() != 0:
            return
        line = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        binary = harness.program("HIBERNATE_BIN")
        possible = shutil.which("setpriv") and all(
            subprocess.run([*line, "test", "-x", path], check=False).returncode == 0
            for path in (binary, self.fake))
        if not possible:
            raise unittest.SkipTest("the programs cannot be run as another user")
        wrapper = self.folder / "as-nobody"
        wrapper.write_text(f'#!/bin/sh\nexec {" ".join(line)} "{binary}" "$@"\n')
        wrapper.chmod(0o755)
        for path in (self.folder, *self.folder.rglob("*")):
            os.chown(path, 65534, 65534)
        changed = unittest.mock.patch.dict(os.environ, HIBERNATE_BIN=str(wrapper))
        changed.start()
        self.addCleanup(changed.stop)

    def test_a_full_disk(self):
        self.mount(256 * KIB)
        old = self.one_life(LONG, ours=["--hibernate-min-free", "0"])
        kept = self.contents()
        daemon = self.ready("-np", 2, ours=["--hibernate-min-free", "0"])
        self.noted(daemon)
        self.complete(daemon, OTHER, id_slot=1)
        filler = self.fill_up()
        self.complete(daemon, OTHER + "And? ", id_slot=1)
        self.stop(daemon)
        self.assertEqual(self.contents()[old + ".kv"], kept[old + ".kv"])
        self.assertEqual(self.ids(), {old})
        self.assertEqual(list(self.root.glob("*/staging*")), [])
        self.each_says(daemon, "slot 1 was not saved: ", "free on its disk")
        filler.unlink()
        daemon = self.ready("-np", 2, ours=["--hibernate-min-free", "0"])
        self.assertGreater(self.complete(daemon, LONG)["timings"]["cache_n"], 100)

    def test_a_disk_that_fills_during_the_first_save(self):
        self.mount(64 * KIB)
        daemon, new = self.life(LONG * 2, ours=["--hibernate-min-free", "0"])
        self.assertEqual(new, set(), daemon.output)
        self.assertEqual(list(self.root.glob("*/staging*")), [])
        self.each_says(daemon, "slot 0 was not saved: ",
                       "Unable to save slot.* are free on its disk")

    def test_a_disk_that_becomes_read_only(self):
        self.mount("16m")
        old = self.one_life(LONG, ours=["--hibernate-min-free", "0"])
        kept = self.contents()
        daemon = self.ready("-np", 2, ours=["--hibernate-min-free", "0"])
        self.complete(daemon, OTHER, id_slot=1)
        self.noted(daemon)
        # Over the same files, some of which are open.
        subprocess.run(["mount", "--bind", self.root, self.root], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.root], check=False)
        subprocess.run(["mount", "-o", "remount,ro,bind", self.root], check=True)
        self.complete(daemon, "And. " + OTHER, id_slot=1)
        self.stop(daemon)
        self.each_says(daemon, "slot 1 was not saved: ", "Read-only file system")
        self.assertEqual(self.contents()[old + ".kv"], kept[old + ".kv"])
        # And one that was so from the start.
        daemon = self.ready("-np", 2)
        self.assertEqual(self.complete(daemon, OTHER)["timings"]["cache_n"], 0)
        self.stop(daemon)
        self.assertEqual(len(self.lines(daemon, "neither saved nor restored: ")), 1)
        self.assertEqual(len(self.lines(daemon, "Read-only file system")), 1)

    def test_a_directory_that_is_closed_to_us(self):
        self.as_nobody()
        self.one_life(LONG)
        daemon = self.ready("-np", 2)
        self.noted(daemon)
        self.complete(daemon, OTHER, id_slot=1)
        (folder,) = self.root.iterdir()
        folder.chmod(0o500)
        self.stop(daemon)
        self.each_says(daemon, "slot 1 was not saved: ", "Permission denied")
        self.assertEqual(len(self.ids()), 1)
        daemon = self.ready("-np", 2)
        self.complete(daemon, OTHER)
        self.stop(daemon)
        self.assertEqual(len(self.lines(daemon, "neither saved nor restored: ")), 1)
        folder.chmod(0o700)
        daemon = self.ready("-np", 2)
        self.assertGreater(self.complete(daemon, LONG)["timings"]["cache_n"], 100)

    def test_a_directory_that_vanishes(self):
        self.one_life(LONG)
        daemon = self.ready("-np", 2)
        self.noted(daemon)
        self.complete(daemon, OTHER, id_slot=1)
        shutil.rmtree(self.root)
        self.complete(daemon, "And. " + OTHER, id_slot=1)
        self.stop(daemon)
        self.assertEqual(self.lines(daemon, "was not saved"), [])
        daemon = self.ready("-np", 2)
        self.assertGreater(self.complete(daemon, "And. " + OTHER)["timings"]["cache_n"], 100)

    def contents(self):
        return {path.name: path.read_bytes() for path in self.root.glob("*/*")}


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "FAKE_LLAMA_SERVER")
