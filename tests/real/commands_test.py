#!/usr/bin/env python3
"""What llama-hibernate store tells of the files of a real llama-server."""

import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import harness
from real import RealCase, opening


class Commands(RealCase):
    def store(self, *arguments, status=0):
        done = subprocess.run(
            [harness.program("HIBERNATE_BIN"), "store", *arguments, "--hibernate-dir", self.root],
            env=self.environment(), capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def saved(self, model):
        swap = self.swap(model).start()
        reply = self.ask(swap, opening("Ada"))
        self.stop(swap)
        (one,) = json.loads(self.store("ls", "--json"))["snapshots"]
        return one, reply

    def test_the_words_of_a_conversation_without_its_server(self):
        one, reply = self.saved("tiny-llama")
        self.assertEqual(one["model"], "tiny-llama.gguf")
        text = self.store("show", one["id"])
        self.assertIn("You are Ada.", text)
        self.assertNotIn("no words", text)
        # The last token that was generated is in no slot.
        shown = text[text.rindex("... "):].split("\n")[0]
        self.assertIn(reply.text.strip()[:4], shown)
        self.assertIn("1 of 1 sound", self.store("verify"))

    def test_checkpoints_are_seen(self):
        for model in ("tiny-llama", "tiny-hybrid"):
            self.root = self.folder / model
            one, _ = self.saved(model)
            text = self.store("show", one["id"])
            (count,) = re.findall(r"(\d+) checkpoints", text)
            with self.subTest(model):
                self.assertEqual(int(count) > 0, model == "tiny-hybrid", text)


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "REAL_LLAMA_SERVER", "MODELS")
