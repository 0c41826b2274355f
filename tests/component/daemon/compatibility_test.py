#!/usr/bin/env python3
"""Which snapshots are for a llama-server: builds, formats of slot files, adapters."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import harness
from daemon import DaemonCase, LONG, OTHER

FORMAT = ("--hibernate-compat", "format")


class Compatibility(DaemonCase):
    def cached(self, daemon, text=LONG):
        return self.complete(daemon, text)["timings"]["cache_n"]

    def skipped(self, daemon):
        return [line for line in daemon.output.splitlines() if "warning: skipped" in line]

    def test_one_line_sums_up_what_is_skipped(self):
        self.seed(LONG, OTHER)
        daemon = self.ready("-np", 2, "-ctk", "q8_0", FAKE_BUILD="b20000-other")
        self.says(daemon, "skipped 2 snapshots (")
        (line,) = self.skipped(daemon)
        self.assertIn("build b11669-fake, now b20000-other", line)
        self.assertIn("cache-type-k default, now q8_0", line)
        self.assertEqual(self.actions("restore"), [])
        self.assertEqual(self.cached(daemon), 0)

    def test_another_build_will_do_where_the_format_is_the_same(self):
        self.seed(LONG)
        daemon = self.ready("-np", 2, ours=FORMAT, FAKE_BUILD="b20000-other")
        self.assertGreater(self.cached(daemon), 100, daemon.output)
        self.assertEqual(self.skipped(daemon), [])
        self.stop(daemon)
        self.assertEqual(list(self.root.glob("*/staging*")), [], "the empty save left nothing")
        # What was saved in this life is for those who ask for the format only.
        daemon = self.ready("-np", 2, ours=FORMAT, FAKE_BUILD="b30000-third")
        self.assertGreater(self.cached(daemon), 100, daemon.output)
        self.stop(daemon)

    def test_another_format_will_not(self):
        self.seed(LONG)
        daemon = self.ready("-np", 2, ours=FORMAT, FAKE_BUILD="b20000-other", FAKE_STATE_VERSION=5)
        self.says(daemon, "state-version 4, now 5")
        self.assertEqual(self.actions("restore"), [])
        self.assertEqual(self.cached(daemon), 0)
        self.stop(daemon)

    def test_a_format_that_is_not_known_means_the_same_build(self):
        self.seed(LONG)
        daemon = self.ready("-np", 2, ours=FORMAT, FAKE_BUILD="b20000-other", FAKE_FAIL_SAVE=1)
        self.says(daemon, "only snapshots of its own build")
        self.says(daemon, "build b11669-fake, now b20000-other")
        self.assertEqual(self.cached(daemon), 0)
        self.stop(daemon)
        daemon = self.ready("-np", 2, ours=FORMAT, FAKE_FAIL_SAVE=1)
        self.assertGreater(self.cached(daemon), 100, daemon.output)
        self.stop(daemon)

    def test_an_adapter_counts_by_content_and_scale(self):
        adapter = self.folder / "adapter.gguf"
        harness.write_model(adapter, b"adapter")
        flags = ("-np", 2, "--lora-scaled", f"{adapter}:0.5")
        daemon = self.ready(*flags)
        self.complete(daemon)
        self.stop(daemon)

        moved = self.folder / "moved.gguf"
        adapter.rename(moved)
        daemon = self.ready("-np", 2, "--lora-scaled", f"{moved}:0.50")
        self.assertGreater(self.cached(daemon), 100, daemon.output)
        self.stop(daemon)

        for what, change in (("scale", ("-np", 2, "--lora-scaled", f"{moved}:1")),
                             ("none", ("-np", 2))):
            with self.subTest(what):
                daemon = self.ready(*change)
                self.says(daemon, "lora-scaled ")
                self.assertEqual(self.cached(daemon, "Other. " + LONG), 0)
                self.stop(daemon)
        harness.write_model(moved, b"retrained")
        daemon = self.ready("-np", 2, "--lora-scaled", f"{moved}:0.5")
        self.says(daemon, "lora-scaled ")
        self.assertEqual(self.cached(daemon), 0)
        self.stop(daemon)

    def test_a_file_that_cannot_be_read_keeps_everything_off(self):
        daemon = self.ready("-np", 2, "--lora", self.folder / "none.gguf")
        self.says(daemon, "none.gguf cannot be read")
        self.complete(daemon)
        self.stop(daemon)
        self.assertEqual(list(self.root.glob("*/*.kv")), [])


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "FAKE_LLAMA_SERVER")
