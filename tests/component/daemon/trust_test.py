#!/usr/bin/env python3
"""Nothing that is restored may be wrong, and nobody but us may read what is kept."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import harness
from daemon import DaemonCase, LONG, OTHER


class TrustCase(DaemonCase):
    def damage(self, state_file):
        """Changes one bit of the K/V data, which llama-server would never notice."""
        data = bytearray(state_file.read_bytes())
        data[-5] ^= 4
        state_file.write_bytes(data)

    def reasons(self):
        """The reasons of those in quarantine."""
        return [m["quarantine"] for m in self.manifests() if m["quarantine"]]

    def file_of(self, slot):
        (manifest,) = [m for m in self.manifests() if m["slot"] == slot]
        (file,) = self.root.glob(f"*/{manifest['id']}.kv")
        return file

    def cached(self, daemon, text=LONG):
        return self.complete(daemon, text)["timings"]["cache_n"]

    def requests(self, target):
        return [e for e in self.events("request") if e["target"].startswith(target)]

    def warnings(self, daemon):
        return [line for line in daemon.lines if re.search(r"warning|error", line, re.I)]


class Checksum(TrustCase):
    def test_a_changed_file_is_never_offered_to_the_child(self):
        self.seed(LONG)
        (file,) = self.root.glob("*/*.kv")
        self.damage(file)
        daemon = self.ready("-np", 2)
        self.assertEqual(self.actions("restore"), [])
        self.assertEqual(self.cached(daemon), 0)
        (reason,) = self.reasons()
        self.assertIn("checksum differs", reason)
        self.says(daemon, "is put into quarantine")
        self.assertEqual(daemon.output.count("is put into quarantine"), 1, daemon.output)

        # It stays on disk, is mentioned once at the next start, and never comes back.
        daemon.end()
        self.log.unlink()
        daemon = self.ready("-np", 2)
        self.assertEqual(self.actions("restore"), [])
        self.assertTrue(file.exists())
        self.assertEqual(len([x for x in daemon.lines if "quarantine" in x]), 1, daemon.output)
        self.says(daemon, "checksum differs")

    def test_a_file_of_another_size_is_in_quarantine(self):
        self.seed(LONG)
        (file,) = self.root.glob("*/*.kv")
        file.write_bytes(file.read_bytes()[:-1])
        daemon = self.ready("-np", 2)
        self.assertEqual(self.actions("restore"), [])
        (reason,) = self.reasons()
        self.assertIn("bytes", reason)
        self.says(daemon, "is put into quarantine")
        self.assertEqual(daemon.output.count("is put into quarantine"), 1, daemon.output)

    def test_the_others_are_restored_all_the_same(self):
        self.seed(LONG, OTHER)
        self.damage(self.file_of(0))
        daemon = self.ready("-np", 2)
        self.assertEqual(len(self.actions("restore")), 1)
        self.assertGreater(self.cached(daemon, OTHER), 100)
        self.assertEqual(len(self.reasons()), 1)

    def test_the_next_best_takes_the_slot(self):
        newest = "The newest of them. " + LONG
        for text in (OTHER, LONG, newest):
            daemon = self.ready("-np", 1, "--cache-ram", 0)
            self.complete(daemon, text)
            self.stop(daemon)
        by_age = sorted(self.manifests(), key=lambda m: m["created_ms"])
        self.damage(next(self.root.glob(f"*/{by_age[-1]['id']}.kv")))
        self.log.unlink()
        daemon = self.ready("-np", 1, "--cache-ram", 0)
        self.assertEqual(len(self.actions("restore")), 1)
        self.assertGreater(self.cached(daemon, LONG), 100)

    def test_they_are_checked_while_the_child_loads(self):
        self.seed(LONG, OTHER)
        self.damage(self.file_of(1))
        daemon = self.launch("-np", 2, FAKE_LOAD_MS=60000,
                             ours=["--hibernate-log-level", "debug"])
        self.says(daemon, "is put into quarantine")
        self.says(daemon, "checked 1 snapshot while llama-server loads")
        self.assertEqual(self.requests("/props"), [])

    @harness.skip_in_portable("nobody tells whether the machine was restarted in between")
    def test_a_snapshot_that_nobody_synced_is_restored_in_the_same_boot(self):
        self.seed(LONG)
        (path,) = self.root.glob("*/*.json")
        manifest = json.loads(path.read_text())
        path.write_text(json.dumps({**manifest, "checksum": "", "synced": False}))
        daemon = self.ready("-np", 2)
        self.assertGreater(self.cached(daemon), 100)
        harness.wait_until(lambda: self.manifests()[0]["checksum"] == manifest["checksum"], 5,
                           "it is hashed and synced when requests are served")

    def test_what_the_budget_cuts_off_is_nobodys_fault(self):
        self.seed(LONG, OTHER)
        daemon = self.ready("-np", 2, ours=["--hibernate-restore-budget", "500ms"],
                            FAKE_RESTORE_MS=3000)
        self.assertEqual(len(self.actions("restore")), 1)
        self.assertEqual(self.reasons(), [])
        daemon.end()
        daemon = self.ready("-np", 2)
        self.assertGreater(self.cached(daemon), 100)


class Refusal(TrustCase):
    def test_a_refused_snapshot_is_not_tried_again_and_the_child_is_checked(self):
        self.seed(LONG, OTHER)
        daemon = self.ready("-np", 2, FAKE_FAIL_RESTORE=1)
        self.assertEqual(len(self.actions("restore")), 2)
        self.assertEqual(len(self.requests("/completion")), 1)
        self.assertEqual(len(self.events("start")), 1)
        (reason,) = self.reasons()
        self.assertIn("invalid slot save file", reason)
        cached = [self.cached(daemon, text) > 100 for text in (LONG, OTHER)]
        self.assertEqual(sorted(cached), [False, True])
        daemon.end()
        self.log.unlink()
        daemon = self.ready("-np", 2)
        self.assertEqual(len(self.actions("restore")), 1)

    def test_a_snapshot_of_which_only_a_part_came_back_is_not_used(self):
        self.seed(LONG)
        daemon = self.ready("-np", 2, FAKE_RESTORE_LOSES=7)
        (reason,) = self.reasons()
        self.assertRegex(reason, r"llama-server restored \d+ tokens of its \d+")
        self.assertEqual(self.cached(daemon), 0)

    def test_the_check_leaves_nothing_to_save(self):
        self.seed(LONG)
        before = self.snapshot_tokens()
        daemon = self.ready("-np", 2, FAKE_FAIL_RESTORE=1)
        self.stop(daemon)
        self.assertEqual(self.actions("save"), [])
        self.assertEqual(self.snapshot_tokens(), before)

    def harmed(self, how):
        self.seed(LONG, OTHER)
        daemon = self.launch("-np", 2, FAKE_FAIL_RESTORE=1, FAKE_HARM=how)
        harness.wait_ready(daemon.port, 60, process=daemon)
        # Whoever waited for the gate meets a child that works.
        self.assertEqual(self.cached(daemon), 0)
        self.assertEqual(len(self.events("start")), 2)
        self.assertEqual(len(self.actions("restore")), 1, "nothing is restored in the second life")
        self.assertEqual(len(harness.children(daemon.pid)), 1)
        self.assertEqual(len(self.reasons()), 1)
        self.stop(daemon)
        self.assertEqual(len(self.actions("save")), 1, "what is said in it is saved as ever")
        self.assertEqual(len(self.snapshot_tokens()), 2, "and nothing is lost")
        daemon = self.ready("-np", 2)
        self.assertEqual(len(self.actions("restore")), 2, "the next daemon restores again")
        self.assertGreater(self.cached(daemon), 100)

    def test_a_child_that_answers_with_errors_is_started_again_cold(self):
        self.harmed("error")

    def test_a_child_that_does_not_answer_is_started_again_cold(self):
        self.harmed("silent")

    def test_a_stop_while_the_harmed_child_is_examined(self):
        self.seed(LONG)
        daemon = self.launch("-np", 2, FAKE_FAIL_RESTORE=1, FAKE_HARM="silent")
        harness.wait_until(lambda: self.requests("/completion"), what="it is examined")
        self.stop(daemon, within=2)
        self.assertEqual(len(self.events("start")), 1)


class Crash(TrustCase):
    def test_a_snapshot_that_killed_the_child_is_not_tried_again(self):
        for name, script, status in (("signal", {}, 128 + signal.SIGABRT),
                                     ("exit", {"FAKE_EXIT_CODE": 9}, 9)):
            with self.subTest(name):
                self.root = self.folder / name
                self.seed(LONG)
                daemon = self.launch("-np", 2, FAKE_CRASH_ON="restore", **script)
                self.ends(daemon, 3, status)
                self.assertEqual(self.reasons(), ["llama-server died while it was restored"])
                self.log.unlink()
                daemon = self.ready("-np", 2)
                self.assertEqual(self.actions("restore"), [])
                self.assertEqual(self.cached(daemon), 0)
                daemon.end()

    def crash(self, daemon):
        """The child dies of its first request."""
        with contextlib.suppress(Exception):
            harness.post(daemon.port, "/v1/chat/completions", {"messages": [], "max_tokens": 1})
        self.ends(daemon, 3, 128 + signal.SIGABRT)

    def test_a_snapshot_whose_first_use_killed_the_child_is_not_tried_again(self):
        self.seed(LONG)
        self.crash(self.ready("-np", 2, FAKE_CRASH_ON="request"))
        self.assertEqual(
            self.reasons(), ["llama-server crashed after it was restored, at its first request"])
        self.log.unlink()
        daemon = self.ready("-np", 2)
        self.assertEqual(self.actions("restore"), [])
        self.assertEqual(self.cached(daemon), 0)

    def test_of_several_nobody_knows_which_until_it_happens_again(self):
        self.seed(LONG, OTHER)
        self.crash(self.ready("-np", 2, FAKE_CRASH_ON="request"))
        self.assertEqual(self.reasons(), [])
        self.assertEqual([m["crashes"] for m in self.manifests()], [1, 1])
        daemon = self.ready("-np", 2, FAKE_CRASH_ON="request")
        self.assertEqual(len(self.actions("restore")), 4)
        self.crash(daemon)
        self.assertEqual(
            set(self.reasons()), {"llama-server crashed after it was restored, 2 times in a row"})
        self.log.unlink()
        self.ready("-np", 2)
        self.assertEqual(self.actions("restore"), [])

    def test_a_good_stop_in_between_clears_them(self):
        self.seed(LONG, OTHER)
        self.crash(self.ready("-np", 2, FAKE_CRASH_ON="request"))
        daemon = self.ready("-np", 2)
        self.stop(daemon)
        self.assertEqual([m["crashes"] for m in self.manifests()], [0, 0])
        self.crash(self.ready("-np", 2, FAKE_CRASH_ON="request"))
        self.assertEqual(self.reasons(), [])

    def test_a_child_that_somebody_killed_blames_nothing(self):
        self.seed(LONG)
        for number in (signal.SIGKILL, signal.SIGINT):
            daemon = self.ready("-np", 2)
            os.kill(self.child(daemon), number)
            daemon.wait(10)
        self.assertEqual(self.reasons(), [])
        self.assertEqual([m["crashes"] for m in self.manifests()], [0])

    def test_with_restart_too(self):
        self.seed(LONG)
        aside = self.folder / "aside"
        aside.mkdir()
        (folder,) = self.root.glob("*/")
        for file in folder.glob("????????????????.*"):
            file.rename(aside / file.name)
        daemon = self.ready("-np", 2, FAKE_CRASH_ON="restore",
                            ours=["--hibernate-on-exit", "restart"])
        for file in aside.iterdir():
            shutil.move(file, folder / file.name)
        os.kill(self.child(daemon), signal.SIGKILL)
        harness.wait_until(lambda: len(self.events("start")) == 3, 20, "a third child")
        harness.wait_ready(daemon.port, process=daemon)
        self.assertEqual(len(self.actions("restore")), 1)
        self.assertEqual(self.reasons(), ["llama-server died while it was restored"])
        self.assertEqual(self.cached(daemon), 0)

    def test_a_stop_during_a_restore_blames_nothing(self):
        self.seed(LONG)
        daemon = self.launch("-np", 2, FAKE_RESTORE_MS=60000)
        self.wait_for_action("restore")
        self.stop(daemon, within=3)
        self.assertEqual(self.reasons(), [])

    def test_a_child_that_was_asked_to_end_during_a_restore_blames_nothing(self):
        self.seed(LONG)
        daemon = self.launch("-np", 2, FAKE_RESTORE_MS=2000)
        self.wait_for_action("restore")
        os.kill(self.child(daemon), signal.SIGINT)
        daemon.wait(10)
        self.assertEqual(self.reasons(), [])


class Privacy(TrustCase):
    def test_all_is_private_from_its_creation_on(self):
        before = os.umask(0)
        try:
            daemon = self.launch("-np", 2, FAKE_SAVE_MS=2000)
        finally:
            os.umask(before)
        harness.wait_ready(daemon.port, process=daemon)
        self.complete(daemon)
        daemon.send(signal.SIGTERM)
        self.wait_for_action("save")
        # The child is writing it now.
        (staged,) = harness.wait_until(
            lambda: [f for f in self.root.glob("*/staging-*") if f.stat().st_size], what="a file")
        self.assertEqual(staged.stat().st_mode & 0o777, 0o600)
        daemon.wait(10)
        for path in [self.root, *self.root.rglob("*")]:
            wanted = 0o700 if path.is_dir() else 0o600
            self.assertEqual(path.stat().st_mode & 0o777, wanted, path)
        self.assertEqual(len(self.snapshot_tokens()), 1)

    def test_no_link_is_followed_out_of_the_store(self):
        self.seed(LONG)
        for file in list(self.root.glob("*/????????????????.*")):
            with self.subTest(file.suffix):
                elsewhere = self.folder / ("elsewhere" + file.suffix)
                file.rename(elsewhere)
                before = elsewhere.read_bytes()
                file.symlink_to(elsewhere)
                daemon = self.ready("-np", 2)
                self.assertEqual(self.actions("restore"), [])
                self.stop(daemon)
                self.assertEqual(elsewhere.read_bytes(), before)
                file.unlink()
                elsewhere.rename(file)

    def test_no_word_of_a_prompt_is_in_the_log_or_in_a_manifest(self):
        secret = "Xylophones quench jabberwocky. " * 20
        options = {"ours": ["--hibernate-log-level", "debug"]}
        lives = []
        for script in ({}, {}, {"FAKE_FAIL_RESTORE": 1}):
            daemon = self.ready("-np", 2, **options, **script)
            self.complete(daemon, secret)
            self.complete(daemon, secret, stream=False, id_slot=1)
            self.stop(daemon)
            lives.append(daemon)
        texts = [daemon.output for daemon in lives]
        texts += [path.read_text() for path in self.root.glob("*/*.json")]
        for text in texts:
            for word in ("xylophones", "quench", "jabberwocky"):
                self.assertNotIn(word, text.lower())
            for token in (ord("X"), ord("y")):
                self.assertNotRegex(text, rf"\b{token}, ?{ord('y')}")
        (*files, ) = self.root.glob("*/*.kv")
        self.assertTrue(files)
        for path in self.root.rglob("*"):
            self.assertNotIn("xylophone", path.name.lower())


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "FAKE_LLAMA_SERVER")
