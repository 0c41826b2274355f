#!/usr/bin/env python3
"""Conversations with images outlive a real llama-server, and no image is taken for another."""

import pathlib
import subprocess
import sys

SUPPORT = pathlib.Path(__file__).resolve().parents[1] / "support"
sys.path.insert(0, str(SUPPORT))
import harness
from llama_swap import LlamaSwap
from pictures import BLUE, GREEN, RED, about, noise
from real import RealCase, WORDS, continued, turn

TOKENS_OF_AN_IMAGE = 16
QUESTION = "And what is left of it?"
FIRST, THEN = WORDS * 5, "What is it? "


def seen(image):
    """A conversation whose text is the same whatever the image shows."""
    return [about(FIRST, image, THEN)]


class Media(RealCase):
    model_name = "tiny-llama"

    def flags(self, projector=None):
        return ["-t", "1", "--no-warmup", "-c", "16384",
                "--mmproj", projector or self.model("tiny-mmproj")]

    def seeing(self, *ours, projector=None):
        return self.swap(self.model_name, *self.flags(projector), ours=ours)

    def reference(self):
        return self.undisturbed(self.model_name, *self.flags())



class WithAnyMemory:
    shared_at_least = 300  # of the text before the image; 0: there need not be a checkpoint
    sees = True  # what it says depends on what it is shown

    def test_a_conversation_goes_on(self):
        reference = self.reference()
        messages = seen(RED)
        first = self.ask_port(reference, messages)
        longer = continued(messages, first.text, QUESTION)
        expected = self.ask_port(reference, longer)

        swap = self.seeing().start()
        self.assertEqual(self.ask(swap, messages).text, first.text)
        self.stop(swap)
        swap.start()
        reply = self.ask(swap, longer)
        self.assertEqual((reply.reused, reply.prompt), (first.prompt + 15, expected.prompt),
                         swap.output)
        self.assertEqual(reply.text, expected.text)
        self.stop(swap)
        (manifest,) = self.manifests()
        self.assertEqual((manifest["reused"], manifest["missed"]), (1, 0))

    def test_conversations_that_differ_only_in_the_image(self):
        reference = self.reference()
        images = {"red": RED, "green": GREEN, "blue": BLUE}
        first = {name: self.ask_port(reference, seen(image)) for name, image in images.items()}
        if self.sees:
            self.assertEqual(len({reply.text for reply in first.values()}), 3)
        swap = self.seeing().start()
        for name, image in images.items():
            self.assertEqual(self.ask(swap, seen(image)).text, first[name].text)
        self.stop(swap)
        self.assertEqual(len(self.manifests()), 3, f"each is kept\n{swap.output}")
        self.assertEqual({m["tokens"] for m in self.manifests()}, {first["red"].prompt + 15})
        for name, image in images.items():
            swap.start()
            longer = continued(seen(image), first[name].text, QUESTION)
            reply, expected = self.ask(swap, longer), self.ask_port(reference, longer)
            self.assertEqual(reply.reused, first[name].prompt + 15, f"{name}\n{swap.output}")
            self.assertEqual(reply.text, expected.text, name)
            self.stop(swap)
            self.assertEqual(len(self.manifests()), 3, "each supersedes its own")

    def test_another_image_at_the_same_place_is_computed(self):
        cold = self.ask_port(self.reference(), seen(BLUE))
        swap = self.seeing().start()
        self.ask(swap, seen(RED))
        self.stop(swap)
        swap.start()
        reply = self.ask(swap, seen(BLUE))
        self.assertEqual((reply.prompt, reply.text), (cold.prompt, cold.text))
        # The image itself, what comes after it in the message, and the template's end of that.
        behind = TOKENS_OF_AN_IMAGE + len(THEN)
        self.assertLessEqual(reply.reused, reply.prompt - behind, swap.output)
        self.assertGreaterEqual(reply.reused, self.shared_at_least, swap.output)
        self.stop(swap)

    def test_a_conversation_gains_an_image_with_each_turn(self):
        reference = self.reference()
        swap = self.seeing()
        messages, held = seen(RED), 0
        for image in (GREEN, BLUE, RED):
            expected = self.ask_port(reference, messages)
            swap.start()
            reply = self.ask(swap, messages)
            self.assertEqual((reply.text, reply.prompt), (expected.text, expected.prompt))
            self.assertEqual(reply.reused, held, swap.output)
            held = reply.prompt + 15
            self.stop(swap)
            self.assertEqual(len(self.manifests()), 1, "each supersedes the one before")
            messages = continued(messages, reply.text, "")
            messages[-1] = about("And this one?", image)


class PlainAttention(WithAnyMemory, Media):
    def test_requests_that_are_longer_than_what_is_looked_at(self):
        swap = self.seeing().start()
        first = {}
        for seed in (1, 2):
            first[seed] = self.ask(swap, [about(noise(seed), FIRST)])
        self.stop(swap)
        self.assertEqual(len(self.manifests()), 2)
        for seed, before in first.items():
            swap.start()
            longer = continued([about(noise(seed), FIRST)], before.text, QUESTION)
            self.assertEqual(self.ask(swap, longer).reused, before.prompt + 15, swap.output)
            self.stop(swap)

    def test_another_projector_is_another_model(self):
        swap = self.seeing().start()
        self.ask(swap, seen(RED))
        self.stop(swap)
        folder = self.folder / "other"
        subprocess.run([sys.executable, "-B", SUPPORT / "make_models.py", folder, "tiny-mmproj",
                        "--seed", "99"], check=True, stdout=subprocess.DEVNULL)
        other = self.seeing(projector=folder / "tiny-mmproj.gguf").start()
        self.assertEqual(self.ask(other, seen(RED)).reused, 0)
        self.stop(other)
        (line,) = [line for line in other.output.splitlines() if "skipped 1 snapshot" in line]
        self.assertIn("mmproj ", line)

    def test_what_the_store_says_of_it(self):
        swap = self.seeing().start()
        self.ask(swap, [about(RED, FIRST)])
        self.stop(swap)
        (manifest,) = self.manifests()
        shown = self.store("show", manifest["id"])
        self.assertIn(f"media       {TOKENS_OF_AN_IMAGE} of its tokens", shown)
        self.assertEqual(shown.count("[media]"), 1, shown)


class SlidingWindow(WithAnyMemory, Media):
    model_name = "tiny-swa"
    shared_at_least = 0
    sees = False


class Hybrid(WithAnyMemory, Media):
    model_name = "tiny-hybrid"
    shared_at_least = 0


class OlderBuild(Media):
    """Prompts cannot be saved apart where there are images in them: they cannot be asked for by
    their tokens."""

    model_name = "tiny-hybrid"

    def older(self):
        command = [harness.program("HIBERNATE_BIN"), "--hibernate-dir", self.root,
                   SUPPORT / "old_llama_server.py", "-m", self.model(self.model_name),
                   "--port", "${PORT}", *self.flags()]
        environment = {**self.environment(), "REAL_LLAMA_SERVER": self.server}
        swap = LlamaSwap(command, harness.free_port(), environment)
        self.addCleanup(swap.end)
        return swap

    def test_images_are_saved_whole_and_texts_twice(self):
        swap = self.older().start()
        image, text = seen(RED), [turn("user", "No image: " + FIRST)]
        first = self.ask(swap, image)
        words = self.ask(swap, text)
        self.stop(swap)
        self.assertEqual({m["tokens"] for m in self.manifests()},
                         {first.prompt + 15, words.prompt + 15, words.prompt}, swap.output)
        self.assertEqual(len(self.manifests()), 3)
        swap.start()
        reply = self.ask(swap, continued(image, first.text, QUESTION))
        self.assertEqual(reply.reused, first.prompt + 15, swap.output)
        reply = self.ask(swap, continued(text, "Something else.", QUESTION))
        self.assertEqual(reply.reused, words.prompt, swap.output)
        self.stop(swap)

    def test_a_changed_reply_to_an_image_is_computed_and_right(self):
        swap = self.older()
        self.ask(swap.start(), seen(RED))
        self.stop(swap)
        changed = continued(seen(RED), "Something else.", QUESTION)
        reply, cold = self.ask(swap.start(), changed), self.ask_port(self.reference(), changed)
        self.assertEqual((reply.reused, reply.text), (0, cold.text), swap.output)
        self.stop(swap)


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "REAL_LLAMA_SERVER", "MODELS")
