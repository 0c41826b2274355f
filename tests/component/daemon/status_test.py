#!/usr/bin/env python3
"""Our own paths, and the command that shows them: in every state, behind the child's keys, and without the child's help."""

import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import harness
from daemon import DaemonCase, LONG, OTHER
from harness import get

STATUS = "/hibernate/status"


class StatusCase(DaemonCase):
    def status(self, daemon, **options):
        answer = get(daemon.port, STATUS, **options)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.headers["Content-Type"], "application/json; charset=utf-8")
        return answer.json

    def listening(self, daemon):
        harness.wait_until(lambda: harness.try_get(daemon.port, "/props"), what="the port is open")

    def command(self, *arguments, status=0, **environment):
        done = subprocess.run(
            [harness.program("HIBERNATE_BIN"), "status", *map(str, arguments)],
            env=self.environment(**environment), capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.complaints = done.stderr
        return done.stdout


class States(StatusCase):
    def test_while_it_loads(self):
        daemon = self.launch("-np", 2, FAKE_LOAD_MS=60000)
        self.listening(daemon)
        told = harness.wait_until(
            lambda: (s := self.status(daemon))["store"] and s["child"] and s)
        self.assertEqual(told["state"], "loading")
        endpoint = told["child"].pop("endpoint")
        self.assertRegex(endpoint, r"^127\.0\.0\.1:\d+$")
        self.assertEqual(told["child"], {"pid": self.child(daemon), "build": None, "address": "tcp"})
        self.assertIn(f", on {endpoint}\n", self.command(f"http://127.0.0.1:{daemon.port}"))
        self.assertEqual(told["slots"], [])
        self.assertEqual(told["store"]["bound"], 16 << 30)

    def test_while_it_restores(self):
        self.seed(LONG, OTHER)
        daemon = self.launch("-np", 2, FAKE_RESTORE_MS=3000)
        self.wait_for_action("restore")
        begun = time.monotonic()
        told = self.status(daemon)
        self.assertLess(time.monotonic() - begun, 2)
        self.assertEqual(told["state"], "restoring")
        self.assertEqual(len(told["snapshots"]), 2)

    def test_when_it_is_ready(self):
        daemon = self.ready("-np", 2)
        tokens = self.complete(daemon)["usage"]["total_tokens"] - 1
        self.wait_for_action("save")
        told = harness.wait_until(
            lambda: (s := self.status(daemon))["slots"][0]["state"] == "saved" and
            s["snapshots"] and s, what="a saved slot")
        self.assertEqual(told["state"], "ready")
        self.assertGreaterEqual(told["since"]["seconds"], 0)
        self.assertRegex(told["since"]["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(told["child"]["build"], "b11669-fake")
        self.assertEqual(told["model"]["path"], self.model)
        snapshot, = told["snapshots"]
        self.assertEqual(told["slots"][0], {"id": 0, "tokens": tokens, "state": "saved",
                                            "snapshot": snapshot["id"]})
        self.assertEqual(told["slots"][1]["state"], "empty")
        self.assertEqual((snapshot["tokens"], snapshot["state"], snapshot["saved_because"]),
                         (tokens, "ready", "idle"))
        self.assertEqual(told["store"]["root"], str(self.root))
        self.assertGreaterEqual(told["store"]["bytes"], snapshot["bytes"])
        self.assertIsNone(told["last_stop"])
        self.assertTrue(any("saved slot 0" in e["text"] for e in told["events"]), told["events"])
        self.assertNotIn("brown fox", json.dumps(told))

    def test_after_a_restart(self):
        self.seed(LONG, OTHER)
        daemon = self.ready("-np", 2)
        told = self.status(daemon)
        self.assertEqual((told["restore"]["restored"], told["restore"]["planned"]), (2, 2))
        self.assertEqual(told["last_stop"]["conversations"], 1)  # the other was saved before
        self.assertFalse(told["last_stop"]["cut_short"])
        self.assertEqual([s["state"] for s in told["slots"]], ["restored", "restored"])
        self.assertEqual(sorted(s["snapshot"] for s in told["slots"]),
                         sorted(s["id"] for s in told["snapshots"]))
        self.assertEqual(sorted(s["tokens"] for s in told["slots"]), self.snapshot_tokens())
        # The next turn finds what was restored.
        self.go_on(daemon, LONG)
        told = harness.wait_until(
            lambda: (s := self.status(daemon))["reuse"]["restored_tokens_reused"] and s,
            what="the reuse is seen")
        self.assertGreaterEqual(told["reuse"]["prompt_tokens_reused"],
                                told["reuse"]["restored_tokens_reused"])
        self.assertGreater(told["reuse"]["restored_tokens_reused"], 100)

    def test_what_is_skipped_is_told(self):
        self.seed(LONG)
        daemon = self.ready("-np", 2, FAKE_BUILD="b2-other")
        told = self.status(daemon)["restore"]
        self.assertEqual((told["restored"], told["skipped"]), (0, 1))
        self.assertIn("build b11669-fake, now b2-other", told["skipped_because"])

    def test_while_it_drains(self):
        daemon = self.ready("-np", 2, ours=["--hibernate-drain", "3s"], FAKE_TOKEN_MS=50)
        with socket.create_connection(("127.0.0.1", daemon.port)) as early:
            stream = harness.Stream(daemon.port, "/completion",
                                    {"prompt": "x", "n_predict": 200, "stream": True})
            stream.read_until(b"data:")
            daemon.send(signal.SIGTERM)
            self.says(daemon, "in flight")
            early.sendall(f"GET {STATUS} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            answer = http.client.HTTPResponse(early)
            answer.begin()
            self.assertEqual(answer.status, 200)
            self.assertEqual(json.loads(answer.read())["state"], "draining")
            self.assertEqual(answer.headers["Connection"], "close")
        stream.close()
        self.ends(daemon, 8, 0)

    def test_without_a_store(self):
        daemon = self.ready("--embedding")
        told = self.status(daemon)
        self.assertEqual((told["store"], told["snapshots"]), (None, []))
        self.assertIn("nothing is saved or restored: with --embedding", told["not_saved"])

    def assert_not_saved(self, daemon, *parts):
        """It is told why in JSON, at the top of the table, and in the log."""
        why = self.status(daemon)["not_saved"]
        shown = self.command(f"http://127.0.0.1:{daemon.port}")
        self.assertRegex(shown.splitlines()[0], ": ready, for ")
        self.assertEqual(shown.splitlines()[1], f"not saved {why}")
        for part in ("conversations are served, but neither saved nor restored: ", *parts):
            self.assertIn(part, why)
        self.says(daemon, why)

    def test_a_store_that_cannot_be_used(self):
        self.root.write_text("a file")
        daemon = self.ready("-np", 2)
        self.complete(daemon)
        self.assert_not_saved(daemon, str(self.root), "Not a directory; make it writable, or give",
                              "--hibernate-dir")

    def test_a_second_daemon_of_the_same_model(self):
        first = self.ready("-np", 2)
        second = self.ready("-np", 2, ours=["--hibernate-restore-budget", "100ms"])
        self.assert_not_saved(second, "another llama-hibernate of this model runs", str(self.root))
        self.assertIsNone(self.status(first)["not_saved"])
        self.assertNotIn("not saved", self.command(f"http://127.0.0.1:{first.port}"))

    def test_a_router(self):
        self.assert_not_saved(self.ready(model=False), "no model is named")

    def test_a_conversation_that_is_too_short(self):
        daemon = self.ready("-np", 2)
        self.complete(daemon, "Hello.")
        told = harness.wait_until(
            lambda: (s := self.status(daemon))["slots"] and s["slots"][0]["tokens"] and
            s["slots"][0]["state"] != "busy" and s, what="a slot that is idle")
        self.assertEqual(told["slots"][0]["state"], "too short to save")
        self.assertEqual(told["min_tokens"], 256)
        shown = self.command(f"http://127.0.0.1:{daemon.port}")
        self.assertRegex(shown, r"(?m)^ *0 +\d+ +- +too short to save$")

    def test_restores_of_several_starts_of_llama_server_are_added_up(self):
        self.seed(LONG, OTHER)
        daemon = self.ready("-np", 2, ours=["--hibernate-on-exit", "restart"])
        tokens = self.status(daemon)["restore"]["tokens"]
        os.kill(self.child(daemon), signal.SIGKILL)
        self.says(daemon, "started again in")
        told = harness.wait_until(
            lambda: (s := self.status(daemon))["reuse"]["restored_tokens"] > tokens and s,
            what="a second restore")
        self.assertEqual(told["reuse"]["restored_tokens"], 2 * tokens)
        self.assertEqual(told["restore"]["tokens"], tokens)
        shown = self.command(f"http://127.0.0.1:{daemon.port}")
        self.assertIn(f"0 of {2 * tokens} tokens that were restored since llama-hibernate started\n",
                      shown)
        self.assertRegex(shown, rf"2 of 2 snapshots, {tokens} tokens in .*, at the last start of")

    def test_a_stop_that_was_cut_short_is_remembered(self):
        daemon = self.ready("-np", 1, FAKE_SAVE_MS=60000)
        self.complete(daemon)
        daemon.send(signal.SIGTERM)
        self.wait_for_action("save")
        time.sleep(0.4)  # a second signal that was meant comes later than one that was passed on
        daemon.send(signal.SIGTERM)
        self.ends(daemon, 8, 0)
        daemon = self.ready("-np", 1)
        stop = self.status(daemon)["last_stop"]
        self.assertEqual((stop["conversations"], stop["not_saved"]), (0, 1))
        self.assertTrue(stop["cut_short"])


class Access(StatusCase):
    def test_the_childs_keys_are_ours(self):
        keys = self.folder / "keys"
        keys.write_text("# ours\nfrom-file\n")
        daemon = self.launch("-np", 2, "--api-key", "one,two", "--api-key-file", keys,
                             FAKE_LOAD_MS=60000)
        harness.wait_until(lambda: harness.try_get(daemon.port, "/health"))
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"X-Api-Key": "wrong"},
                        {"Authorization": "Bearer wrong", "X-Api-Key": "one"},
                        {"Authorization": "bearer one"}):
            for path in (STATUS, "/hibernate/metrics", "/hibernate/events", "/hibernate/nothing"):
                with self.subTest(headers=headers, path=path):
                    answer = get(daemon.port, path, headers=headers)
                    self.assertEqual(answer.status, 401)
                    self.assertEqual(answer.json["error"]["type"], "authentication_error")
                    self.assertEqual(answer.json["error"]["message"], "Invalid API Key")
        for headers in ({"Authorization": "Bearer one"}, {"Authorization": "Bearer two"},
                        {"Authorization": "Bearer from-file"}, {"X-Api-Key": "one"}):
            with self.subTest(headers=headers):
                self.status(daemon, headers=headers)

    def test_a_key_from_the_environment(self):
        daemon = self.launch("-np", 2, FAKE_LOAD_MS=60000, LLAMA_API_KEY="secret")
        harness.wait_until(lambda: harness.try_get(daemon.port, "/health"))
        self.assertEqual(get(daemon.port, STATUS).status, 401)
        self.status(daemon, headers={"X-Api-Key": "secret"})

    def test_other_methods_and_paths(self):
        daemon = self.ready("-np", 2)
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            with self.subTest(method):
                answer = harness.request(daemon.port, method, STATUS, "{}")
                self.assertEqual(answer.status, 405)
                self.assertEqual(answer.headers["Allow"], "GET, HEAD")
                self.assertFalse([h for h in answer.headers if h.startswith("Access-Control")])
        answer = get(daemon.port, "/hibernate/nothing")
        self.assertEqual((answer.status, answer.json["error"]["code"],
                          answer.json["error"]["type"]), (404, 404, "not_found_error"))
        answer = harness.request(daemon.port, "HEAD", STATUS)
        self.assertEqual((answer.status, answer.body), (200, b""))
        self.assertGreater(int(answer.headers["Content-Length"]), 100)
        answer = get(daemon.port, "/hibernate")
        self.assertEqual((answer.status, answer.headers["Location"]), (308, "hibernate/"))

    def test_nothing_goes_to_the_child_however_it_is_written(self):
        daemon = self.ready("-np", 2)
        before = len(self.events("request"))
        for target in (STATUS, "//hibernate/status", "/hibernate/./status?x=1",
                       "/%68ibernate/status", "/v1/../hibernate/status", "/hibernate//status",
                       f"http://elsewhere{STATUS}"):
            with self.subTest(target):
                self.assertEqual(get(daemon.port, target).status, 200)
        get(daemon.port, "/hibernate/%2e%2e/hibernate/nothing")
        harness.post(daemon.port, "/hibernate/slots/0?action=erase", {})
        self.assertEqual(len(self.events("request")), before)

    def test_a_prefix_stands_before_them(self):
        daemon = self.launch("-np", 2, "--api-prefix", "/foo")
        harness.wait_ready(daemon.port, target="/foo/health", process=daemon)
        self.assertEqual(get(daemon.port, "/foo" + STATUS).json["state"], "ready")
        self.assertEqual(get(daemon.port, STATUS).status, 404)  # the child's answer
        self.assertIn(STATUS, [e["target"] for e in self.events("request")])

    def test_a_connection_stays_for_further_requests(self):
        daemon = self.ready("-np", 2)
        connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=10)
        for method, target in (("GET", STATUS), ("POST", STATUS), ("GET", "/props"),
                               ("GET", STATUS)):
            connection.request(method, target, "x=1" if method == "POST" else None)
            answer = connection.getresponse()
            answer.read()
            self.assertIn(answer.status, (200, 405))
        connection.close()


class Activity(StatusCase):
    def test_watching_neither_puts_off_a_save_nor_keeps_the_child_awake(self):
        daemon = self.ready("-np", 2, "--sleep-idle-seconds", 4,
                            ours=["--hibernate-idle-save", "1500ms"])
        self.complete(daemon)
        begun = time.monotonic()
        while not self.actions("save"):
            self.status(daemon)
            self.assertLess(time.monotonic() - begun, harness.patience(4))
            time.sleep(0.05)
        harness.wait_until(
            lambda: self.status(daemon) and get(daemon.port, "/props").json["is_sleeping"], 10,
            "the child sleeps")
        slept = len(self.events("request"))
        for _ in range(5):
            self.status(daemon)
        self.assertEqual(len(self.events("request")), slept)


class Events(StatusCase):
    def open(self, daemon, path="/hibernate/events"):
        stream = socket.create_connection(("127.0.0.1", daemon.port), timeout=10)
        self.addCleanup(stream.close)
        stream.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        reader = stream.makefile("rb")
        self.addCleanup(reader.close)
        self.assertEqual(reader.readline(), b"HTTP/1.1 200 OK\r\n")
        while (line := reader.readline()) != b"\r\n":
            if line.lower().startswith(b"content-type"):
                self.assertEqual(line.split()[1], b"text/event-stream")
        return reader

    def next(self, reader):
        self.assertEqual(reader.readline(), b"event: status\n")
        data = reader.readline()
        self.assertTrue(data.startswith(b"data: {"), data)
        self.assertEqual(reader.readline(), b"\n")
        return json.loads(data[6:])

    def test_there_is_one_at_once_and_one_for_each_change(self):
        daemon = self.ready("-np", 2)
        reader = self.open(daemon)
        told = self.next(reader)
        self.assertEqual(told["state"], "ready")
        self.complete(daemon)
        while told["slots"] == [] or told["slots"][0]["state"] != "saved":
            told = self.next(reader)
        while not told["snapshots"]:
            told = self.next(reader)
        self.assertEqual(told["snapshots"][0]["id"], told["slots"][0]["snapshot"])

    def test_it_ends_at_once_at_a_stop_and_holds_nothing_up(self):
        daemon = self.ready("-np", 2, ours=["--hibernate-drain", "5s"])
        reader = self.open(daemon)
        self.next(reader)
        begun = time.monotonic()
        daemon.send(signal.SIGTERM)
        self.assertEqual(reader.read(), b"")
        self.assertLess(time.monotonic() - begun, 1)
        took = self.ends(daemon, 3, 0)
        self.assertLess(took, 3)
        self.assertNotIn("in flight", daemon.output)

    def test_it_counts_as_a_connection(self):
        daemon = self.ready("-np", 2, ours=["--hibernate-max-connections", "2"])
        readers = [self.open(daemon), self.open(daemon)]
        for reader in readers:
            self.next(reader)
        self.assertEqual(get(daemon.port, "/health").status, 503)

    def test_it_is_there_while_the_child_loads(self):
        daemon = self.launch("-np", 2, FAKE_LOAD_MS=1500)
        self.listening(daemon)
        reader = self.open(daemon)
        states = []
        while "ready" not in states:
            states.append(self.next(reader)["state"])
        self.assertEqual(states[0], "loading")


class Command(StatusCase):
    def test_it_prints_for_people_and_for_programs(self):
        daemon = self.ready("-np", 2)
        self.complete(daemon)
        self.wait_for_action("save")
        url = f"http://127.0.0.1:{daemon.port}"
        harness.wait_until(lambda: json.loads(self.command(url, "--json"))["snapshots"])
        shown = self.command(url)
        snapshot = self.manifests()[0]["id"]
        self.assertIn(": ready, for", shown)
        self.assertIn(str(self.root), shown)
        self.assertRegex(shown, rf"(?m)^ *0 +\d+ +{snapshot} +saved$")
        self.assertRegex(shown, rf"(?m)^{snapshot} +\d+ .* ready$")
        self.assertNotIn("\x1b", shown)
        self.assertEqual(self.command(f"127.0.0.1:{daemon.port}/")[:15], "llama-hibernate")

    def test_nothing_answers(self):
        self.command(f"http://127.0.0.1:{harness.free_port()}", status=3)
        self.assertIn("nothing answers at", self.complaints)
        self.command(f"unix:{self.folder}/none.sock", status=3)

    def test_keys(self):
        daemon = self.ready("-np", 2, "--api-key", "secret")
        url = f"http://127.0.0.1:{daemon.port}"
        self.command(url, status=1)
        self.assertIn("LLAMA_API_KEY", self.complaints)
        self.command(url, "--api-key", "wrong", status=1)
        self.assertIn("ready", self.command(url, "--api-key", "secret"))
        self.assertIn("ready", self.command(url, LLAMA_API_KEY="secret"))

    def test_a_prefix_and_a_socket(self):
        path = self.folder / "http.sock"
        daemon = self.launch("-np", 2, "--host", path, "--api-prefix", "/foo", port=None)
        self.says(daemon, "ready in")
        self.assertIn("ready", self.command(f"unix:{path}/foo"))
        self.command(f"unix:{path}", status=1)

    def test_tls_on_this_machine(self):
        key, certificate = self.folder / "key.pem", self.folder / "cert.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out",
                        certificate, "-days", "1", "-subj", "/CN=localhost"],
                       check=True, capture_output=True)
        daemon = self.launch("-np", 2, "--ssl-key-file", key, "--ssl-cert-file", certificate)
        self.says(daemon, "ready in")
        self.assertIn("ready", self.command(f"https://127.0.0.1:{daemon.port}"))
        self.command(f"http://127.0.0.1:{daemon.port}", status=3)

    def test_something_else_answers(self):
        port = harness.free_port()
        server = self.start([self.fake, "-m", self.model, "--port", port])
        harness.wait_ready(port, process=server)
        self.command(f"http://127.0.0.1:{port}", status=1)
        self.assertIn("is no llama-hibernate", self.complaints)

    def test_what_is_on_disk(self):
        self.seed(LONG)
        folder, = self.root.glob("*-*")
        shown = self.command("--model-dir", folder)
        self.assertIn(": no daemon was asked; this is what is on disk\n", shown)
        self.assertIn(self.manifests()[0]["id"], shown)
        self.assertRegex(shown, "(?m)^last stop .*saved 1 conversation")
        for name in (folder.name, "model", "model.gguf"):
            with self.subTest(name):
                by_name = self.command("--model-dir", name, "--hibernate-dir", self.root, "--json")
                self.assertEqual(json.loads(by_name)["last_stop"]["conversations"], 1)

    def test_what_is_no_models_folder(self):
        self.seed(LONG)
        folder, = self.root.glob("*-*")
        for given, part in ((self.folder / "none", "there is no directory"),
                            (self.folder, f"{self.folder} is no model's folder; --model-dir takes"),
                            (self.root, f"give one of those in it: {folder.name}\n"),
                            ("none", f"there is no model none in {self.root}; --model-dir takes")):
            with self.subTest(given):
                self.assertEqual("", self.command("--model-dir", given, "--hibernate-dir",
                                                  self.root, status=1))
                self.assertIn(part, self.complaints)

    def test_usage(self):
        self.command("--nonsense", status=2)
        self.command("gopher://x", status=2)
        self.assertIn("--model-dir", self.command("--help"))


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "FAKE_LLAMA_SERVER")
