#!/usr/bin/env python3
"""The completions of bash, zsh and fish, asked of the shells themselves."""

import os
import pathlib
import pty
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / "tests/support"))
import harness

COMPLETIONS = TOP / "packaging/completions"
BASH_LIBRARY = pathlib.Path("/usr/share/bash-completion/bash_completion")
IDS = ["0123456789abcdef", "fedcba9876543210"]
STORE_COMMANDS = {"ls", "show", "verify", "gc", "rm", "pin", "unpin", "release"}


class Completions:
    """What every shell has to offer; words(line) is what it offers at the end of a line."""

    def setUp(self):
        super().setUp()
        (self.folder / "bin").mkdir()
        (self.folder / "bin/llama-hibernate").symlink_to(harness.program("HIBERNATE_BIN"))
        self.work = self.folder / "work"
        self.work.mkdir()
        (self.work / "model.gguf").touch()
        (self.work / "a-note.txt").touch()
        self.root = self.folder / "store"
        kept = self.root / "tiny-0a1b2c3d"
        kept.mkdir(parents=True)
        (kept / "lock").touch()
        for name in IDS:  # without a readable manifest: even these can be removed
            (kept / f"{name}.kv").write_bytes(b"state")
            (kept / f"{name}.json").write_bytes(b"{")

    def surroundings(self):
        return self.environment(
            LLAMA_HIBERNATE_DIR=self.root,
            PATH=f"{self.folder / 'bin'}:{os.environ['PATH']}", TERM="dumb", LC_ALL="C.UTF-8")

    def test_options(self):
        self.assertEqual(
            set(self.words("llama-hibernate --hibernate-restore")),
            {"--hibernate-restore", "--hibernate-restore-budget", "--hibernate-restore-memory"})
        self.assertIn("--hibernate-drain", self.words("llama-hibernate -m model.gguf --hibernate-dr"))

    def test_values_of_an_option(self):
        self.assertEqual(set(self.words("llama-hibernate --hibernate-restore ")),
                         {"all", "slots", "none"})
        self.assertEqual(set(self.words("llama-hibernate -m x --hibernate-log-level de")), {"debug"})

    def test_commands(self):
        self.assertLessEqual(STORE_COMMANDS, set(self.words("llama-hibernate store ")))
        self.assertEqual(set(self.words("llama-hibernate sto")), {"store"})

    def test_snapshots(self):
        for command in ("show", "verify", "rm", "pin", "unpin", "release"):
            with self.subTest(command):
                self.assertEqual(set(self.words(f"llama-hibernate store {command} ")), set(IDS))
        self.assertEqual(self.words("llama-hibernate store show 0123"), [IDS[0]])
        self.assertEqual(set(self.words("llama-hibernate store gc ")) & set(IDS), set())

    def test_snapshots_of_the_store_that_the_line_names(self):
        other = self.folder / "empty"
        other.mkdir()
        for line in (f"store --hibernate-dir {other} show ", f"store --hibernate-dir={other} show "):
            with self.subTest(line):
                self.assertEqual(set(self.words(f"llama-hibernate {line}")) & set(IDS), set())

    def test_models(self):
        self.assertEqual(self.words("llama-hibernate -m mod"), ["model.gguf"])
        self.assertEqual(self.words("llama-hibernate -m ")[0], "model.gguf")


class Bash(Completions, harness.Case):
    def words(self, line):
        words = shlex.split(line) + ([""] if line.endswith(" ") else [])
        if "=" in line:  # as readline's word breaks do it
            words = [part for word in words for part in
                     ((word.partition("=") if word.startswith("--") else (word,))) if part or word == ""]
        script = f"""
            . {BASH_LIBRARY}
            . {COMPLETIONS}/llama-hibernate.bash
            compopt() {{ :; }}
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_TYPE=9 COMP_KEY=9
            _llama_hibernate "$1" "${{@: -1}}" "${{@: -2:1}}"
            printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        done = subprocess.run(
            ["bash", "--norc", "-c", script, "bash", *words], cwd=self.work,
            env={**self.surroundings(), "COMP_LINE": line, "COMP_POINT": str(len(line))},
            capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()


class Fish(Completions, harness.Case):
    def words(self, line):
        done = subprocess.run(
            ["fish", "--no-config", "-c",
             f"source {COMPLETIONS}/llama-hibernate.fish; complete -C {shlex.quote(line)}"],
            cwd=self.work, env=self.surroundings(), capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stderr, "")
        return [offer.split("\t")[0] for offer in done.stdout.splitlines()]


class Zsh(Completions, harness.Case):
    """zsh completes in its line editor only, so it gets a terminal, and a widget that writes down
    what the completion adds instead of adding it."""

    SET_UP = """
        PS1= PS2=
        fpath=(%(completions)s $fpath)
        autoload -Uz compinit && compinit -u -d %(dump)s
        zstyle ':completion:*' menu no
        zstyle ':completion:*' insert-tab false
        compadd() {
            local -a offered
            if [[ ${@[(I)-(O|A|D)]} -gt 0 ]]; then builtin compadd "$@"; return; fi
            builtin compadd -O offered "$@"
            (( $#offered )) && print -rl -- "${offered[@]}" >>%(out)s
            builtin compadd "$@"
        }
        note() { zle complete-word; print -- done >>%(out)s; BUFFER=; }
        zle -N note; bindkey '^X' note
        print -- done >%(out)s
    """

    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.shared.cleanup)

    def setUp(self):
        super().setUp()
        self.out = self.folder / "offered"
        set_up = self.folder / "set-up.zsh"
        set_up.write_text(self.SET_UP % {
            "completions": COMPLETIONS, "out": self.out,
            "dump": pathlib.Path(self.shared.name) / "zcompdump"})  # what compinit finds takes a while
        self.terminal, inside = pty.openpty()
        self.addCleanup(os.close, self.terminal)
        zsh = subprocess.Popen(["zsh", "-f", "-i"], cwd=self.work, env=self.surroundings(),
                               stdin=inside, stdout=inside, stderr=inside, start_new_session=True)
        self.addCleanup(zsh.wait)
        self.addCleanup(zsh.kill)
        os.close(inside)
        self.say(f" . {set_up}\n")

    def words(self, line):
        self.out.unlink()
        return self.say(line + "\x18")

    def say(self, text):
        """Types it; returns what zsh wrote down until it was done. The terminal is emptied meanwhile,
        so that zsh never blocks on it."""
        os.write(self.terminal, text.encode())
        deadline = time.monotonic() + harness.patience(30)
        while not (self.out.exists() and self.out.read_text().endswith("done\n")):
            self.assertLess(time.monotonic(), deadline, "zsh did not get there")
            if select.select([self.terminal], [], [], 0.05)[0]:
                os.read(self.terminal, 65536)
        return self.out.read_text().split("\n")[:-2]


if __name__ == "__main__":
    missing = [name for name in ("bash", "zsh", "fish") if not shutil.which(name)]
    if not BASH_LIBRARY.exists():
        missing.append("bash-completion")
    if missing:
        print(f"skipped: there is no {', '.join(missing)} (packaging/install-packages test)")
        sys.exit(harness.SKIPPED)
    harness.main("HIBERNATE_BIN")
