#!/usr/bin/env python3
"""What would be restored wrongly is not restored: the log says why, and the model answers as one that
was never stopped."""

import pathlib
import shutil
import subprocess
import sys

SUPPORT = pathlib.Path(__file__).resolve().parents[1] / "support"
sys.path.insert(0, str(SUPPORT))
import harness
from real import FLAGS, RealCase, opening


class Signature(RealCase):
    def setUp(self):
        super().setUp()
        # A copy, so that a test can put another model in its place.
        self.path = self.folder / "model.gguf"
        shutil.copy(super().model("tiny-llama"), self.path)

    def model(self, name):
        return str(self.path) if name == "here" else super().model(name)

    def other_weights(self):
        """The same shape, metadata and size."""
        folder = self.folder / "other"
        subprocess.run([sys.executable, "-B", SUPPORT / "make_models.py", folder, "tiny-llama",
                        "--seed", "99"], check=True, stdout=subprocess.DEVNULL)
        made = folder / "tiny-llama.gguf"
        self.assertEqual(made.stat().st_size, self.path.stat().st_size)
        return made

    def one_life(self, *more, ours=()):
        """Starts and stops, and returns what the log said and the reply to the same question."""
        swap = self.swap("here", *FLAGS, *more, ours=ours).start()
        reply = self.ask(swap, opening("Ada"))
        self.stop(swap)
        return swap.output, reply

    def check_skipped(self, reason, *more):
        """With these arguments the one snapshot is skipped, and nothing of it is used."""
        expected = self.ask_port(self.undisturbed("here", *FLAGS, *more), opening("Ada"))
        output, reply = self.one_life(*more)
        (line,) = [line for line in output.splitlines() if "skipped 1 snapshot" in line]
        self.assertIn(reason, line)
        self.assertEqual(reply.reused, 0, output)
        self.assertEqual(reply.text, expected.text)
        return line

    def check_restored(self, *more, ours=()):
        output, reply = self.one_life(*more, ours=ours)
        self.assertNotRegex(output, r"skipped \d")
        self.assertGreater(reply.reused, 600, output)

    def test_nothing_changed(self):
        _, first = self.one_life()
        self.assertEqual(first.reused, 0)
        self.check_restored()
        # What does not count: another context size, batch size and number of threads.
        self.check_restored("-c", "4096", "-ub", "128", "-tb", "2")

    def test_another_cache_type(self):
        self.one_life()
        line = self.check_skipped("cache-type-k default, now q8_0", "-ctk", "q8_0")
        self.assertNotIn("model", line)
        self.assertNotIn("build", line)
        output, reply = self.one_life()
        self.assertGreater(reply.reused, 600, "the snapshot is still there for whom it fits")
        self.assertIn("cache-type-k q8_0, now default", output)

    def test_another_rope_base(self):
        self.one_life()
        self.check_skipped("rope-freq-base default, now 500000", "--rope-freq-base", "500000")

    def test_two_differences_are_both_told(self):
        self.one_life()
        line = self.check_skipped("cache-type-k default, now q8_0", "-ctk", "q8_0", "-fa", "on")
        self.assertIn("flash-attn default, now on", line)

    def test_another_model_at_the_same_path(self):
        self.one_life()
        shutil.copy(super().model("tiny-llama-other"), self.path)
        self.check_skipped(": model ")

    def test_other_weights_of_the_same_shape(self):
        self.one_life()
        shutil.copy(self.other_weights(), self.path)
        self.check_skipped(": model ")

    def test_the_same_model_again(self):
        self.one_life()
        original = self.path.read_bytes()
        shutil.copy(self.other_weights(), self.path)
        self.check_skipped(": model ")
        self.path.write_bytes(original)
        self.assertGreater(self.one_life()[1].reused, 600)

    def test_a_draft_model_counts_by_its_content(self):
        draft = self.folder / "draft.gguf"
        shutil.copy(super().model("tiny-llama"), draft)
        flags = ("-md", str(draft), "--spec-type", "draft-simple")
        self.one_life(*flags)
        moved = self.folder / "moved.gguf"
        draft.rename(moved)
        flags = ("-md", str(moved), "--spec-type", "draft-simple")
        self.check_restored(*flags)
        shutil.copy(self.other_weights(), moved)
        self.check_skipped("spec-draft-model ", *flags)

    def test_any_build_of_the_same_format(self):
        self.one_life()
        self.check_restored(ours=("--hibernate-compat", "format"))
        self.check_restored(ours=("--hibernate-compat", "format"))


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "REAL_LLAMA_SERVER", "MODELS")
