#!/usr/bin/env python3
"""Models that reuse a saved state only as a whole, on builds that write context checkpoints into their
slot files and on builds that do not: what comes back, whatever the client makes of the last reply."""

import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import harness
from llama_swap import LlamaSwap
from real import RealCase, continued, opening, turn

DEFAULTS = ["-t", "1", "--no-warmup", "-c", "8192"]
OLD = pathlib.Path(__file__).resolve().parents[1] / "support" / "old_llama_server.py"


class Boundary:
    model_name = None
    same_prompt = None  # tokens that the same prompt again does not reuse, of a file without checkpoints

    def build(self, old, *ours):
        """A llama-swap entry with a llama-server that writes checkpoints, or an older one."""
        command = [harness.program("HIBERNATE_BIN"), "--hibernate-dir", self.root, *ours,
                   OLD if old else self.server, "-m", self.model(self.model_name),
                   "--port", "${PORT}", *DEFAULTS]
        environment = {**self.environment(), "REAL_LLAMA_SERVER": self.server}
        swap = LlamaSwap(command, harness.free_port(), environment)
        self.addCleanup(swap.end)
        return swap

    def begin(self, old, *ours):
        """One turn of a conversation, and a stop; keeps the store as it is then."""
        self.swap_in_use = self.build(old, *ours)
        self.messages = opening("Ada", 900)
        self.swap_in_use.start()
        self.first = self.ask(self.swap_in_use, self.messages)
        self.stop(self.swap_in_use)
        shutil.copytree(self.root, self.folder / "kept")

    def after_a_start(self, messages):
        """The answer of a server that has just restored what was kept."""
        shutil.rmtree(self.root)
        shutil.copytree(self.folder / "kept", self.root)
        self.swap_in_use.start()
        reply = self.ask(self.swap_in_use, messages)
        self.stop(self.swap_in_use)
        return reply

    def verbatim(self):
        return continued(self.messages, self.first.text, "And then?")

    def changed(self):
        return continued(self.messages, "Something else.", "And then?")

    def half_way(self):
        text = self.messages[1]["content"]
        return [self.messages[0], turn("user", text[:len(text) // 2] + " and nothing more.")]

    def cold(self, messages):
        port = self.undisturbed(self.model_name, *DEFAULTS)
        return self.ask_port(port, messages)

    def equals_cold(self, reply, messages):
        cold = self.cold(messages)
        self.assertEqual((reply.prompt, reply.text), (cold.prompt, cold.text))

    def test_a_build_without_checkpoints(self):
        self.begin(True)
        prompt = self.first.prompt
        self.assertEqual([m["tokens"] for m in sorted(self.manifests(), key=lambda m: m["created_ms"])],
                         [prompt + 15, prompt], self.swap_in_use.output)
        reply = self.after_a_start(self.changed())
        self.assertEqual(reply.reused, prompt, self.swap_in_use.output)
        self.equals_cold(reply, self.changed())
        self.assertEqual(self.after_a_start(self.verbatim()).reused, prompt)
        again = self.after_a_start(self.messages)
        self.assertEqual(again.reused, prompt - self.same_prompt if self.same_prompt else 0)
        self.assertEqual(self.after_a_start(self.half_way()).reused, 0)
        for one, described in ((0, "only prompts that extend all of it"), (1, "prompt of   ")):
            manifest = sorted(self.manifests(), key=lambda m: m["created_ms"])[one]
            shown = self.store("show", manifest["id"])
            self.assertIn(described, shown)
        count = len(self.manifests())
        self.store("rm", manifest["id"])
        self.assertEqual(len(self.manifests()), count - 2, "the other one of the pair goes with it")

    def test_without_boundaries_a_changed_reply_loses_all(self):
        self.begin(True, "--hibernate-boundary", "never")
        self.assertEqual(len(self.manifests()), 1)
        self.assertEqual(self.after_a_start(self.changed()).reused, 0)
        self.assertEqual(self.after_a_start(self.verbatim()).reused, self.first.prompt + 15)

    def test_a_build_with_checkpoints(self):
        self.begin(False)
        self.assertEqual(len(self.manifests()), 1, self.swap_in_use.output)
        reply = self.after_a_start(self.changed())
        self.assertGreaterEqual(reply.reused, self.first.prompt - 5)
        self.equals_cold(reply, self.changed())
        self.assertEqual(self.after_a_start(self.verbatim()).reused, self.first.prompt + 15)
        self.assertGreaterEqual(self.after_a_start(self.messages).reused, self.first.prompt - 12)
        self.assertLess(self.after_a_start(self.half_way()).reused, self.first.prompt // 2 + 40)

    def test_a_client_that_repeats_every_reply_as_it_was(self):
        """Its whole state comes back, once that is known, and its prompts are not saved any more."""
        self.begin(True)
        messages = self.messages
        reply = self.first
        expected = [reply.prompt]
        seen = []
        for _ in range(3):
            messages = continued(messages, reply.text, "And then?")
            self.swap_in_use.start()
            reply = self.ask(self.swap_in_use, messages)
            self.stop(self.swap_in_use)
            seen.append(reply.reused)
            expected.append(reply.prompt + 15)
        self.assertEqual(seen, expected[:3], self.swap_in_use.output)
        self.assertEqual(len(self.manifests()), 1, self.swap_in_use.output)

    def test_a_client_that_drops_a_part_of_every_reply(self):
        self.begin(True)
        messages, prompt = self.messages, self.first.prompt
        for number in range(3):
            messages = continued(messages, f"Answer {number}.", "And then?")
            self.swap_in_use.start()
            reply = self.ask(self.swap_in_use, messages)
            self.stop(self.swap_in_use)
            self.assertEqual(reply.reused, prompt, self.swap_in_use.output)
            prompt = reply.prompt
            self.assertEqual(len(self.manifests()), 2, "it supersedes what it went on from")


class SlidingWindow(Boundary, RealCase):
    model_name = "tiny-swa"
    same_prompt = 1


class Hybrid(Boundary, RealCase):
    model_name = "tiny-hybrid"


class LinearAttention(Boundary, RealCase):
    model_name = "tiny-gdn"


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "REAL_LLAMA_SERVER", "MODELS")
