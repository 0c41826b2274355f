#!/usr/bin/env python3
"""A real llama-server behind TLS, several addresses and a socket path, itself behind a socket."""

import http.client
import json
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import harness
from real import FLAGS, RealCase, Reply, body, continued, opening


class Connection(http.client.HTTPConnection):
    """HTTP under TLS, to an address or to a socket path."""

    def __init__(self, where, port, context):
        super().__init__("localhost", port, timeout=60)
        self.where, self.context = str(where), context

    def connect(self):
        if self.where.endswith(".sock"):
            plain = socket.socket(socket.AF_UNIX)
            plain.connect(self.where)
        else:
            plain = socket.create_connection((self.where, self.port))
        self.sock = self.context.wrap_socket(plain)


@unittest.skipUnless(shutil.which("openssl"), "no openssl to make a certificate with")
class Listening(RealCase):
    def setUp(self):
        super().setUp()
        key, certificate = self.folder / "key", self.folder / "cert"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key,
                        "-out", certificate, "-days", "2", "-subj", "/CN=localhost"],
                       check=True, capture_output=True)
        self.context = ssl.create_default_context(cafile=certificate)
        self.context.check_hostname = False
        self.tls = ["--ssl-key-file", key, "--ssl-cert-file", certificate]
        self.port = harness.free_port()

    def begin(self, hosts, *arguments, internal="unix"):
        daemon = self.start(
            [harness.program("HIBERNATE_BIN"), "--hibernate-dir", self.root, "--hibernate-internal",
             internal, self.server, "-m", self.model("tiny-llama"), "--host",
             ",".join(map(str, hosts)), "--port", self.port, "--api-prefix", "/llm", *self.tls,
             *FLAGS, *arguments], self.environment(XDG_RUNTIME_DIR=self.folder))
        def ready():
            self.assertIsNone(daemon.poll(), daemon.output)
            answer = self.call(hosts[0], "GET", "/llm/health")
            return answer is not None and answer[0] == 200
        harness.wait_until(ready, 20, "it serves")
        return daemon

    def call(self, where, method, target, payload=None):
        connection = Connection(where, self.port, self.context)
        try:
            connection.request(method, target, json.dumps(payload) if payload else None)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def chat(self, where, messages):
        status, answer = self.call(where, "POST", "/llm/v1/chat/completions", body(messages))
        self.assertEqual(status, 200, answer)
        return Reply(answer)

    def end(self, daemon):
        daemon.send(15)
        self.assertEqual(daemon.wait(10)[0], 0, daemon.output)

    def test_a_conversation_goes_on_wherever_it_comes_from(self):
        path = self.folder / "http.sock"
        hosts = ["127.0.0.1", "127.0.0.2", path]
        for internal in ("unix", "tcp"):
            with self.subTest(internal):
                shutil.rmtree(self.root, ignore_errors=True)
                daemon = self.begin(hosts, internal=internal)
                messages = opening("Ada")
                first = self.chat(path, messages)
                messages = continued(messages, first.text, "And then?")
                second = self.chat("127.0.0.2", messages)
                self.assertGreater(second.reused, first.prompt // 2)
                self.end(daemon)
                self.assertFalse(path.exists())
                daemon = self.begin(hosts, internal=internal)
                messages = continued(messages, second.text, "And now?")
                third = self.chat("127.0.0.1", messages)
                self.assertGreaterEqual(third.reused, second.prompt)
                self.end(daemon)
        self.assertEqual(list(self.folder.glob("llama-hibernate-*")), [])

    def test_slot_actions_of_the_users_own(self):
        own = self.folder / "own"
        own.mkdir()
        daemon = self.begin(["127.0.0.1"], "--slot-save-path", own)
        self.chat("127.0.0.1", opening("Ada"))

        def act(target, **payload):
            return self.call("127.0.0.1", "POST", "/llm/slots/" + target, payload)

        statuses = {slot: act(f"{slot}?action=save", filename="mine")[0] for slot in (0, 1)}
        self.assertEqual(statuses, {0: 200, 1: 200})
        self.assertEqual(act("2?action=save", filename="mine")[0], 400)
        self.assertEqual(act("0?action=restore", filename="0123456789abcdef.kv")[0], 403)
        self.assertEqual(act("0?action=restore", filename="..")[0], 400)  # llama-server's own
        self.end(daemon)
        self.assertEqual(len(list(own.glob("*/mine"))), 1)
        self.assertEqual(len(list(own.glob("*/*.kv"))), 1)


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "REAL_LLAMA_SERVER", "MODELS")
