#!/usr/bin/env python3
"""With llama-server's default flags, every conversation comes back, not only the last."""

import json
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import harness
from real import RealCase, body, continued, opening, turn

# The defaults, but for one thread (else greedy text differs from run to run) and a context that
# holds them all.
DEFAULTS = ["-t", "1", "--no-warmup", "-c", "16384"]
NAMES = {"Ada": 500, "Bob": 700, "Cyd": 900, "Dan": 1100, "Eve": 1500, "Fay": 1900}


class EveryConversation:
    model_name = None

    def start_swap(self, *ours):
        return self.swap(self.model_name, *DEFAULTS, ours=ours).start()

    def wait_for_saves(self, swap, count):
        harness.wait_until(lambda: swap.output.count(" (idle): ") >= count, 20, "idle saves")

    def open_all(self, swap, pauses):
        replies = {}
        for number, (name, length) in enumerate(NAMES.items(), 1):
            replies[name] = self.ask(swap, opening(name, length))
            if pauses:
                self.wait_for_saves(swap, number)
        return replies

    def go_on_with_all(self, swap, replies):
        for name, length in NAMES.items():
            before = replies[name]
            reply = self.ask(swap, continued(opening(name, length), before.text, "And then?"))
            # All that was in the slot: the last token that was generated never is.
            self.assertEqual(reply.reused, before.prompt + 15, f"{name}\n{swap.output}")

    def test_without_a_pause(self):
        swap = self.start_swap()
        replies = self.open_all(swap, pauses=False)
        self.stop(swap)
        self.assertEqual(len(self.snapshots()), len(NAMES), swap.output)
        swap.start()
        self.go_on_with_all(swap, replies)
        self.stop(swap)
        self.assertEqual(len(self.snapshots()), len(NAMES), "each supersedes its own")
        self.assertEqual([(m["reused"], m["missed"]) for m in self.manifests()],
                         [(1, 0)] * len(NAMES), swap.output)

    def test_with_pauses_and_a_kill(self):
        swap = self.start_swap("--hibernate-idle-save", "100ms")
        replies = self.open_all(swap, pauses=True)
        children = [pid for pid, _ in harness.children(swap.pid)]
        if harness.PORTABLE:  # which trusts nothing that a kill left unsynced
            harness.wait_until(lambda: all(m["synced"] for m in self.manifests()), 10, "a sync")
        os.kill(swap.pid, signal.SIGKILL)
        if harness.PORTABLE:  # by hand, as packaging/homebrew.md says
            for child in children:
                os.kill(child, signal.SIGKILL)
        swap.end()
        swap.start()
        self.go_on_with_all(swap, replies)
        self.stop(swap)


class PlainAttention(EveryConversation, RealCase):
    model_name = "tiny-llama"

    def test_the_text_is_that_of_a_server_that_was_never_stopped(self):
        reference = self.undisturbed(self.model_name, *DEFAULTS)
        swap = self.start_swap()
        messages = {name: opening(name, length) for name, length in NAMES.items()}
        for _ in range(3):
            for name, conversation in messages.items():
                warm, cold = self.ask(swap, conversation), self.ask_port(reference, conversation)
                self.assertEqual((warm.text, warm.prompt), (cold.text, cold.prompt))
                messages[name] = continued(conversation, cold.text, "Go on.")
            self.stop(swap)
            swap.start()
        self.stop(swap)

    def test_conversations_that_share_a_long_system_prompt(self):
        system = turn("system", "Rules of the house: " + "be kind and say what you know " * 60)
        chats = {name: [system, turn("user", f"{name} asks: what is there to see?")]
                 for name in ("Gil", "Hal")}
        swap = self.start_swap()
        replies = {name: self.ask(swap, messages) for name, messages in chats.items()}
        self.assertGreater(replies["Hal"].reused, 1000, "they took the same slot")
        self.stop(swap)
        for name, messages in chats.items():
            swap.start()
            # The first to speak: the other one would take its slot, as on a server that never stops.
            reply = self.ask(swap, continued(messages, replies[name].text, "More?"))
            self.assertEqual(reply.reused, replies[name].prompt + 15, swap.output)
            self.stop(swap)
        self.assertEqual(len(self.snapshots()), 2)

    def test_a_small_request_just_before_the_stop_displaces_nothing(self):
        swap = self.start_swap()
        messages = opening("Ida")
        before = self.ask(swap, messages)
        self.ask(swap, [turn("user", "A title, please.")], n=4)
        self.stop(swap)
        self.assertEqual(len(self.snapshots()), 1, "the small one is not worth a file")
        swap.start()
        reply = self.ask(swap, continued(messages, before.text, "And then?"))
        self.assertEqual(reply.reused, before.prompt + 15, swap.output)
        self.stop(swap)

    def test_a_chat_with_a_swap_between_its_turns_computes_only_what_is_new(self):
        swap = self.start_swap()
        messages, held = opening("Jan"), 0
        for _ in range(6):
            reply = self.ask(swap, messages)
            self.assertEqual(reply.reused, held, swap.output)
            held = reply.prompt + 15
            messages = continued(messages, reply.text, "And then?")
            self.stop(swap)
            swap.start()
        self.stop(swap)
        self.assertEqual(len(self.snapshots()), 1)

    def test_a_server_that_slept(self):
        swap = self.swap(self.model_name, *DEFAULTS, "--sleep-idle-seconds", "2").start()
        replies = {name: self.ask(swap, opening(name)) for name in ("Lou", "Max")}
        harness.wait_until(lambda: json.loads(swap.get("/props")[1])["is_sleeping"], 20, "it sleeps")
        for name, before in replies.items():
            reply = self.ask(swap, continued(opening(name), before.text, "And then?"))
            self.assertEqual(reply.reused, before.prompt + 15, swap.output)
        self.stop(swap)

    def test_nothing_is_written_twice(self):
        swap = self.start_swap("--hibernate-idle-save", "100ms")
        self.ask(swap, opening("Kim"))
        self.wait_for_saves(swap, 1)
        before = [(path.name, path.stat().st_mtime_ns) for path in self.snapshots()]
        self.stop(swap)
        self.assertIn("nothing new to save", swap.output)
        self.assertEqual(
            [(path.name, path.stat().st_mtime_ns) for path in self.snapshots()], before)

    def test_other_interfaces(self):
        """What /v1/messages and /v1/responses took comes back as well."""
        requests = {
            "/v1/messages": (lambda text: {"messages": [turn("user", text)], "max_tokens": 8},
                             lambda answer: answer["usage"]["input_tokens"]),
            "/v1/responses": (lambda text: {"input": [turn("user", text)], "max_output_tokens": 8},
                              lambda answer: answer["usage"]["input_tokens"]),
            "/completion": (lambda text: {"prompt": text, "n_predict": 8},
                            lambda answer: answer["tokens_evaluated"]),
            "/v1/completions": (lambda text: {"prompt": text, "max_tokens": 8},
                                lambda answer: answer["usage"]["prompt_tokens"]),
        }
        texts = {path: f"{path}: " + "tell me of the river and its mills " * 30 for path in requests}
        swap = self.start_swap()
        tokens = {}
        for path, (make, count) in requests.items():
            tokens[path] = count(swap.post(path, {**make(texts[path]), "temperature": 0}))
        self.stop(swap)
        self.assertEqual(len(self.snapshots()), len(requests), swap.output)
        swap.start()
        for path, text in texts.items():
            if "completion" in path:
                answer = swap.post("/completion", {"prompt": text + " and more", "n_predict": 1})
            else:
                answer = swap.post("/v1/chat/completions", body(
                    [turn("user", text), turn("assistant", "yes"), turn("user", "more")], 1))
            # But for what the template adds after the last message.
            self.assertGreater(answer["timings"]["cache_n"], 0.95 * tokens[path] - 8,
                               f"{path}\n{swap.output}")
        self.stop(swap)


class SlidingWindow(EveryConversation, RealCase):
    model_name = "tiny-swa"


class Hybrid(EveryConversation, RealCase):
    model_name = "tiny-hybrid"


class GatedDeltaNet(EveryConversation, RealCase):
    model_name = "tiny-gdn"


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "REAL_LLAMA_SERVER", "MODELS")
