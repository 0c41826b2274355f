#!/usr/bin/env python3
"""What holds and where it comes from; and that the examples in config/ are what they say."""

import json
import pathlib
import re
import subprocess
import sys

SOURCES = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(SOURCES / "tests" / "support"))
import harness
from daemon import DaemonCase

CONFIG = SOURCES / "config"


class Configuration(DaemonCase):
    def run_ours(self, *arguments, status=0, **environment):
        done = subprocess.run([harness.program("HIBERNATE_BIN"), *map(str, arguments)],
                              env=self.environment(**environment), capture_output=True, text=True,
                              timeout=60)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def settings(self, *arguments, **environment):
        """The values as {name: (value, where from)}."""
        shown = self.run_ours(*arguments, "--hibernate-print-config", **environment).stdout
        return {name: (value, source) for name, value, source in
                (re.split(r"  +", line, maxsplit=2) for line in shown.splitlines())}

    def options_of_the_file(self):
        """As the help lists them."""
        return re.findall(r'file: "([a-z-]+)"', self.run_ours("--help").stdout)

    def test_every_value_is_shown_with_where_it_comes_from(self):
        file = self.folder / "own.json"
        file.write_text('{"max-disk": "1GiB" /* small */, "drain": 3}')
        shown = self.settings("--hibernate-config", file, "--hibernate-min-free", 0, "-m", "a",
                              LLAMA_HIBERNATE_DRAIN="2s")
        self.assertEqual(sorted(shown), sorted([*self.options_of_the_file(), "config"]))
        self.assertEqual(shown["max-disk"], ("1GiB", f"file {file}"))
        self.assertEqual(shown["drain"], ("2s", "environment LLAMA_HIBERNATE_DRAIN"))
        self.assertEqual(shown["min-free"], ("0", "command line"))
        self.assertEqual(shown["config"], (str(file), "command line"))
        self.assertEqual(shown["stop-budget"], ("8s", "default"))
        self.assertEqual(shown["dir"], (f"{self.folder}/.cache/llama-hibernate", "default"))
        self.assertEqual(self.events("start"), [], "nothing was run")

    def test_what_is_wrong_is_said_instead(self):
        done = self.run_ours("--hibernate-print-config", "--hibernate-drain", "soon", status=2)
        self.assertIn("--hibernate-drain", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_the_example_changes_nothing_and_names_every_option(self):
        example = CONFIG / "config.example.json"
        plain = self.settings()
        taken = self.settings("--hibernate-config", example)
        for name, (value, source) in taken.items():
            if source.startswith("file "):
                self.assertEqual(value, plain[name][0], name)
        named = re.findall(r'^ *(?:// )?"([a-z-]+)": ', example.read_text(), re.M)
        self.assertEqual(sorted(named), sorted(self.options_of_the_file()))
        # Those without a fixed default are comments, and are right as well.
        all_of_it = self.folder / "all.json"
        all_of_it.write_text(re.sub(r'^( *)// (?=".*": .*,$)', r"\1", example.read_text(), flags=re.M))
        taken = self.settings("--hibernate-config", all_of_it)
        self.assertEqual({name for name, (_, source) in taken.items() if source == "default"}, set())

    def test_the_example_for_a_service(self):
        """Read as systemd does: NAME=the rest of the line."""
        variables = {}
        for line in (CONFIG / "llama-hibernate.env.example").read_text().splitlines():
            if (named := line.removeprefix("#")) and re.match(r"[A-Z_]+=", named):
                name, value = named.split("=", 1)
                variables[name] = value
        ours = {name: value for name, value in variables.items()
                if name.startswith("LLAMA_HIBERNATE_")}
        self.assertIn("LLAMA_HIBERNATE_STOP_BUDGET", ours)
        done = self.run_ours("--hibernate-print-config", **ours)
        self.assertEqual(done.stderr, "", "no variable is unknown")
        self.assertIn("LLAMA_ARG_MODEL", variables)
        self.assertRegex(variables["ARGS"], r'^".*"$')

    def test_the_example_for_llama_swap(self):
        yaml = harness.module("yaml", "python3-yaml")
        example = yaml.safe_load((CONFIG / "llama-swap.example.yaml").read_text())
        self.assertGreater(example["healthCheckTimeout"], 15)
        for model in example["models"].values():
            words = model["cmd"].split()
            self.assertEqual(words[0], "llama-hibernate")
            self.assertIn("${PORT}", words)
            if "--hibernate-stop-budget" in words:
                budget = words[words.index("--hibernate-stop-budget") + 1]
                self.assertLess(int(budget.removesuffix("s")), example["unloadTimeout"])


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "FAKE_LLAMA_SERVER")
