#!/usr/bin/env python3
"""A llama-server that writes no context checkpoints, with a model that needs them: the prompt of a
conversation is saved apart, as long as that is cheap."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import harness
from daemon import DaemonCase, LONG, chat

WANTED = "prompts are saved apart as well"


class Boundary(DaemonCase):
    def setUp(self):
        super().setUp()
        self.model = harness.write_model(
            self.folder / "model.gguf",
            metadata={"general.architecture": "tiny", "tiny.ssm.state_size": 16})

    def life(self, request, *arguments, ours=(), **script):
        """A start, a request, a stop; returns the answer, and keeps the output."""
        daemon = self.ready(*arguments, ours=["--hibernate-idle-save", "0", *ours], **script)
        answer = harness.post(daemon.port, "/v1/chat/completions", request)
        self.assertEqual(answer.status, 200, answer)
        self.stop(daemon)
        self.output = daemon.output
        return answer.json

    def went_on(self, reply):
        request = chat(LONG)
        request["messages"] += [{"role": "assistant", "content": reply},
                                {"role": "user", "content": "And then?"}]
        return request

    def cuts(self):
        return [e for e in self.events("request") if e["target"] == "/completion"]

    def pair(self):
        whole, prompt = sorted(self.manifests(), key=lambda m: -m["tokens"])
        self.assertEqual(prompt["boundary_of"], whole["id"])
        return whole, prompt

    def test_the_prompt_comes_back_when_the_reply_was_changed(self):
        self.life(chat(LONG))
        self.assertIn(WANTED, self.output)
        whole, prompt = self.pair()
        self.assertEqual(whole["tokens"], prompt["tokens"] + 7)
        answer = self.life(self.went_on("Something else."))
        self.assertEqual(answer["timings"]["cache_n"], prompt["tokens"])
        self.assertEqual(self.pair()[0]["went_on"], "changed")

    def test_a_client_that_repeats_the_reply_gets_the_whole_back_the_next_time(self):
        reply = self.life(chat(LONG))["choices"][0]["message"]["content"]
        request = self.went_on(reply)
        self.life(request)
        self.assertEqual([m["went_on"] for m in self.manifests()], ["verbatim"])
        self.assertEqual(self.manifests()[0]["boundary_of"], "", "no cut any more")

    def test_a_cut_that_is_dear_is_not_made_again_in_any_life(self):
        """A hybrid llama-server without checkpoints in memory computes the whole prompt."""
        self.life(chat(LONG), FAKE_ARCH="hybrid")
        self.assertIn("which is too much", self.output)
        self.assertEqual(len(self.cuts()), 1)
        self.assertGreater(max(m["cut_cost"] for m in self.manifests()), 512)
        self.life(self.went_on("Something else."), FAKE_ARCH="hybrid")
        self.assertEqual(len(self.cuts()), 1)

    def test_a_cut_that_takes_long_is_cut_off(self):
        self.life(chat(LONG), FAKE_ARCH="hybrid", FAKE_PREFILL_MS=5000)
        self.assertIn("does not cut a slot to its prompt", self.output)
        self.assertEqual(len(self.manifests()), 1)
        self.assertGreater(self.manifests()[0]["cut_cost"], 512)

    def test_not_where_the_user_does_not_want_it(self):
        self.life(chat(LONG), ours=["--hibernate-boundary", "never"])
        self.assertEqual(len(self.manifests()), 1)
        self.assertEqual(self.cuts(), [])


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "FAKE_LLAMA_SERVER")
