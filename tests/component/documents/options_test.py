#!/usr/bin/env python3
"""The manual pages, the completions and the README name every option that the program has, with its
default, and none that it has not. --help is printed from the program's own table."""

import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / "tests/support"))
import harness

OPTION = re.compile(r"--hibernate-([a-z]+(?:-[a-z]+)*)")
NOT_A_FILE_KEY = {"config", "print-config"}


def text_of(path):
    return (TOP / path).read_text(encoding="utf-8")


def help_of(*arguments):
    return subprocess.run([harness.program("HIBERNATE_BIN"), *arguments], text=True, check=True,
                          capture_output=True, timeout=60, env=harness.clean_environment()).stdout


def options():
    """What --help says of each option: {name: (value, default)}."""
    found = {}
    for name, value, more in re.findall(
            r"^  --hibernate-(\S+) ?(.*)\n((?:      .*\n)+)", help_of("--help"), re.MULTILINE):
        default = re.search(r"^      default: (.*)$", more, re.MULTILINE)
        found[name] = (value, default.group(1) if default else "")
    return found


def plain(default):
    """A default that is one word, which every document has to say; others it may say its own way."""
    return default if re.fullmatch(r"[0-9A-Za-z]+", default) else ""


class Documents(harness.Case):
    def setUp(self):
        super().setUp()
        self.options = options()
        self.assertGreater(len(self.options), 20)

    def check_names(self, found, what, without=frozenset()):
        self.assertEqual(set(self.options) - without - found, set(), f"missing in {what}")
        self.assertEqual(found - set(self.options), set(), f"no options, but in {what}")

    def check_defaults(self, told, what):
        for name, (_, default) in self.options.items():
            if plain(default) and name in told:
                with self.subTest(name, document=what):
                    self.assertRegex(told[name], rf"\b{re.escape(default)}\b")

    def test_the_manual_page_of_the_program(self):
        page = text_of("packaging/man/llama-hibernate.1")
        told = {name: text for name, text in re.findall(
            r"^\.It Fl -hibernate-(\S+)(.*?)(?=^\.It |^\.El)", page, re.MULTILINE | re.DOTALL)}
        self.check_names(set(told), "llama-hibernate(1)")
        self.check_defaults(told, "llama-hibernate(1)")

    def test_the_manual_page_of_the_file(self):
        page = text_of("packaging/man/llama-hibernate.5")
        told = {name: text for name, text in re.findall(
            r"^\.It Cm (\S+) :(.*?)(?=^\.It |^\.El)", page, re.MULTILINE | re.DOTALL)}
        self.check_names(set(told), "llama-hibernate(5)", NOT_A_FILE_KEY)
        self.check_defaults(told, "llama-hibernate(5)")

    def test_the_table_of_the_readme(self):
        told = {name: text for name, text in re.findall(
            r"^\| `--hibernate-([a-z-]+)[^`]*` \|(.*)$", text_of("README.md"), re.MULTILINE)}
        self.check_names(set(told), "the README's table")
        self.check_defaults(told, "the README's table")

    def test_no_document_names_another_option(self):
        for path in ("README.md", "docs/architecture.md", "CONTRIBUTING.md",
                     *(str(each.relative_to(TOP)) for each in (TOP / "config").iterdir())):
            with self.subTest(path):
                named = {each for each in OPTION.findall(text_of(path))}
                self.assertEqual(named - set(self.options), set())

    def test_completions(self):
        for path, pattern in (("llama-hibernate.bash", OPTION), ("_llama-hibernate", OPTION),
                              ("llama-hibernate.fish", re.compile(r"-l hibernate-([a-z-]+)"))):
            with self.subTest(path):
                self.check_names(
                    set(pattern.findall(text_of(f"packaging/completions/{path}"))), path)

    def test_completions_offer_the_words_that_an_option_takes(self):
        for name, (value, _) in self.options.items():
            if "|" not in value:
                continue
            words = value.replace("|", " ")
            for path in ("llama-hibernate.bash", "_llama-hibernate", "llama-hibernate.fish"):
                with self.subTest(name, completion=path):
                    lines = [line for line in text_of(f"packaging/completions/{path}").splitlines()
                             if re.search(rf"hibernate-{name}\b(?!-)", line) and words in line]
                    self.assertTrue(lines, f"none offers {words}")

    def test_store_commands(self):
        commands = set(re.findall(r"^  ([a-z]+) ", help_of("store", "--help").split("ubcommands:")[1],
                                  re.MULTILINE))
        self.assertIn("release", commands)
        page = text_of("packaging/man/llama-hibernate.1")
        for command in commands:
            with self.subTest(command):
                self.assertTrue(re.search(rf"(?m)^\.It Cm {command}\b", page))
                self.assertIn(f"llama-hibernate store {command}", text_of("README.md"))


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN")
