#!/usr/bin/env python3
"""Slot files that a llama-server without us wrote become snapshots of the model that wrote them, and
of no other."""

import pathlib
import shutil
import struct
import subprocess
import sys

SUPPORT = pathlib.Path(__file__).resolve().parents[1] / "support"
sys.path.insert(0, str(SUPPORT))
import harness
from real import FLAGS, RealCase, continued, opening

QUANTIZED = ["-ctk", "q8_0", "-ctv", "q8_0"]


class Adopt(RealCase):
    def setUp(self):
        super().setUp()
        self.slots = self.folder / "slots"
        self.slots.mkdir()
        self.replies = {}

    def model(self, name):
        if name == "other-weights":
            return str(self.other_weights())
        return super().model(name)

    def other_weights(self):
        """The same shape, metadata and size as tiny-llama."""
        made = self.folder / "other" / "tiny-llama.gguf"
        if not made.exists():
            subprocess.run([sys.executable, "-B", SUPPORT / "make_models.py", made.parent,
                            "tiny-llama", "--seed", "99"], check=True, stdout=subprocess.DEVNULL)
        return made

    def saved_by(self, model, *names, first=0, flags=FLAGS):
        """Lets a plain llama-server save these conversations, one after the other."""
        port = harness.free_port()
        server = self.start([self.server, "-m", self.model(model), "--host", "127.0.0.1", "--port",
                             port, "--slot-save-path", self.slots, *flags])
        harness.wait_ready(port, process=server)
        for number, name in enumerate(names, first):
            self.replies[name] = self.ask_port(port, opening(name), id_slot=0)
            saved = harness.post(port, "/slots/0?action=save", {"filename": f"{number}.bin"})
            self.assertEqual(saved.status, 200, saved)
        server.end()
        self.before = self.files()

    def files(self):
        return {path.name: (path.stat().st_mtime_ns, path.stat().st_mode, path.read_bytes())
                for path in self.slots.iterdir()}

    def adopting(self, model="tiny-llama", *flags):
        return self.swap(model, *FLAGS, *flags,
                         ours=["--hibernate-adopt", self.slots, "--hibernate-log-level", "debug"])

    def said_of(self, swap, name):
        def lines():
            return [line for line in swap.output.splitlines()
                    if f"/{name} " in line and " debug: " not in line]
        harness.wait_until(lines, 5, f"a line about {name}")
        (line,) = lines()
        return line

    def check_goes_on(self, swap, name, plain):
        """As with a llama-server that was never stopped, and nearly all of it is there."""
        before = self.replies[name]
        # What it said first, so that what it is asked is the same.
        self.assertEqual(self.ask_port(plain, opening(name)).text, before.text)
        messages = continued(opening(name), before.text, "And then?")
        expected = self.ask_port(plain, messages)
        reply = self.ask(swap, messages)
        self.assertEqual(reply.prompt, expected.prompt)
        # All that was in the slot: the last token that was generated never is.
        self.assertEqual(reply.reused, before.prompt + 15, swap.output)
        self.assertEqual(reply.text, expected.text)

    def check_adopted(self, model, *flags):
        self.saved_by(model, "Ada", "Bob", flags=[*FLAGS, *flags])
        plain = self.undisturbed(model, *FLAGS, *flags)
        swap = self.adopting(model, *flags).start()
        for name in ("0.bin", "1.bin"):
            self.assertIn(" adopted ", self.said_of(swap, name))
        harness.wait_until(lambda: "2 files adopted" in swap.output, 5, "the outcome")
        self.assertEqual(len(self.snapshots()), 2)
        self.check_goes_on(swap, "Ada", plain)
        self.check_goes_on(swap, "Bob", plain)
        self.stop(swap)
        self.assertEqual(self.files(), self.before)
        return plain

    def test_they_go_on_and_outlive_a_restart(self):
        plain = self.check_adopted("tiny-llama")
        kept = self.snapshots()
        swap = self.adopting().start()
        for name in ("0.bin", "1.bin"):
            self.assertIn("was adopted before", self.said_of(swap, name))
        self.assertEqual(self.snapshots(), kept)
        for name in ("Ada", "Bob"):
            messages = continued(opening(name), self.replies[name].text, "And then?")
            expected = self.ask_port(plain, messages)
            reply = self.ask(swap, messages)
            self.assertEqual(reply.text, expected.text)
            self.assertEqual(reply.prompt, expected.prompt)
            self.assertGreaterEqual(reply.reused, expected.prompt - 1)
        self.stop(swap)

    def test_quantized_caches(self):
        self.check_adopted("tiny-llama", *QUANTIZED)

    def test_with_the_default_slots(self):
        flags = ["-t", "1", "--no-warmup", "-c", "8192"]
        self.saved_by("tiny-llama", "Ada", "Bob", "Cyd", flags=flags)
        plain = self.undisturbed("tiny-llama", *flags)
        swap = self.swap("tiny-llama", *flags, ours=["--hibernate-adopt", self.slots]).start()
        for name in ("Ada", "Bob", "Cyd"):
            self.check_goes_on(swap, name, plain)
        self.stop(swap)

    def check_refused(self, swap, reason, name="0.bin"):
        line = self.said_of(swap, name)
        self.assertIn("is not adopted: ", line)
        self.assertIn(reason, line)
        self.assertEqual(self.snapshots(), [])
        self.assertEqual(list(self.root.glob("*/staging-*")), [])
        self.assertEqual(self.files(), self.before)

    def check_computed_anew(self, swap, model, name, *flags):
        """Nothing of the file is in a slot, nor in the RAM cache."""
        first = struct.unpack_from("<64i", self.before["0.bin"][2], 12 + 3 * 4)
        for slot in range(2):
            answer = swap.post("/completion", {"prompt": list(first), "n_predict": 1,
                                               "id_slot": slot})
            self.assertEqual(answer["timings"]["cache_n"], 0, swap.output)
        messages = continued(opening(name), self.replies[name].text, "And then?")
        reply = self.ask(swap, messages)
        self.assertLessEqual(reply.reused, len(first), swap.output)
        self.assertEqual(reply.text,
                         self.ask_port(self.undisturbed(model, *FLAGS, *flags), messages).text)

    def test_other_weights_of_the_same_shape(self):
        for flags in ([], QUANTIZED):
            with self.subTest(flags):
                shutil.rmtree(self.root, ignore_errors=True)
                self.saved_by("other-weights", "Ada", flags=[*FLAGS, *flags])
                swap = self.adopting("tiny-llama", *flags).start()
                self.check_refused(swap, "another model wrote it")
                self.check_computed_anew(swap, "tiny-llama", "Ada", *flags)
                self.stop(swap)

    def test_another_rope_base(self):
        self.saved_by("tiny-llama", "Ada", flags=[*FLAGS, "--rope-freq-base", "20000"])
        swap = self.adopting().start()
        self.check_refused(swap, "this one under other arguments")
        self.check_computed_anew(swap, "tiny-llama", "Ada")

    def test_another_shape(self):
        self.saved_by("tiny-llama-other", "Ada")
        swap = self.adopting().start()
        self.check_refused(swap, "another model or other arguments made it")
        self.check_computed_anew(swap, "tiny-llama", "Ada")

    def test_another_cache_type(self):
        self.saved_by("tiny-llama", "Ada")
        swap = self.adopting("tiny-llama", *QUANTIZED).start()
        self.check_refused(swap, "other arguments made it")

    def test_models_that_cannot_be_checked(self):
        for model in ("tiny-swa", "tiny-hybrid", "tiny-gdn"):
            with self.subTest(model):
                shutil.rmtree(self.root, ignore_errors=True)
                self.saved_by(model, "Ada")
                swap = self.adopting(model).start()
                self.check_refused(swap, "it cannot be checked whether it is this model's")
                self.stop(swap)

    def test_what_is_damaged(self):
        self.saved_by("tiny-llama", "Ada")
        whole = (self.slots / "0.bin").read_bytes()
        (words,) = struct.unpack_from("<I", whole, 8)
        streams = bytearray(whole)
        struct.pack_into("<I", streams, 12 + 4 * words, 7)
        fewer = bytearray(whole)  # cells than tokens, and bytes that nobody reads
        (cells,) = struct.unpack_from("<I", whole, 12 + 4 * words + 4)
        struct.pack_into("<I", fewer, 12 + 4 * words + 4, cells // 2)
        damaged = {"0.bin": whole[:-1], "1.bin": whole[:len(whole) // 2], "2.bin": streams,
                   "3.bin": fewer, "4.bin": b"\0" * 100_000, "5.bin": b"",
                   "6.bin": struct.pack("<4sIIiiii", b"qsgg", 4, 4, -1, 1, 0, 0) + b"\0" * 8}
        for name, content in damaged.items():
            (self.slots / name).write_bytes(content)
        self.before = self.files()
        swap = self.adopting().start()
        for name, reason in (("0.bin", "cut off"), ("1.bin", "cut off"),
                             ("2.bin", "llama-server refuses it"), ("3.bin", "llama-server "),
                             ("4.bin", "does not begin"), ("5.bin", "cut off"),
                             ("6.bin", "empty")):
            self.check_refused(swap, reason, name)
        self.check_computed_anew(swap, "tiny-llama", "Ada")
        self.stop(swap)


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "REAL_LLAMA_SERVER", "MODELS")
