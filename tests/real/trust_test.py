#!/usr/bin/env python3
"""A real llama-server is offered what it must refuse, and is well afterwards."""

import json
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import harness
from real import RealCase, continued, opening

SHARED = ["-np", "2", "-kvu", "--no-cache-idle-slots", "-t", "1", "--no-warmup"]


class Trust(RealCase):
    def manifests(self):
        return [json.loads(path.read_text()) for path in self.root.glob("*/*.json")]

    def change_manifest(self, manifest, **changes):
        (path,) = self.root.glob(f"*/{manifest['id']}.json")
        path.write_text(json.dumps({**manifest, **changes}))

    def talk(self, swap, *names):
        replies = [self.ask(swap, opening(name)) for name in names]
        self.stop(swap)
        return replies

    def test_a_damaged_body_is_found_by_its_checksum(self):
        swap = self.swap("tiny-llama").start()
        self.talk(swap, "Ada")
        (file,) = self.root.glob("*/*.kv")
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
        swap.start()
        self.assertEqual(self.ask(swap, opening("Ada")).reused, 0, swap.output)
        self.assertIn("checksum differs", swap.output)

    def test_a_refused_file_harms_nothing_else(self):
        swap = self.swap("tiny-llama").start()
        ada, bob = self.talk(swap, "Ada", "Bob")
        # Another stream count than the child has, in a file that nobody hashed yet.
        newest = max(self.manifests(), key=lambda one: one["tokens"])
        (file,) = self.root.glob(f"*/{newest['id']}.kv")
        data = bytearray(file.read_bytes())
        (words,) = struct.unpack_from("<I", data, 8)
        struct.pack_into("<I", data, 12 + 4 * words, 7)
        file.write_bytes(data)
        # What another process left unsynced is not tried at all by a portable build.
        self.change_manifest(newest, checksum="", synced=harness.PORTABLE)

        swap.start()
        (reason,) = [one["quarantine"] for one in self.manifests() if one["quarantine"]]
        self.assertIn("Unable to restore slot", reason)
        plain = self.undisturbed("tiny-llama")
        reused = []
        for name, before in (("Ada", ada), ("Bob", bob)):
            messages = continued(opening(name), before.text, "And then?")
            reply = self.ask(swap, messages)
            self.assertEqual(reply.text, self.ask_port(plain, messages).text)
            reused.append(reply.reused > 600)
        self.assertEqual(sorted(reused), [False, True], swap.output)
        self.stop(swap)

    def test_what_has_no_room_beside_the_others_is_not_called_damaged(self):
        for model in ("tiny-llama", "tiny-swa", "tiny-hybrid"):
            with self.subTest(model):
                self.root = self.folder / model
                swap = self.swap(model, *SHARED, "-c", "8192").start()
                self.talk(swap, "Ada", "Bob")
                self.assertEqual(len(self.manifests()), 2, swap.output)
                swap = self.swap(model, *SHARED, "-c", "1536").start()
                self.assertIn("no room beside the others", swap.output)
                self.assertEqual([one["quarantine"] for one in self.manifests()], ["", ""],
                                 swap.output)
                self.stop(swap)
                swap = self.swap(model, *SHARED, "-c", "8192").start()
                self.assertIn("2 conversations", swap.output)
                self.stop(swap)


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "REAL_LLAMA_SERVER", "MODELS")
