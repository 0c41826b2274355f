#!/usr/bin/env python3
"""POST /slots/{id}?action= from outside: what is refused, what passes, and whom it waits for."""

import json
import pathlib
import socket
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import harness
from daemon import DaemonCase, LONG, OTHER
from harness import get, post

ACTIONS = ("save", "restore", "erase")


class Refused(DaemonCase):
    """Without --slot-save-path: all of them, however the path is written."""

    def check(self, daemon, targets):
        for target in targets:
            with self.subTest(target):
                answer = post(daemon.port, target, {"filename": "mine"})
                self.assertEqual(answer.status, 403, answer)
                self.assertEqual(answer.json["error"]["code"], 403)
                self.assertEqual(answer.json["error"]["type"], "permission_error")
        self.assertEqual([a for name in ACTIONS for a in self.actions(name)], [])

    def test_every_form_of_the_path(self):
        daemon = self.ready("-np", 2)
        self.complete(daemon)
        self.check(daemon, [
            "/slots/0?action=save", "/slots/0?action=erase", "/slots/1?action=restore",
            "/%73lots/0?action=erase", "/slots/%30?action=erase", "/slots%2F0?action=erase",
            "/%u0073lots/0?action=erase", "/slots/-1?action=erase", "//slots/0?action=erase",
            "/x/../slots/0?action=erase", "/./slots/0?action=erase",
            "http://localhost/slots/0?action=erase", "http://localhost//slots/0?action=erase"])
        self.assertEqual(get(daemon.port, "/slots").status, 200)

    def test_under_a_prefix(self):
        for prefix in ("/llm", "/llm/"):
            with self.subTest(prefix):
                daemon = self.launch("-np", 2, "--api-prefix", prefix)
                harness.wait_ready(daemon.port, process=daemon, target=prefix + "/health")
                self.check(daemon, [
                    prefix + "/slots/0?action=erase", "/l%6Cm//slots/0?action=erase",
                    "http://x/llm/slots/0?action=erase"])
                self.stop(daemon)


class Passed(DaemonCase):
    def setUp(self):
        super().setUp()
        self.root = self.folder / "mine"
        self.root.mkdir()

    def ready(self, *arguments, **more):
        return super().ready(
            "-np", 2, *arguments, "--slot-save-path", self.root, root=False, **more)

    def act(self, daemon, action, slot=0, **body):
        return post(daemon.port, f"/slots/{slot}?action={action}", body or None, timeout=60)

    def assert_one_at_a_time(self, least):
        """Of all slot actions, ours too, the child gets one when it has answered the one before."""
        running, seen = 0, 0
        for event in self.events():
            if "action=" in event.get("target", ""):
                running += {"request": 1, "answer": -1}[event["event"]]
                seen += event["event"] == "request"
                self.assertIn(running, (0, 1), self.events())
        self.assertGreaterEqual(seen, least)

    def test_all_three(self):
        daemon = self.ready()
        held = self.complete(daemon, id_slot=0)["usage"]["total_tokens"] - 1
        saved = self.act(daemon, "save", filename="my own")
        self.assertEqual((saved.status, saved.json["n_saved"]), (200, held), saved)
        self.assertEqual(len(list(self.root.glob("*/my own"))), 1)
        self.assertEqual(self.act(daemon, "erase").json["n_erased"], held)
        restored = self.act(daemon, "restore", slot=1, filename="my own")
        self.assertEqual((restored.status, restored.json["n_restored"]), (200, held), restored)
        self.assertEqual(self.act(daemon, "save").status, 400)  # llama-server's own answer
        self.stop(daemon)
        self.assertEqual(len(list(self.root.glob("*/my own"))), 1)

    def test_what_llama_server_would_read_in_its_own_way(self):
        daemon = self.ready()
        self.complete(daemon, id_slot=0)
        for target in ("/slots/2?action=save", "/slots/-1?action=save", "/slots/0x?action=save",
                       "/slots/0", "/slots/0?action=", "/slots/0?action=save&action=restore",
                       "/slots/0?action=drop", "/slots/?action=save"):
            with self.subTest(target):
                answer = post(daemon.port, target, {"filename": "mine"})
                self.assertEqual(answer.status, 400, answer)
                self.assertEqual(answer.json["error"]["type"], "invalid_request_error")
        self.assertEqual([a for name in ACTIONS for a in self.actions(name)], [])

    def test_names_that_are_ours(self):
        self.ready()
        seeded = self.programs[-1]
        self.complete(seeded)
        self.stop(seeded)
        (snapshot,) = self.root.glob("*/*.kv")
        content = snapshot.read_bytes()
        self.log.unlink()
        daemon = self.ready(ours=["--hibernate-restore", "none"])
        for name in (snapshot.name, snapshot.with_suffix(".json").name, snapshot.name.upper(),
                     "0123456789abcdef.kv", "lock", "written", "staging-1-1.kv", "quarantine"):
            for action in ("save", "restore"):
                with self.subTest(name=name, action=action):
                    answer = self.act(daemon, action, filename=name)
                    self.assertEqual(answer.status, 403, answer)
        self.assertEqual([a for name in ACTIONS for a in self.actions(name)], [])
        self.assertEqual(snapshot.read_bytes(), content)

    def test_bodies_that_do_not_show_the_name(self):
        daemon = self.ready()
        twice = '{"filename":"mine","filename":"lock"}'
        hidden = json.dumps({"x": "y" * 100_000, "filename": "lock"})
        form = '{"x":"&action=restore&","filename":"mine"}'
        for body, headers in ((twice, {}), (hidden, {}), ("[]", {}), ('{"filename":"mine"', {}),
                              (form, {"Content-Type": "application/x-www-form-urlencoded"}),
                              ('{"filename":"mine"}', {"Content-Encoding": "gzip"}),
                              ('{"filename":"mine"}', {"Content-Type": "multipart/form-data"})):
            with self.subTest(body=body[:60], headers=headers):
                answer = post(daemon.port, "/slots/0?action=save", body, headers=headers)
                self.assertEqual(answer.status, 400, answer)
        with socket.create_connection(("127.0.0.1", daemon.port), timeout=30) as client:
            client.sendall(b"POST /slots/0?action=save HTTP/1.1\r\nHost: x\r\n"
                           b"Transfer-Encoding: chunked\r\n\r\n")
            for piece in (b'{"filen', b'ame":"lo', b'ck"}', b""):
                client.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.assertIn(b" 403 ", client.recv(1000))
        self.assertEqual(self.actions("save"), [])

    def test_it_waits_for_our_own_save(self):
        daemon = self.ready(ours=["--hibernate-idle-save", "50ms"], FAKE_SAVE_MS=600)
        self.complete(daemon)
        self.wait_for_action("save")
        saved = self.act(daemon, "save", filename="mine")
        self.assertEqual(saved.status, 200, saved)
        self.assert_one_at_a_time(2)
        own = [json.loads(a["body"])["filename"] for a in self.actions("save")]
        self.assertEqual(own[-1], "mine")

    def test_our_saves_wait_for_it(self):
        daemon = self.ready(ours=["--hibernate-idle-save", "300ms"], FAKE_SAVE_MS=900)
        self.complete(daemon)
        answers = []
        theirs = threading.Thread(
            target=lambda: answers.append(self.act(daemon, "save", filename="mine")))
        theirs.start()
        self.wait_for_action("save")
        other = self.complete(daemon, OTHER)  # a handover, if nothing was saved yet
        self.assertGreater(other["usage"]["completion_tokens"], 0)
        theirs.join()
        self.assertEqual(answers[0].status, 200)
        harness.wait_until(lambda: len(self.snapshot_tokens()) == 2, what="both are saved")
        self.assert_one_at_a_time(3)

    def test_what_it_displaces_is_saved_before(self):
        daemon = self.ready(ours=["--hibernate-idle-save", "0"])
        self.complete(daemon, id_slot=0)
        self.assertEqual(self.act(daemon, "save", filename="mine").status, 200)
        self.assertEqual(self.snapshot_tokens(), [])
        self.assertEqual(self.act(daemon, "restore", filename="mine").status, 200)
        self.assertEqual(len(self.snapshot_tokens()), 1)
        self.assert_one_at_a_time(3)

    def test_a_client_that_leaves_in_the_middle_of_one(self):
        daemon = self.ready(ours=["--hibernate-idle-save", "100ms"], FAKE_SAVE_MS=700)
        self.complete(daemon)
        gone = harness.Stream(daemon.port, "/slots/0?action=save", {"filename": "mine"})
        self.wait_for_action("save")
        gone.close()
        harness.wait_until(lambda: len(self.snapshot_tokens()) == 1, what="ours is saved")
        self.stop(daemon)
        self.assertEqual(len(list(self.root.glob("*/mine"))), 1)

    def test_a_client_that_leaves_while_its_slot_is_busy(self):
        daemon = self.ready(ours=["--hibernate-idle-save", "0"], FAKE_TOKEN_MS=20)
        busy = harness.Stream(daemon.port, "/completion", {
            "prompt": OTHER, "n_predict": 100, "id_slot": 0, "stream": True})
        busy.read_until(b"data:")
        self.complete(daemon, id_slot=1, n=2)
        gone = harness.Stream(daemon.port, "/slots/0?action=save", {"filename": "mine"})
        self.wait_for_action("save")
        gone.close()
        self.complete(daemon, LONG + OTHER, n=2)  # what it would displace is saved before
        busy.read_until(b'"stop":true')
        busy.close()
        self.assertEqual(len(self.snapshot_tokens()), 2)
        self.assertEqual(len(list(self.root.glob("*/mine"))), 1)
        # The child had done theirs before it got ours.
        ends = [e for e in self.events() if "action=save" in e.get("target", "")]
        self.assertEqual([e["event"] for e in ends[:3]], ["request", "answer", "request"])


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "FAKE_LLAMA_SERVER")
