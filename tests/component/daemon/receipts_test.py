#!/usr/bin/env python3
"""What becomes of what was restored: the responses' own numbers tell, and it is kept with it."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import harness
from daemon import DaemonCase, LONG, OTHER

VAIN = "had been restored, but llama-server computed it again"
LOUD = "restored conversations of this model have never been reused"


class Receipts(DaemonCase):
    def setUp(self):
        super().setUp()
        self.messages = [{"role": "user", "content": LONG}]

    def next_turn(self, daemon, **more):
        """The conversation goes on by a question and an answer; returns the answer."""
        if len(self.messages) > 1:
            self.messages.append({"role": "user", "content": "And then?"})
        request = {"messages": self.messages, "max_tokens": 8, "temperature": 0, **more}
        answer = harness.post(daemon.port, "/v1/chat/completions", request)
        self.assertEqual(answer.status, 200, answer)
        text = answer.json["choices"][0]["message"]["content"]
        self.messages.append({"role": "assistant", "content": text})
        return answer.json

    def life(self, turns=0, ours=(), useless=False):
        """A start, so many turns, a stop; returns the output. A llama-server may be of the kind that
        never reuses what was restored."""
        script = {"FAKE_USELESS_RESTORES": 1} if useless else {}
        daemon = self.ready(ours=["--hibernate-idle-save", "0", *ours], **script)
        for _ in range(turns):
            self.next_turn(daemon)
        self.stop(daemon)
        return daemon.output

    def counts(self):
        self.assertEqual(len(self.manifests()), 1)
        return tuple(self.manifests()[0][name] for name in ("uses", "reused", "missed"))

    def test_a_conversation_that_went_on_was_reused(self):
        self.life(2)
        self.assertEqual(self.counts(), (0, 0, 0))
        self.life(1)
        self.assertEqual(self.counts(), (1, 1, 0))
        self.life(3)
        self.assertEqual(self.counts(), (2, 2, 0), "once a life, however many turns")
        self.assertRegex(self.store("ls"), r"REUSED +STATE\n.* 2 +2  ready")

    def test_one_that_nobody_asked_for_is_not_missed(self):
        self.life(1)
        self.life()
        daemon = self.ready(ours=["--hibernate-idle-save", "0"])
        self.complete(daemon, OTHER)
        self.stop(daemon)
        self.assertEqual([(m["reused"], m["missed"]) for m in self.manifests()], [(0, 0)] * 2)

    def test_one_that_was_computed_again_twice_in_a_row_is_retired(self):
        ours = ["--hibernate-boundary", "never"]
        self.life(1, ours=ours)
        output = self.life(1, ours=ours, useless=True)
        self.assertEqual(self.counts(), (1, 0, 1))
        self.assertIn(VAIN, output)
        self.assertNotIn(LOUD, output)
        output = self.life(2, ours=ours, useless=True)
        self.assertEqual(self.counts(), (2, 0, 2), output)
        self.assertIn(LOUD, self.life(ours=ours))
        self.assertEqual(self.counts(), (2, 0, 2), "it was not restored any more")
        self.assertIn("retired", self.store("ls"))

        self.store("release", self.manifests()[0]["id"])
        self.life(1, ours=ours)
        self.assertEqual(self.counts(), (3, 1, 0))

    def test_after_two_misses_the_prompt_is_saved_apart_and_tried(self):
        self.life(1)
        self.life(1, useless=True)
        output = self.life(1, useless=True)
        self.assertIn("prompts are saved apart", output)
        whole, prompt = sorted(self.manifests(), key=lambda m: -m["tokens"])
        self.assertEqual(prompt["boundary_of"], whole["id"])
        self.assertEqual((whole["missed"], prompt["missed"]), (2, 0))
        daemon = self.ready(ours=["--hibernate-idle-save", "0"])
        answer = self.next_turn(daemon)
        self.assertEqual(answer["timings"]["cache_n"], prompt["tokens"], daemon.output)
        self.stop(daemon)
        self.assertIn(1, [m["reused"] for m in self.manifests()])

    def test_one_miss_is_forgiven(self):
        self.life(1)
        self.life(1, useless=True)
        self.life(1)
        self.assertEqual(self.counts(), (2, 1, 0))

    def test_loud_at_once_when_it_turns_out(self):
        self.life(1)
        self.life(1, useless=True)
        daemon = self.ready(ours=["--hibernate-idle-save", "100ms"], FAKE_USELESS_RESTORES=1)
        self.next_turn(daemon)
        self.says(daemon, LOUD)
        self.stop(daemon)
        self.assertEqual(daemon.output.count(LOUD), 1)

    def test_what_may_have_another_cause_is_no_miss(self):
        """A client that wants nothing reused, one that chooses another slot, or others in between."""
        self.life(1)
        for first, more in ((None, {"cache_prompt": False}), (None, {"id_slot": 3}), (OTHER, {})):
            script = {"FAKE_USELESS_RESTORES": 1} if first else {}
            daemon = self.ready(ours=["--hibernate-idle-save", "0"], **script)
            if first:
                self.complete(daemon, first)
            reused = self.next_turn(daemon, **more)["timings"]["cache_n"]
            self.assertTrue(first or reused < 20, reused)
            self.stop(daemon)
        self.assertEqual({m["missed"] for m in self.manifests()}, {0})

    def test_one_that_found_another_in_its_slot_which_was_not_saved(self):
        self.life(1)
        daemon = self.ready("-np", 1, ours=["--hibernate-idle-save", "0"], FAKE_FAIL_SAVE=1)
        self.complete(daemon, OTHER * 4)
        self.next_turn(daemon)
        self.stop(daemon)
        self.assertEqual({(m["reused"], m["missed"]) for m in self.manifests()}, {(1, 0)},
                         daemon.output)

    def test_a_stream_tells_as_well(self):
        self.life(1)
        daemon = self.ready(ours=["--hibernate-idle-save", "0"])
        self.messages.append({"role": "user", "content": "And then?"})
        answer = harness.post(daemon.port, "/v1/chat/completions",
                              {"messages": self.messages, "max_tokens": 8, "stream": True})
        self.assertEqual(answer.status, 200)
        self.stop(daemon)
        self.assertEqual(self.counts(), (1, 1, 0), daemon.output)


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "FAKE_LLAMA_SERVER")
