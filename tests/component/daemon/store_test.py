#!/usr/bin/env python3
"""What is on disk survives: kills, damage, other builds, other models, and two daemons at once."""

import json
import pathlib
import shutil
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import harness
from daemon import DaemonCase, LONG, OTHER


class Store(DaemonCase):
    def folder_of_the_model(self):
        (folder,) = [path for path in self.root.iterdir() if path.is_dir()]
        return folder

    def cached(self, daemon, text=LONG):
        return self.complete(daemon, text)["timings"]["cache_n"]

    def test_layout(self):
        self.seed(LONG)
        folder = self.folder_of_the_model()
        self.assertTrue(folder.name.startswith("model.gguf-") or folder.name.startswith("model-"))
        names = sorted(path.name for path in folder.iterdir()
                       if path.name not in ("lock", "stopped"))
        self.assertEqual([name.partition(".")[2] for name in names], ["json", "kv"])
        self.assertEqual(names[0][:16], names[1][:16])
        self.assertEqual(self.root.stat().st_mode & 0o777, 0o700)
        text = (folder / names[0]).read_text()
        self.assertNotIn("quick brown", text)

    def test_kill_during_a_save_keeps_the_old_snapshot(self):
        self.seed(LONG)
        before = self.snapshot_tokens()
        daemon = self.ready("-np", 2, FAKE_SAVE_MS=60000)
        self.complete(daemon, OTHER)
        daemon.send(signal.SIGTERM)
        self.wait_for_action("save")
        daemon.process.kill()
        daemon.process.wait()
        self.assertEqual(self.snapshot_tokens(), before)
        self.log.unlink()
        daemon = self.ready("-np", 2)
        self.assertEqual(list(self.root.glob("*/staging*")), [], "leftovers are swept")
        self.assertGreater(self.cached(daemon), 0)

    def test_a_damaged_file_is_never_offered_to_the_child(self):
        # llama-server aborts on some truncated files.
        for damage in ("one byte short", "half", "empty", "junk", "longer"):
            with self.subTest(damage):
                self.root = self.folder / damage.replace(" ", "-")
                self.seed(LONG)
                (file,) = self.root.glob("*/*.kv")
                data = file.read_bytes()
                file.write_bytes({"one byte short": data[:-1], "half": data[:len(data) // 2],
                                  "empty": b"", "junk": b"junk" * (len(data) // 4),
                                  "longer": data + b"x"}[damage])
                daemon = self.ready("-np", 2)
                self.assertEqual(self.actions("restore"), [])
                self.assertEqual(self.cached(daemon), 0)
                self.stop(daemon)

    def test_a_damaged_manifest_does_not_stop_the_start(self):
        for text in ("", "{", "[]", '{"format": 99}', "null", '{"id": 3}'):
            with self.subTest(text):
                self.root = self.folder / f"store-{len(self.programs)}"
                self.seed(LONG)
                (file,) = self.root.glob("*/*.json")
                file.write_text(text)
                daemon = self.ready("-np", 2)
                self.assertEqual(self.cached(daemon), 0)
                self.stop(daemon)

    def test_files_that_are_not_ours_are_left_alone(self):
        self.seed(LONG)
        folder = self.folder_of_the_model()
        mine = folder / "my notes.txt"
        mine.write_text("mine")
        (self.root / "README").write_text("mine too")
        daemon = self.ready("-np", 2)
        self.assertGreater(self.cached(daemon), 0)
        self.stop(daemon)
        self.assertEqual(mine.read_text(), "mine")
        self.assertTrue((self.root / "README").exists())

    def test_another_build_is_not_restored_and_said(self):
        self.seed(LONG)
        daemon = self.ready("-np", 2, FAKE_BUILD="b20000-other")
        self.assertEqual(self.actions("restore"), [])
        self.says(daemon, "b20000-other")
        self.assertEqual(len(self.snapshot_tokens()), 1, "it stays for the build that wrote it")
        self.stop(daemon)
        daemon = self.ready("-np", 2)
        self.assertGreater(self.cached(daemon), 0)

    def test_another_cache_type_is_not_restored(self):
        self.seed(LONG)
        daemon = self.ready("-np", 2, "-ctk", "q8_0")
        self.assertEqual(self.actions("restore"), [])
        self.says(daemon, "cache-type-k")

    def test_another_stream_count_is_not_restored(self):
        self.seed(LONG)
        daemon = self.ready("-np", 3)
        self.assertEqual(self.actions("restore"), [])

    def test_a_replaced_model_file_is_another_model(self):
        self.seed(LONG)
        harness.write_model(self.model, b"other weights")
        daemon = self.ready("-np", 2)
        self.assertEqual(self.actions("restore"), [])

    def test_two_models_keep_apart(self):
        self.seed(LONG)
        first = self.model
        self.model = harness.write_model(self.folder / "second.gguf", b"second")
        daemon = self.ready("-np", 2)
        self.assertEqual(self.actions("restore"), [])
        self.complete(daemon, OTHER)
        self.stop(daemon)
        self.assertEqual(len(list(self.root.glob("*/*.kv"))), 2)
        self.model = first
        daemon = self.ready("-np", 2)
        self.assertGreater(self.cached(daemon), 0)
        self.assertLess(self.cached(daemon, OTHER), 100)

    def test_two_daemons_of_one_model_do_not_harm_each_other(self):
        self.seed(LONG)
        one = self.ready("-np", 2)
        two = self.ready("-np", 2)
        self.assertGreater(self.cached(one), 0)
        self.complete(two, OTHER)
        self.stop(two, within=10)
        self.complete(one, "One. " + LONG)
        self.stop(one)
        tokens = self.snapshot_tokens()
        self.assertGreaterEqual(len(tokens), 2)
        daemon = self.ready("-np", 2)
        self.assertEqual(len(self.snapshot_tokens()), len(tokens))
        self.stop(daemon)

    def test_more_conversations_than_slots_stay_on_disk(self):
        for text in ("One. ", "Two. ", "Three. "):
            daemon = self.ready("-np", 1)
            self.complete(daemon, text + LONG)
            self.stop(daemon)
        self.assertEqual(len(self.snapshot_tokens()), 3)
        self.log.unlink()
        daemon = self.ready("-np", 1)
        self.assertGreater(self.cached(daemon, "Three. " + LONG), 100, "the latest is restored")

    def test_default_flags_keep_the_last_conversation(self):
        daemon = self.ready()
        self.complete(daemon, OTHER)
        self.complete(daemon, LONG)
        self.stop(daemon)
        daemon = self.ready()
        self.assertGreater(self.cached(daemon), 100)

    def test_a_folder_that_was_there_keeps_its_modes(self):
        for mode, arguments in ((0o1777, ["--hibernate-dir"]), (0o755, ["--slot-save-path"])):
            with self.subTest(arguments):
                shared = self.folder / f"shared-{mode:o}"
                shared.mkdir()
                shared.chmod(mode)
                daemon = self.ready(*arguments, shared, root=False)
                self.stop(daemon)
                self.assertEqual(shared.stat().st_mode & 0o7777, mode)
                (own,) = shared.iterdir()
                self.assertEqual(own.stat().st_mode & 0o777, 0o700)

    def test_a_store_that_was_removed_meanwhile_is_made_anew(self):
        daemon = self.ready("-np", 2)
        self.complete(daemon)
        shutil.rmtree(self.root)
        self.stop(daemon)
        self.assertEqual(len(self.snapshot_tokens()), 1, daemon.output)
        daemon = self.ready("-np", 2)
        self.assertGreater(self.cached(daemon), 100)

    def test_many_lives(self):
        text = LONG
        for _ in range(5):
            daemon = self.ready("-np", 2)
            said = self.complete(daemon, text)["choices"][0]["message"]["content"]
            self.stop(daemon)
            text += said
        # Each life's text continues the one before only up to the template's own words.
        self.assertGreaterEqual(len(self.snapshot_tokens()), 1)
        for path in self.root.glob("*/*.kv"):
            self.assertTrue(path.with_suffix(".json").exists())


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "FAKE_LLAMA_SERVER")
