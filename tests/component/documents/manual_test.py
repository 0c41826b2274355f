#!/usr/bin/env python3
"""The manual pages are clean, for mandoc and for man alike."""

import pathlib
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / "tests/support"))
import harness

PAGES = sorted((TOP / "packaging/man").iterdir())


class Manual(harness.Case):
    def test_there_are_two(self):
        self.assertEqual([page.name for page in PAGES], ["llama-hibernate.1", "llama-hibernate.5"])

    def test_mandoc_has_nothing_to_say(self):
        for page in PAGES:
            with self.subTest(page.name):
                done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page],
                                      capture_output=True, text=True, timeout=60)
                self.assertEqual((done.stdout, done.returncode), ("", 0))

    def test_man_has_nothing_to_say(self):
        for page in PAGES:
            with self.subTest(page.name):
                done = subprocess.run(
                    ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page],
                    capture_output=True, text=True, timeout=60,
                    env=self.environment(LC_ALL="C.UTF-8", MANROFFSEQ="", MANWIDTH="80"))
                self.assertEqual((done.stderr, done.returncode), ("", 0))
                self.assertIn("llama", done.stdout)


if __name__ == "__main__":
    missing = [name for name in ("mandoc", "man") if not shutil.which(name)]
    if missing:
        print(f"skipped: there is no {', '.join(missing)} (packaging/install-packages test)")
        sys.exit(harness.SKIPPED)
    harness.main()
