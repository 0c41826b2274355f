#!/usr/bin/env python3
"""Conversations of a model with a draft model: its state comes back with them, or it is said once
that it does not. A changed draft model is in signature_test.py."""

import pathlib
import sys

SUPPORT = pathlib.Path(__file__).resolve().parents[1] / "support"
sys.path.insert(0, str(SUPPORT))
import harness
from llama_swap import LlamaSwap
from real import RealCase, body, continued, opening

COLD = "this llama-server does not save the draft model's state"


class Draft:
    model_name = None
    old_prompt_only = False  # older builds save its prompts apart, which is what is reused

    def setUp(self):
        super().setUp()
        self.drafting = ["-t", "1", "--no-warmup", "-c", "8192", "--spec-type", "draft-simple",
                         "-md", self.model(self.model_name)]

    def build(self, old, *arguments):
        command = [harness.program("HIBERNATE_BIN"), "--hibernate-dir", self.root,
                   SUPPORT / "old_llama_server.py" if old else self.server,
                   "-m", self.model(self.model_name), "--port", "${PORT}", *arguments]
        environment = {**self.environment(), "REAL_LLAMA_SERVER": self.server}
        swap = LlamaSwap(command, harness.free_port(), environment)
        self.addCleanup(swap.end)
        return swap.start()

    def drafted(self, answer):
        """The text, how much of the prompt was reused, and how much of the draft was accepted."""
        timings = answer["timings"]
        self.assertGreater(timings["draft_n"], 10, "it drafts")
        return (answer["choices"][0]["message"]["content"], timings["cache_n"],
                timings["draft_n_accepted"] / timings["draft_n"])

    def asked(self, swap, messages):
        return self.drafted(swap.post("/v1/chat/completions", body(messages, 40)))

    def asked_of(self, port, messages):
        return self.drafted(harness.post(port, "/v1/chat/completions", body(messages, 40)).json)

    def two_lives(self, old):
        """Returns what the second life answered, and what one that was never stopped did."""
        never_stopped = self.undisturbed(self.model_name, *self.drafting)
        messages = opening("Ada")
        first = self.asked_of(never_stopped, messages)
        longer = continued(messages, first[0], "And then?")
        expected = self.asked_of(never_stopped, longer)
        swap = self.build(old, *self.drafting)
        self.assertEqual(self.asked(swap, messages), first)
        self.stop(swap)
        self.outputs = [swap.output]
        swap.start()
        reply = self.asked(swap, longer)
        self.stop(swap)
        self.outputs.append(swap.output)
        return reply, expected

    def test_its_state_comes_back(self):
        reply, expected = self.two_lives(old=False)
        self.assertEqual(reply[:2], expected[:2], self.outputs[1])
        self.assertGreaterEqual(reply[2], expected[2])
        self.assertNotIn(COLD, "".join(self.outputs))
        (manifest,) = self.manifests()
        self.assertIn("a draft model's (", self.store("show", manifest["id"]))

    def test_an_older_build_does_not_save_it(self):
        reply, expected = self.two_lives(old=True)
        self.assertEqual(reply[0], expected[0], self.outputs[1])
        self.assertGreater(reply[1], expected[1] - (60 if self.old_prompt_only else 1), self.outputs[1])
        for output in self.outputs:
            self.assertEqual(output.count(COLD), 1, output)


class PlainAttention(Draft, RealCase):
    model_name = "tiny-llama"

    def test_a_draft_model_that_is_not_used(self):
        """As with this build, where nothing says how to draft."""
        swap = self.build(False, "-t", "1", "--no-warmup", "-md", self.model(self.model_name))
        answer = swap.post("/v1/chat/completions", body(opening("Ada"), 40))
        self.assertNotIn("draft_n", answer["timings"])
        self.stop(swap)
        self.assertEqual(len(self.manifests()), 1, swap.output)
        self.assertNotIn(COLD, swap.output)


class SlidingWindow(Draft, RealCase):
    model_name = "tiny-swa"
    old_prompt_only = True


class Hybrid(Draft, RealCase):
    model_name = "tiny-hybrid"
    old_prompt_only = True


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "REAL_LLAMA_SERVER", "MODELS")
