#!/usr/bin/env python3
"""Conversations outlive a real llama-server of every kind of memory, behind llama-swap's stand-in.

What a restart may cost is what the same request costs a server that was never stopped, or, where
the model's memory cannot step back to any place, a few tokens more.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import harness
from real import RealCase, continued, opening


class Conversation:
    """One kind of model; step_back: tokens computed again when a prompt is asked twice."""

    model_name = None
    step_back = None

    def test_a_conversation_goes_on(self):
        messages = opening("Ada")
        reference = self.undisturbed(self.model_name)
        first = self.ask_port(reference, messages)
        self.assertGreater(first.computed, 600)
        self.assertEqual(first.reused, 0)
        longer = continued(messages, first.text, "And what happened next?")
        expected = self.ask_port(reference, longer)

        swap = self.swap(self.model_name).start()
        self.assertEqual(self.ask(swap, messages).text, first.text)
        self.stop(swap)
        swap.start()
        reply = self.ask(swap, longer)
        self.assertEqual(reply.prompt, expected.prompt)
        # All that the slot held: the prompt and the reply without its last token.
        self.assertEqual(reply.reused, first.prompt + 15, swap.output)
        self.assertEqual(reply.text, expected.text)
        self.stop(swap)

    def test_the_same_question_again(self):
        messages = opening("Grace")
        reference = self.undisturbed(self.model_name)
        first = self.ask_port(reference, messages)

        swap = self.swap(self.model_name).start()
        self.ask(swap, messages)
        self.stop(swap)
        swap.start()
        reply = self.ask(swap, messages)
        self.assertEqual(reply.prompt, first.prompt)
        self.assertEqual(reply.computed, self.step_back, swap.output)
        self.assertEqual(reply.text, first.text)
        self.stop(swap)

    def test_three_lives(self):
        reference = self.undisturbed(self.model_name)
        swap = self.swap(self.model_name)
        messages = opening("Emmy")
        held = 0
        for question in ("Why?", "How so?", "Who says that?"):
            expected = self.ask_port(reference, messages)
            swap.start()
            reply = self.ask(swap, messages)
            self.assertEqual((reply.text, reply.prompt), (expected.text, expected.prompt))
            self.assertEqual(reply.reused, held)
            held = reply.prompt + 15
            self.stop(swap)
            messages = continued(messages, reply.text, question)
        self.assertEqual(len(self.snapshots()), 1, "each life supersedes the one before")

    def test_two_conversations_in_two_slots(self):
        one, two = opening("Lise"), opening("Marie")
        reference = self.undisturbed(self.model_name)
        expected = [self.ask_port(reference, one, id_slot=0), self.ask_port(reference, two, id_slot=1)]
        swap = self.swap(self.model_name).start()
        self.ask(swap, one, id_slot=0)
        self.ask(swap, two, id_slot=1)
        self.stop(swap)
        self.assertEqual(len(self.snapshots()), 2)
        swap.start()
        for messages, cold in zip((one, two), expected):
            longer = continued(messages, cold.text, "Go on.")
            warm, never_stopped = self.ask(swap, longer), self.ask_port(reference, longer)
            self.assertEqual(warm.reused, cold.prompt + 15, swap.output)
            self.assertEqual(warm.text, never_stopped.text)
        self.stop(swap)


class PlainAttention(Conversation, RealCase):
    model_name = "tiny-llama"
    step_back = 1


class SlidingWindow(Conversation, RealCase):
    model_name = "tiny-swa"
    step_back = 5


class Hybrid(Conversation, RealCase):
    model_name = "tiny-hybrid"
    step_back = 4


class GatedDeltaNet(Conversation, RealCase):
    model_name = "tiny-gdn"
    step_back = 4


class Models(RealCase):
    def test_swapping_between_two_models(self):
        swaps = {name: self.swap(name) for name in ("tiny-llama", "tiny-llama-other", "tiny-gdn")}
        messages, held = opening("Hedy"), {}
        for name, swap in swaps.items():
            swap.start()
            reply = self.ask(swap, messages)
            held[name] = (reply.prompt + 15, continued(messages, reply.text, "Really?"))
            self.stop(swap)
        for name, swap in swaps.items():
            swap.start()
            tokens, longer = held[name]
            self.assertEqual(self.ask(swap, longer).reused, tokens, f"{name}\n{swap.output}")
            self.stop(swap)

    def test_default_flags_keep_the_last_conversation(self):
        swap = self.swap("tiny-llama", "-t", "1", "--no-warmup").start()
        self.ask(swap, opening("First"))
        messages = opening("Last")
        reply = self.ask(swap, messages)
        self.stop(swap)
        swap.start()
        again = self.ask(swap, continued(messages, reply.text, "So?"))
        self.assertEqual(again.reused, reply.prompt + 15, swap.output)
        self.stop(swap)

    def test_a_quantised_cache_is_not_mixed_with_another(self):
        messages = opening("Rosa")
        swap = self.swap("tiny-llama").start()
        self.ask(swap, messages)
        self.stop(swap)
        other = self.swap("tiny-llama", "-np", "2", "-t", "1", "-c", "8192", "-ctk", "q8_0").start()
        self.assertEqual(self.ask(other, messages).reused, 0)
        self.stop(other)
        swap.start()
        self.assertGreater(self.ask(swap, messages).reused, 600)
        self.stop(swap)

    def test_llama_swap_never_waits_a_second_for_us(self):
        # Each answer that is not 200 costs it a second; none at all means that we had no time to
        # bind the port yet.
        swap = self.swap("tiny-llama").start()
        self.assertEqual({status for _, status in swap.probes} - {None}, {200}, swap.output)
        self.stop(swap)


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "REAL_LLAMA_SERVER", "MODELS")
