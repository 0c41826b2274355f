#!/usr/bin/env python3
"""The metrics: what is counted, that Prometheus' own parser takes it, and that the dashboard shows nothing else."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import harness
from daemon import DaemonCase, LONG, OTHER
from harness import get, post

parser = harness.module("prometheus_client.parser", "python3-prometheus-client")

DASHBOARD = pathlib.Path(__file__).resolve().parents[3] / "config" / "grafana-dashboard.json"
METRICS = "/hibernate/metrics"


class Metrics(DaemonCase):
    def scrape(self, daemon):
        """By name and labels; the text is parsed as Prometheus' own client does it."""
        answer = get(daemon.port, METRICS)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        self.text = answer.body.decode()
        samples = {}
        for family in parser.text_string_to_metric_families(self.text):
            for sample in family.samples:
                key = (sample.name.removeprefix("llama_hibernate_"), *sorted(sample.labels.values()))
                self.assertNotIn(key, samples)
                samples[key] = sample.value
        return samples

    def test_a_life_is_counted(self):
        self.seed(LONG, OTHER)
        daemon = self.ready("-np", 2)
        before = self.scrape(daemon)
        self.assertEqual(before["restores_total", "restored"], 2)
        self.assertEqual(before["restore_duration_seconds_count",], 2)
        self.assertEqual(before["restored_tokens_total",], sum(self.snapshot_tokens()))
        self.assertEqual(before["state", "ready"], 1)
        self.assertEqual(before["saves_total", "idle", "saved"], 0)
        timings = self.go_on(daemon, LONG)["timings"]
        harness.wait_until(lambda: self.scrape(daemon)["saves_total", "idle", "saved"] == 1,
                           what="a save is counted")
        after = harness.wait_until(
            lambda: (s := self.scrape(daemon))["restored_tokens_reused_total",] and s,
            what="a reuse is counted")
        self.assertEqual(after["reused_tokens_total",], timings["cache_n"])
        self.assertEqual(after["computed_tokens_total",], timings["prompt_n"])
        self.assertEqual(after["save_duration_seconds_count",], 1)
        self.assertGreaterEqual(after["gate_wait_seconds_count",], 1)
        self.assertGreater(after["saved_bytes_total",], 1000)
        self.assertGreaterEqual(after["store_bytes",], after["saved_bytes_total",])
        self.assertEqual(after["store_bound_bytes",], 16 << 30)
        self.assertGreaterEqual(after["snapshots",], 2)
        # /health, by wait_ready, and the completion; not ours.
        self.assertEqual(after["requests_total", "2xx"] - before["requests_total", "2xx"], 1)
        self.assertEqual(after["requests_in_flight",], 0)
        self.assertEqual(after["connections",], 1)

    def test_failures_are_counted(self):
        daemon = self.ready("-np", 2, FAKE_FAIL_SAVE="all")
        self.complete(daemon)
        harness.wait_until(lambda: self.scrape(daemon)["saves_total", "failed", "idle"] == 1)
        self.assertEqual(post(daemon.port, "/slots/0?action=save", {}).status, 403)
        self.assertEqual(self.scrape(daemon)["requests_total", "4xx"], 1)

    def test_evictions_are_counted(self):
        self.seed(LONG)
        daemon = self.ready("-np", 2, ours=["--hibernate-max-disk", "80KiB",
                                            "--hibernate-min-free", "0"])
        self.complete(daemon, OTHER)
        harness.wait_until(
            lambda: self.scrape(daemon)["evictions_total", "least_recent"] == 1,
            what="an eviction is counted")

    def test_while_it_loads(self):
        daemon = self.launch("-np", 2, FAKE_LOAD_MS=60000)
        harness.wait_until(lambda: harness.try_get(daemon.port, METRICS))
        before = self.scrape(daemon)
        self.assertEqual((before["state", "loading"], before["state", "ready"]), (1, 0))
        self.assertEqual(get(daemon.port, "/props").status, 503)
        self.assertEqual(self.scrape(daemon)["requests_total", "5xx"],
                         before["requests_total", "5xx"] + 1)

    def test_the_childs_own_are_left_alone(self):
        daemon = self.ready("-np", 2, "--metrics")
        get(daemon.port, "/metrics")
        self.assertIn("/metrics", [e["target"] for e in self.events("request")])

    @unittest.skipUnless(shutil.which("promtool"), "no promtool (Debian: prometheus)")
    def test_promtool_has_nothing_to_say(self):
        daemon = self.ready("-np", 2)
        self.scrape(daemon)
        said = subprocess.run(["promtool", "check", "metrics"], input=self.text, text=True,
                              capture_output=True, timeout=60)
        self.assertEqual((said.returncode, said.stdout + said.stderr), (0, ""))

    def test_the_dashboard_shows_what_there_is(self):
        daemon = self.ready("-np", 2)
        self.scrape(daemon)
        there = set(re.findall(r"^(llama_hibernate_\w+)", self.text, re.M))
        dashboard = json.loads(DASHBOARD.read_text())
        asked = set()
        for panel in dashboard["panels"]:
            for target in panel.get("targets", []):
                asked |= set(re.findall(r"\bllama_hibernate_\w+", target["expr"]))
        self.assertGreater(len(asked), 10)
        self.assertEqual(asked - there, set())


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "FAKE_LLAMA_SERVER")
