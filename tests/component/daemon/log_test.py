#!/usr/bin/env python3
"""What our log says, to people and to programs, and that the child's lines are left alone."""

import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import harness
from daemon import DaemonCase, LONG, OTHER

STAMP = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} "


class Log(DaemonCase):
    def ours(self, daemon):
        return [line for line in daemon.lines if "llama-hibernate" in line]

    def outcome(self, daemon):
        """The last line of a start."""
        self.says(daemon, "ready in ")
        (line,) = [line for line in daemon.lines if "ready in " in line]
        return line

    def test_a_start_ends_with_what_came_of_it(self):
        self.seed(LONG, OTHER)
        daemon = self.ready("-np", 2)
        self.assertRegex(
            self.outcome(daemon),
            STAMP + r"llama-hibernate info: ready in [\d.]+ m?s: 2 conversations, 1,\d\d\d tokens "
            r"restored \([\d.]+ m?s\); ready_ms=\d+ conversations=2 tokens=1\d\d\d restore_ms=\d+ "
            r"adopted=0 not_restored=0 skipped=0$")
        self.stop(daemon)

        changed = self.ready("-np", 2, "-ctk", "q8_0")
        self.assertIn(": nothing to restore, 2 skipped: cache-type-k differs; ready_ms=",
                      self.outcome(changed))
        self.stop(changed)

        none = self.ready("-np", 2, ours=["--hibernate-restore", "none"])
        self.assertIn(": nothing is restored; ", self.outcome(none))
        self.stop(none)

        refused = self.ready("-np", 2, FAKE_FAIL_RESTORE="all")
        self.assertIn(": none of 2 snapshots restored; ", self.outcome(refused))
        self.stop(refused)

    def test_a_start_where_nothing_is_kept_says_so(self):
        daemon = self.ready("-np", 2, "--embedding")
        self.assertIn(": nothing is saved or restored; ", self.outcome(daemon))

    def test_a_save_and_a_stop_have_their_figures(self):
        daemon = self.ready("-np", 2)
        self.complete(daemon)
        self.stop(daemon)
        (manifest,) = self.manifests()
        saved = next(line for line in daemon.lines if "saved slot" in line)
        for figure in (f"tokens={manifest['tokens']} ", f"bytes={manifest['bytes']} ",
                       f"snapshot={manifest['id']}", "slot=", "reason="):
            self.assertIn(figure, saved)
        self.assertRegex(daemon.output, r"stopping: signal 15 .*; signal=15\n")

    def test_json(self):
        daemon = self.ready("-np", 2, ours=["--hibernate-log-format", "json"])
        self.complete(daemon)
        self.stop(daemon)
        self.assertEqual(self.ours(daemon), [], "no line of ours is text")
        events = [json.loads(line) for line in daemon.lines if line.startswith("{")]
        self.assertGreater(len(events), 4)
        for event in events:
            self.assertRegex(event["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
            self.assertIn(event["level"], ("debug", "info", "warning", "error"))
            self.assertTrue(event["message"])
        (manifest,) = self.manifests()
        (saved,) = [event for event in events if event["message"].startswith("saved slot")]
        self.assertEqual((saved["tokens"], saved["bytes"], saved["snapshot"]),
                         (manifest["tokens"], manifest["bytes"], manifest["id"]))
        (ready,) = [event for event in events if event["message"].startswith("ready in")]
        self.assertEqual((ready["conversations"], ready["skipped"]), (0, 0))

    def test_what_ends_a_start_is_json_too(self):
        missing = self.launch(server=self.folder / "none", ours=["--hibernate-log-format", "json"])
        self.assertNotEqual(missing.wait()[0], 0)
        last = json.loads(missing.lines[-1])
        self.assertEqual(last["level"], "error")
        self.assertIn("none", last["message"])

    def run_to_file(self, *options, journal):
        """All that a failing start writes to a file that is the journal's, or is not."""
        file = self.folder / "stream"
        with open(file, "w") as stream:
            about = os.fstat(stream.fileno())
            named = f"{about.st_dev}:{about.st_ino}" if journal else "1:1"
            status = subprocess.run(
                [harness.program("HIBERNATE_BIN"), *options, "--hibernate-dir", self.root,
                 self.folder / "none", "-m", self.model],
                env=self.environment(JOURNAL_STREAM=named, LLAMA_HIBERNATE_NONSENSE=1),
                stderr=stream, timeout=60).returncode
        self.assertNotEqual(status, 0)
        return file.read_text().splitlines()

    def test_the_journal_gets_priorities_and_no_time(self):
        first, *_, last = self.run_to_file(journal=True)
        self.assertRegex(first, r"^<4>llama-hibernate warning: The variable LLAMA_HIBERNATE_NONSENSE")
        self.assertRegex(last, r"^<3>llama-hibernate error: ")
        wrong = self.run_to_file("--hibernate-drain", "soon", journal=True)
        self.assertRegex(wrong[-1], r'^<3>llama-hibernate error: --hibernate-drain is "soon"')
        first, *_, last = self.run_to_file(journal=False)
        self.assertRegex(first, STAMP + "llama-hibernate warning: ")
        self.assertRegex(last, r"^llama-hibernate: ")

    def test_the_childs_lines_pass_whatever_they_hold(self):
        script = self.folder / "server"
        said = b"<3>not ours\n\xff\xfe\x1b[31m {\"half\": \n" + b"x" * 9000 + b"\n"
        script.write_text(
            f"#!{sys.executable}\nimport sys, time\n"
            f"sys.stderr.buffer.write({said!r}); sys.stderr.flush()\n")
        script.chmod(0o755)
        done = subprocess.run(
            [harness.program("HIBERNATE_BIN"), "--hibernate-dir", self.root,
             "--hibernate-log-format", "json", script, "-m", self.model,
             "--port", str(harness.free_port())],
            env=self.environment(), stderr=subprocess.PIPE, timeout=60)
        self.assertIn(said, done.stderr)
        rest = done.stderr.replace(said, b"")
        for line in rest.splitlines():
            json.loads(line)


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "FAKE_LLAMA_SERVER")
