#!/usr/bin/env python3
"""The command line as a user meets it: what is ours, what is llama-server's, and what is wrong."""

import http.client
import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import harness
from daemon import DaemonCase, LONG, chat
from harness import get, post


class Wrong(DaemonCase):
    def refused(self, *ours, status=2, **more):
        daemon = self.launch(ours=ours, **more)
        self.assertEqual(daemon.wait(3)[0], status, daemon.output)
        self.assertEqual(self.events("start"), [], "nothing is started")
        self.assertEqual(len(daemon.lines), 1, daemon.output)
        return daemon.output

    def test_unknown_option_with_the_nearest_name(self):
        said = self.refused("--hibernate-stop-buget", "3s")
        self.assertIn("--hibernate-stop-buget", said)
        self.assertIn("--hibernate-stop-budget", said)

    def test_unknown_option_after_the_server(self):
        daemon = self.launch("--hibernate-drian=1s")
        self.assertEqual(daemon.wait(3)[0], 2)
        self.assertIn("--hibernate-drain", daemon.output)

    def test_bad_value(self):
        said = self.refused("--hibernate-drain", "soon")
        self.assertIn("--hibernate-drain", said)
        self.assertIn("soon", said)

    def test_bad_value_in_the_environment(self):
        said = self.refused(LLAMA_HIBERNATE_RESTORE="perhaps")
        self.assertIn("LLAMA_HIBERNATE_RESTORE", said)
        self.assertIn("perhaps", said)

    def test_missing_value(self):
        daemon = self.launch("--hibernate-drain")
        self.assertEqual(daemon.wait(3)[0], 2)
        self.assertIn("--hibernate-drain", daemon.output)

    def test_configuration_file(self):
        file = self.folder / "config.json"
        self.assertIn(str(file), self.refused("--hibernate-config", file))
        file.write_text('{"drain": "1s", "stop-budget": ')
        self.assertIn(str(file), self.refused("--hibernate-config", file))
        file.write_text('{"drains": "1s"}')
        said = self.refused("--hibernate-config", file)
        self.assertIn("drains", said)
        self.assertIn(str(file), said)

    def test_no_arguments_at_all(self):
        daemon = self.start([harness.program("HIBERNATE_BIN")],
                            self.environment())
        self.assertEqual(daemon.wait(3)[0], 2)
        self.assertIn("--help", daemon.output)

    def test_what_is_no_llama_server(self):
        folder = self.folder / "llama.cpp"
        folder.mkdir()
        for server, status, advice in (
                (folder, 126, f"{folder}/llama-server"),
                (self.folder / "a.gguf", 126, f"-m {self.folder}/a.gguf"),
                ("statsu", 127, "llama-hibernate status"),
                ("help", 127, "llama-hibernate --help"),
                ("no-such-server", 127, "by its path as the first argument")):
            with self.subTest(server):
                daemon = self.start([harness.program("HIBERNATE_BIN"), str(server)],
                                    self.environment())
                self.assertEqual(daemon.wait(3)[0], status, daemon.output)
                self.assertIn(advice, daemon.output)
                self.assertEqual(len(daemon.lines), 1, daemon.output)

    def test_missing_model_is_the_childs_error(self):
        daemon = self.launch("-m", self.folder / "missing.gguf", model=False)
        self.assertEqual(daemon.wait(3)[0], 1)
        self.assertIn("failed to load model", daemon.output)

    def test_an_argument_that_llama_server_refuses(self):
        daemon = self.launch("--threads=1")
        self.assertEqual(daemon.wait(3)[0], 1)
        self.assertIn("invalid argument: --threads=1", daemon.output)

    def test_port_that_is_no_number(self):
        daemon = self.launch("--port", "http", port=None)
        self.assertNotEqual(daemon.wait(3)[0], 0)
        self.assertIn("http", daemon.output)

    def test_store_that_cannot_be_written(self):
        (self.folder / "file").write_text("no folder")
        self.root = self.folder / "file" / "store"
        daemon = self.ready("-np", 2)
        self.complete(daemon)
        self.says(daemon, str(self.root))
        self.stop(daemon, within=3)
        self.assertEqual(self.actions("save"), [])


class Ours(DaemonCase):
    def test_help_and_version(self):
        for argument, expected in (("--help", "--hibernate-dir"), ("-h", "--hibernate-dir"),
                                   ("--version", "llama-hibernate")):
            with self.subTest(argument):
                daemon = self.start([harness.program("HIBERNATE_BIN"), argument],
                                    self.environment())
                self.assertEqual(daemon.wait(3)[0], 0)
                self.assertIn(expected, daemon.output)

    def test_help_and_version_of_the_server(self):
        for argument in ("--help", "--version", "--list-devices"):
            with self.subTest(argument):
                daemon = self.launch(argument, model=False, port=None, FAKE_EXIT_CODE=3)
                self.assertEqual(daemon.wait(3)[0], 3)
                self.assertEqual(daemon.lines, ["version: 11669 (fake)"])

    def test_spellings(self):
        for line in ([f"--hibernate-dir={self.root}", self.fake],
                     ["run", "--hibernate-dir", self.root, self.fake],
                     ["--hibernate-dir", self.root, "--", self.fake],
                     [self.fake, "--hibernate-dir", self.root]):
            with self.subTest(line):
                port = harness.free_port()
                daemon = self.start(
                    [harness.program("HIBERNATE_BIN"), *line, "-m", self.model, "--port", port],
                    self.environment())
                harness.wait_ready(port, process=daemon)
                self.assertEqual(self.stop(daemon) and daemon.poll(), 0)
                self.assertTrue(self.root.is_dir())

    def test_server_from_the_environment_and_the_path(self):
        folder = self.folder / "bin"
        folder.mkdir()
        (folder / "llama-server").symlink_to(self.fake)
        for environment in ({"LLAMA_HIBERNATE_SERVER": self.fake},
                            {"PATH": f"{folder}:{os.environ['PATH']}"}):
            with self.subTest(environment):
                daemon = self.ready(server=False, **environment)
                self.stop(daemon)

    def test_the_server_beside_us_however_we_are_called(self):
        ours, links = self.folder / "ours", self.folder / "links"
        ours.mkdir()
        links.mkdir()
        shutil.copy2(harness.program("HIBERNATE_BIN"), ours / "hibernate")
        (ours / "llama-server").symlink_to(self.fake)
        (links / "linked").symlink_to(ours / "hibernate")
        for called, path in ((ours / "hibernate", "/nowhere"), ("ours/hibernate", "/nowhere"),
                             (links / "linked", "/nowhere"), ("linked", links)):
            with self.subTest(called):
                # A shell, so that the name is looked for as a user's is.
                daemon = self.start(["/bin/sh", "-c", f"PATH='{path}'; '{called}' --list-devices"],
                                    self.environment(), cwd=self.folder)
                self.assertEqual(daemon.wait(3)[0], 0, daemon.output)
                self.assertEqual(daemon.lines, ["version: 11669 (fake)"])

    def test_options_from_the_environment_and_a_file(self):
        (self.folder / "config.json").write_text(json.dumps({"dir": str(self.root)}))
        daemon = self.ready("-np", 2, root=False,
                            ours=["--hibernate-config", self.folder / "config.json"])
        self.stop(daemon)
        self.assertTrue(self.root.is_dir())
        other = self.folder / "other"
        daemon = self.ready("-np", 2, root=False, LLAMA_HIBERNATE_DIR=other)
        self.stop(daemon)
        self.assertTrue(other.is_dir())

    def test_default_store_is_the_users_cache_and_private(self):
        daemon = self.ready("-np", 2, root=False)
        self.stop(daemon)
        root = self.folder / ".cache" / "llama-hibernate"
        self.assertEqual(root.stat().st_mode & 0o777, 0o700)

    def test_without_a_home(self):
        environment = self.environment()
        del environment["HOME"]
        line = [harness.program("HIBERNATE_BIN"), self.fake, "-m", self.model]
        daemon = self.start(line, environment)
        self.assertEqual(daemon.wait(3)[0], 2)
        self.assertIn("--hibernate-dir", daemon.output)
        daemon = self.start([*line, "--version"], environment)
        self.assertEqual((daemon.wait(3)[0], daemon.output), (0, "version: 11669 (fake)"))
        port = harness.free_port()
        daemon = self.start(
            [*line, "--port", port, "--slot-save-path", self.folder / "slots"], environment)
        harness.wait_ready(port, process=daemon)
        self.stop(daemon)

    def test_name_names_the_model_directory(self):
        daemon = self.ready("-np", 2, ours=["--hibernate-name", "org/my model:7b"])
        self.complete(daemon)
        self.stop(daemon)
        (folder,) = self.root.glob("*/")
        self.assertTrue(folder.name.startswith("org"), folder)
        self.assertEqual(len(self.snapshot_tokens()), 1)

    def test_connection_limit(self):
        daemon = self.ready("-np", 2, ours=["--hibernate-max-connections", "3"], FAKE_TOKEN_MS=20)
        held = []
        for number in range(3):
            held.append(harness.Stream(daemon.port, "/completion",
                                       {"prompt": "x", "n_predict": 3000, "stream": True}))
            if number < 2:  # the third waits for a slot
                held[-1].read_until(b"data:")
        answer = harness.wait_until(
            lambda: (a := harness.try_get(daemon.port, "/health")) and a.status == 503 and a)
        self.assertEqual(answer.json["error"]["type"], "unavailable_error")
        for each in held:
            each.close()
        harness.wait_ready(daemon.port, process=daemon)


class Theirs(DaemonCase):
    def works(self, daemon, headers=None, prefix=""):
        """It answers, saves on stop, and restores in its next life."""
        answer = post(daemon.port, prefix + "/v1/chat/completions", chat(LONG), headers=headers)
        self.assertEqual(answer.status, 200, answer)
        self.stop(daemon)
        self.assertEqual(len(self.snapshot_tokens()), 1, daemon.output)

    def test_api_keys(self):
        key_file = self.folder / "keys"
        key_file.write_text("# mine\nsecret\n\nother\n")
        for arguments, environment in ((["--api-key", "first,secret"], {}),
                                       (["--api-key-file", key_file], {}),
                                       ([], {"LLAMA_API_KEY": "secret"}),
                                       ([], {"LLAMA_ARG_API_KEY_FILE": key_file})):
            with self.subTest(arguments=arguments, **environment):
                self.root = self.folder / f"store-{len(arguments)}-{len(self.programs)}"
                daemon = self.ready("-np", 2, *arguments, **environment)
                self.assertEqual(get(daemon.port, "/props").status, 401)
                self.assertEqual(get(daemon.port, "/health").status, 200)
                wrong = post(daemon.port, "/completion", {"prompt": "x"},
                             headers={"Authorization": "Bearer wrong"})
                self.assertEqual(wrong.status, 401)
                self.assertNotIn("secret", daemon.output)
                self.works(daemon, {"Authorization": "Bearer secret"})

    def test_api_prefix(self):
        for arguments, environment in ((["--api-prefix", "/llm"], {}),
                                       ([], {"LLAMA_ARG_API_PREFIX": "/llm"})):
            with self.subTest(arguments=arguments):
                self.root = self.folder / f"store-{len(arguments)}"
                daemon = self.launch("-np", 2, *arguments, FAKE_LOAD_MS=700, **environment)
                harness.wait_until(lambda: harness.try_get(daemon.port, "/llm/props"))
                begun = time.monotonic()
                held = get(daemon.port, "/llm/health")
                self.assertEqual(held.status, 200)
                self.assertGreater(time.monotonic() - begun, 0.1)
                self.assertEqual(get(daemon.port, "/health").status, 404)
                refused = post(daemon.port, "/llm/slots/0?action=erase", {})
                self.assertEqual(refused.status, 403)
                self.works(daemon, prefix="/llm")

    def test_address_from_the_environment(self):
        port = harness.free_port()
        daemon = self.launch("-np", 2, port=None, LLAMA_ARG_PORT=port, LLAMA_ARG_HOST="127.0.0.1")
        daemon.port = port
        harness.wait_ready(port, process=daemon)
        self.works(daemon)

    def test_command_line_over_environment(self):
        daemon = self.ready("-np", 2, LLAMA_ARG_PORT=harness.free_port())
        self.works(daemon)

    def test_several_hosts_and_a_socket(self):
        path = self.folder / "http.sock"
        port = harness.free_port()
        daemon = self.launch("-np", 2, "--host", f"127.0.0.1,{path}", "--port", port, port=None)
        daemon.port = port
        harness.wait_ready(port, process=daemon)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            client.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            self.assertIn(b"200 OK", client.recv(1000))
        self.works(daemon)
        self.assertFalse(path.exists())

    def test_any_free_port(self):
        daemon = self.launch("-np", 2, "--port", 0, port=None)
        line = harness.wait_until(
            lambda: next((line for line in daemon.lines
                          if "llama-hibernate" in line and "listening on http" in line), None))
        daemon.port = int(line.rpartition(":")[2])
        harness.wait_ready(daemon.port, process=daemon)
        self.works(daemon)

    @unittest.skipUnless(shutil.which("openssl"), "no openssl to make a certificate with")
    def test_tls_is_ours(self):
        key, certificate, dump = (str(self.folder / name) for name in ("key", "cert", "dump"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key,
                        "-out", certificate, "-days", "2", "-subj", "/CN=localhost"],
                       check=True, capture_output=True)
        daemon = self.launch("-np", 2, "--ssl-key-file", key, "--ssl-cert-file", certificate,
                             FAKE_ENV_DUMP=dump)
        context = ssl.create_default_context(cafile=certificate)
        context.check_hostname = False

        def ask(method, target, body=None):
            connection = http.client.HTTPSConnection(
                "127.0.0.1", daemon.port, timeout=30, context=context)
            try:
                connection.request(method, target, body)
                answer = connection.getresponse()
                answer.read()
                return answer.status
            except (OSError, http.client.HTTPException):
                return None
            finally:
                connection.close()

        harness.wait_until(lambda: ask("GET", "/health") == 200, what="HTTPS")
        self.assertEqual(ask("POST", "/v1/chat/completions", json.dumps(chat(LONG))), 200)
        self.assertIsNone(harness.try_get(daemon.port, "/health"))
        self.assertFalse([a for a in json.loads(pathlib.Path(dump).read_text())["argv"]
                          if "ssl" in a])
        self.stop(daemon)
        self.assertEqual(len(self.snapshot_tokens()), 1)

    def test_slot_save_path_of_the_user(self):
        for arguments, environment in ((["--slot-save-path", self.folder / "mine"], {}),
                                       ([], {"LLAMA_ARG_SLOT_SAVE_PATH": self.folder / "mine"})):
            with self.subTest(arguments=arguments):
                self.root = self.folder / "mine"
                self.root.mkdir(exist_ok=True)
                daemon = self.ready("-np", 2, *arguments, root=False, **environment)
                self.complete(daemon, id_slot=0)
                saved = post(daemon.port, "/slots/0?action=save", {"filename": "my-own"})
                self.assertEqual(saved.status, 200, saved)
                self.works(daemon)
                (own,) = self.root.glob("*/my-own")
                own.unlink()

    def test_no_slots_endpoint(self):
        daemon = self.ready("-np", 2, "--no-slots")
        self.assertEqual(get(daemon.port, "/slots").status, 501)
        self.works(daemon)


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "FAKE_LLAMA_SERVER")
