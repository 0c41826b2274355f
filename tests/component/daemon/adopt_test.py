#!/usr/bin/env python3
"""Slot files of somebody else's become snapshots, if the model that runs turns out to have written
them, and whatever they are nothing is wrong afterwards."""

import contextlib
import http.client
import json
import pathlib
import shutil
import signal
import struct
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import harness
from daemon import DaemonCase, LONG, OTHER, chat


class AdoptCase(DaemonCase):
    def setUp(self):
        super().setUp()
        self.slots = self.folder / "slots"
        self.slots.mkdir()
        self.replies = {}

    def saved_by_another(self, *texts, first=0, arguments=("-np", 2), **script):
        """Lets a llama-server that nobody wraps save these conversations as 0.bin, 1.bin and so on."""
        port = harness.free_port()
        server = self.start([self.fake, "-m", self.model, "--port", port, "--slot-save-path",
                             self.slots, *arguments], self.environment(**script))
        harness.wait_ready(port, process=server)
        for number, text in enumerate(texts, first):
            answer = harness.post(port, "/v1/chat/completions", chat(text, id_slot=0))
            self.replies[text] = answer.json["choices"][0]["message"]["content"]
            saved = harness.post(port, "/slots/0?action=save", {"filename": f"{number}.bin"})
            self.assertEqual(saved.status, 200, saved)
        server.end()
        self.before = self.state_of_files()

    def state_of_files(self):
        return {path.name: (path.lstat().st_mtime_ns, path.lstat().st_mode, path.lstat().st_ino,
                            path.read_bytes() if path.is_file() else None)
                for path in self.slots.iterdir()}

    def adopting(self, *arguments, launch=None, ours=(), **more):
        ours = ["--hibernate-adopt", self.slots, "--hibernate-log-level", "debug", *ours]
        return (launch or self.ready)("-np", 2, *arguments, ours=ours, **more)

    def lines(self, daemon, name):
        """What the log says of a file at info or above."""
        return [line for line in daemon.lines
                if f"/{name} " in line and " debug: " not in line]

    def line(self, daemon, name):
        harness.wait_until(lambda: self.lines(daemon, name), 5, f"a line about {name}")
        (line,) = self.lines(daemon, name)
        return line

    def check_files(self):
        self.assertEqual(self.state_of_files(), self.before, "somebody's files were touched")

    def check_nothing_left(self):
        self.assertEqual(list(self.root.glob("*/staging-*")), [])

    def check_refused(self, daemon, name, reason):
        line = self.line(daemon, name)
        self.assertIn("is not adopted: ", line)
        self.assertRegex(line, reason)
        self.assertEqual(self.manifests(), [])
        self.check_files()
        self.check_nothing_left()

    def reused(self, daemon, text):
        return self.go_on(daemon, text)["timings"]["cache_n"]

    def before_ready(self, path):
        """Requests that the last child got before anything of ours was asked."""
        events = self.events()
        starts = [i for i, e in enumerate(events) if e["event"] == "start"]
        return [e for e in events[starts[-1]:]
                if e["event"] == "request" and e["target"].startswith(path)]


class Adopted(AdoptCase):
    def test_conversations_go_on(self):
        self.saved_by_another(LONG, OTHER)
        daemon = self.adopting()
        for name in ("0.bin", "1.bin"):
            self.assertIn(" adopted ", self.line(daemon, name))
        self.says(daemon, "2 files adopted")
        self.assertEqual({m["reason"] for m in self.manifests()}, {"adopt"})
        self.assertEqual(len(self.manifests()), 2)
        self.assertGreater(self.reused(daemon, LONG), len(LONG))
        self.assertGreater(self.reused(daemon, OTHER), len(OTHER))
        self.check_files()
        self.check_nothing_left()
        self.stop(daemon)

    def test_once(self):
        self.saved_by_another(LONG)
        daemon = self.adopting()
        harness.wait_until(lambda: self.manifests()[0]["synced"], 10, "it is on the medium")
        self.stop(daemon)
        (before,) = self.manifests()
        daemon = self.adopting()
        self.assertIn("was adopted before", self.line(daemon, "0.bin"))
        self.assertEqual(self.before_ready("/completion"), [])
        self.assertEqual([m["id"] for m in self.manifests()], [before["id"]])
        self.assertGreater(self.reused(daemon, LONG), len(LONG))
        self.stop(daemon)

        # Nor when what became of it is gone, and nothing but the note of it is left.
        self.store("rm", "--all")
        daemon = self.adopting()
        self.assertEqual(self.manifests(), [])
        self.stop(daemon)

    def test_what_the_store_has_already_is_not_adopted(self):
        self.saved_by_another(LONG)
        daemon = self.adopting()
        self.reused(daemon, LONG)
        self.stop(daemon)
        for note in self.root.glob("*/adopted"):
            note.unlink()
        daemon = self.adopting()
        self.assertRegex(self.line(daemon, "0.bin"), "in the store already .snapshot [0-9a-f]{16}")
        self.assertEqual(self.before_ready("/completion"), [])
        self.assertEqual(len(self.manifests()), 1)

    def test_a_file_that_was_written_since_is_another_one(self):
        self.saved_by_another(LONG)
        self.stop(self.adopting())
        self.saved_by_another(OTHER)
        daemon = self.adopting()
        self.assertIn(" adopted ", self.line(daemon, "0.bin"))
        self.assertEqual(len(self.manifests()), 2)
        self.assertGreater(self.reused(daemon, OTHER), len(OTHER))

    def test_with_one_slot_and_with_the_default_flags(self):
        for flags in (("-np", 1), ("-np", 1, "--cache-ram", 0), ("-np", -1)):
            with self.subTest(flags):
                shutil.rmtree(self.root, ignore_errors=True)
                self.saved_by_another(LONG, OTHER, arguments=flags)
                daemon = self.adopting(*flags)
                self.assertEqual(len(self.manifests()), 2, daemon.output)
                self.assertGreater(self.reused(daemon, OTHER), len(OTHER))
                self.stop(daemon)

    def test_a_longer_conversation_takes_the_place_of_a_shorter(self):
        self.saved_by_another(LONG)
        self.saved_by_another(LONG + OTHER, first=1)
        daemon = self.adopting()
        # It goes on with nothing: a chat's end differs.
        self.assertEqual(len(self.manifests()), 2)
        self.stop(daemon)

    def test_the_folder_may_come_from_the_configuration(self):
        self.saved_by_another(LONG)
        config = self.folder / "config.json"
        config.write_text(json.dumps({"adopt": str(self.slots)}))
        daemon = self.ready("-np", 2, ours=["--hibernate-config", config])
        self.assertIn(" adopted ", self.line(daemon, "0.bin"))


class Refused(AdoptCase):
    def test_another_model_of_the_same_shape(self):
        self.saved_by_another(LONG, FAKE_WEIGHTS=7)
        daemon = self.adopting()
        self.check_refused(daemon, "0.bin", "another model wrote it")
        # Nothing of it is in a slot or in the RAM cache.
        self.assertEqual(self.reused(daemon, LONG), 0)
        self.stop(daemon)
        self.log.unlink()

        for manifest in self.root.glob("*/*.json"):
            manifest.unlink()
        daemon = self.adopting()
        self.assertIn("as before: another model wrote it", self.line(daemon, "0.bin"))
        self.assertEqual(self.before_ready("/completion"), [])
        self.stop(daemon)

    def test_what_was_refused_is_tried_again_under_other_arguments(self):
        self.saved_by_another(LONG, FAKE_WEIGHTS=7)
        self.stop(self.adopting())
        daemon = self.adopting("--rope-freq-base", "500000", FAKE_WEIGHTS=7)
        self.assertIn(" adopted ", self.line(daemon, "0.bin"))

    def test_one_does_not_spoil_the_others(self):
        self.saved_by_another(LONG, FAKE_WEIGHTS=7)
        self.saved_by_another(OTHER, first=1)
        (self.slots / "2.bin").write_bytes(b"nothing of the kind" * 1000)
        self.before = self.state_of_files()
        daemon = self.adopting()
        self.assertIn("is not adopted", self.line(daemon, "0.bin"))
        self.assertIn(" adopted ", self.line(daemon, "1.bin"))
        self.assertIn("does not begin as a state file does", self.line(daemon, "2.bin"))
        self.assertEqual(len(self.manifests()), 1)
        self.assertEqual(self.reused(daemon, LONG), 0)
        self.assertGreater(self.reused(daemon, OTHER), len(OTHER))
        self.check_files()

    def test_what_is_cut_off_is_never_offered(self):
        """llama-server would abort."""
        self.saved_by_another(LONG)
        file = self.slots / "0.bin"
        whole = file.read_bytes()
        for lost in (1, 4, 64, len(whole) // 2):
            with self.subTest(lost=lost):
                file.write_bytes(whole[:-lost])
                self.before = self.state_of_files()
                daemon = self.adopting()
                self.check_refused(daemon, "0.bin", "it is cut off")
                self.assertEqual(self.actions("restore"), [])
                self.stop(daemon)

    def test_a_shorter_state_than_its_tokens(self):
        self.saved_by_another(LONG)
        file = self.slots / "0.bin"
        data = bytearray(file.read_bytes())
        (words,) = struct.unpack_from("<I", data, 8)
        struct.pack_into("<I", data, 12 + 4 * words, 7)  # streams
        file.write_bytes(data)
        self.before = self.state_of_files()
        daemon = self.adopting()
        self.check_refused(daemon, "0.bin", "llama-server refuses it")
        self.assertEqual(self.reused(daemon, LONG), 0)

    def test_other_cache_types(self):
        self.saved_by_another(LONG, FAKE_BYTES_PER_TOKEN=32)
        daemon = self.adopting()
        self.check_refused(daemon, "0.bin", "other arguments made it")

    def test_another_format(self):
        self.saved_by_another(LONG, FAKE_STATE_VERSION=3)
        daemon = self.adopting()
        self.check_refused(daemon, "0.bin", "llama-server refuses it")

    def test_what_is_too_short_or_too_long(self):
        self.saved_by_another("Hi.", LONG * 2)
        daemon = self.adopting("-c", 2048)
        self.assertIn("fewer than 256", self.line(daemon, "0.bin"))
        self.assertIn("do not fit into a slot's context of 1024", self.line(daemon, "1.bin"))
        self.assertEqual(self.manifests(), [])

    def test_a_model_that_reuses_a_state_only_as_a_whole(self):
        self.saved_by_another(LONG, FAKE_ARCH="hybrid")
        daemon = self.adopting(FAKE_ARCH="hybrid")
        self.check_refused(daemon, "0.bin", "it cannot be (checked|told)")
        self.assertEqual(self.reused(daemon, LONG), 0)

    def test_other_files_and_links_are_none_of_ours(self):
        self.saved_by_another(LONG)
        (self.slots / "0.bin").rename(self.folder / "elsewhere")
        (self.slots / "0.bin").symlink_to(self.folder / "elsewhere")
        (self.slots / "1.bin").mkdir()
        shutil.copy(self.folder / "elsewhere", self.slots / "mine.kv")
        daemon = self.adopting()
        self.says(daemon, "nothing to adopt in")
        self.assertEqual(self.manifests(), [])

    def test_a_folder_that_is_not_there(self):
        self.slots.rmdir()
        daemon = self.adopting()
        self.says(daemon, "nothing is adopted: ")
        self.complete(daemon)

    def test_nothing_is_adopted_where_nothing_is_restored(self):
        self.saved_by_another(LONG)
        daemon = self.adopting(ours=["--hibernate-restore", "none"])
        self.says(daemon, "nothing is adopted, because nothing is restored")
        self.assertEqual(self.manifests(), [])


class Trouble(AdoptCase):
    def test_a_child_that_dies_of_a_file_is_started_again(self):
        self.saved_by_another(LONG)
        daemon = self.adopting(FAKE_CRASH_ON="restore")
        self.check_refused(daemon, "0.bin", "llama-server died while it had it")
        self.assertEqual(len(self.events("start")), 2)
        self.complete(daemon)
        self.stop(daemon)
        self.log.unlink()
        for manifest in self.root.glob("*/*.json"):
            manifest.unlink()
        daemon = self.adopting(FAKE_CRASH_ON="restore")
        self.assertIn("as before: llama-server died", self.line(daemon, "0.bin"))
        self.assertEqual(self.actions("restore"), [])
        self.assertEqual(len(self.events("start")), 1)

    def test_a_child_that_a_refusal_harmed_is_started_again(self):
        self.saved_by_another(LONG)
        daemon = self.adopting(FAKE_FAIL_RESTORE="all", FAKE_HARM="error")
        self.says(daemon, "llama-server is not well after that")
        self.assertEqual(len(self.events("start")), 2)
        self.complete(daemon)

    def test_it_takes_no_longer_than_the_budget(self):
        self.saved_by_another(LONG)
        begun = time.monotonic()
        daemon = self.adopting(ours=["--hibernate-restore-budget", "1s"], FAKE_PREFILL_MS=60000)
        self.assertLess(time.monotonic() - begun, 5 + harness.patience(2), daemon.output)
        self.assertIn("there was no time for it", self.line(daemon, "0.bin"))
        daemon.end()
        daemon = self.adopting()
        self.assertIn(" adopted ", self.line(daemon, "0.bin"))

    def test_a_restore_that_does_not_end(self):
        self.saved_by_another(LONG)
        daemon = self.adopting(launch=self.launch, ours=["--hibernate-restore-budget", "1s"],
                               FAKE_RESTORE_MS=300_000)
        harness.wait_ready(daemon.port, 30, process=daemon)
        self.check_refused(daemon, "0.bin", "llama-server does not restore it in time")
        self.assertEqual(len(self.events("start")), 2)
        self.stop(daemon)
        self.log.unlink()
        daemon = self.adopting(FAKE_RESTORE_MS=300_000)
        self.assertIn("as before: ", self.line(daemon, "0.bin"))
        self.assertEqual(self.actions("restore"), [])

    def test_a_stop_does_not_wait_for_it(self):
        self.saved_by_another(LONG)
        daemon = self.adopting(launch=self.launch, FAKE_RESTORE_MS=60000)
        self.wait_for_action("restore")
        self.stop(daemon, within=4)
        self.check_files()
        daemon = self.adopting()
        self.assertIn(" adopted ", self.line(daemon, "0.bin"))
        self.check_nothing_left()

    def test_a_save_that_fails(self):
        self.saved_by_another(LONG)
        # The two that tell the length of a state come first.
        daemon = self.adopting(ours=["--hibernate-max-disk", "20KiB"])
        self.assertIn("is not adopted", self.line(daemon, "0.bin"))
        self.assertEqual(self.manifests(), [])
        self.check_nothing_left()
        self.stop(daemon)
        daemon = self.adopting()
        self.assertIn(" adopted ", self.line(daemon, "0.bin"))

    def test_a_kill_at_every_step(self):
        self.saved_by_another(LONG)
        faulty = harness.program("FAULTY_HIBERNATE")

        def begin(name, **script):
            self.root = self.folder / name
            port = harness.free_port()
            daemon = self.start(
                [faulty, "--hibernate-dir", self.root, "--hibernate-adopt", self.slots, self.fake,
                 "-m", self.model, "-np", "2", "--host", "127.0.0.1", "--port", port],
                self.environment(**script))
            with contextlib.suppress(OSError, http.client.HTTPException, AssertionError):
                harness.wait_ready(port, process=daemon)
                harness.wait_until(lambda: daemon.poll() is not None or
                                   [m["uses"] for m in self.manifests()] == [1], 10, "it is noted")
                daemon.send(signal.SIGTERM)
            return daemon

        steps = self.folder / "steps"
        daemon = begin("whole", FAULT_STEPS=steps)
        self.assertEqual(daemon.wait(10)[0], 0, daemon.output)
        planned = steps.read_text().splitlines()
        self.assertIn("copy", {step.split()[0] for step in planned})
        self.assertIn("replace adopted", planned)
        for number, what in enumerate(planned, 1):
            with self.subTest(step=number, what=what):
                daemon = begin(f"step-{number}", FAULT_KILL_AT=number)
                self.assertEqual(self.status_of(daemon), -signal.SIGKILL, daemon.output)
                self.check_files()
                daemon = self.adopting()
                self.check_nothing_left()
                # Where nobody tells one boot from the next, one that was not synced is not trusted.
                kept = [m for m in self.manifests() if not (harness.PORTABLE and m["quarantine"])]
                self.assertEqual(len(kept), 1, daemon.output)
                self.assertEqual(kept[0]["quarantine"], "")
                self.assertGreater(self.reused(daemon, LONG), len(LONG), daemon.output)
                daemon.end()


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "FAULTY_HIBERNATE", "FAKE_LLAMA_SERVER")
