#!/usr/bin/env python3
"""Where clients find us: on what the user gave llama-server, and in no other way to its child."""

import http.client
import os
import pathlib
import shutil
import socket
import ssl
import stat
import subprocess
import sys
import unittest
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import harness
from daemon import DaemonCase
from harness import get


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
        return True
    except OSError:
        return False


def status_on(path, context=None):
    """What /health says on a socket path, or None if nobody answers."""
    try:
        with socket.socket(socket.AF_UNIX) as plain:
            plain.settimeout(10)
            plain.connect(str(path))
            with (context.wrap_socket(plain) if context else plain) as client:
                client.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                response = http.client.HTTPResponse(client)
                response.begin()
                return response.status
    except (OSError, http.client.HTTPException):
        return None


class ListeningCase(DaemonCase):
    def listen(self, hosts, *arguments, port=None, **more):
        """A daemon that listens there; its port is that of its log line."""
        daemon = self.launch("-np", 2, "--host", hosts, "--port", port or 0, *arguments, port=None,
                             **more)
        daemon.urls = harness.wait_until(
            lambda: next((line.partition("listening on ")[2].split(" and ")
                          for line in daemon.lines
                          if "llama-hibernate" in line and "listening on" in line), None),
            what="the line that says where it listens")
        tcp = [url for url in daemon.urls if not url.startswith("unix:")]
        daemon.port = int(tcp[0].rpartition(":")[2]) if tcp else None
        return daemon

    def refuses(self, hosts, reason):
        daemon = self.launch("--host", hosts, "--port", harness.free_port(), port=None)
        status, _ = daemon.wait(15)  # a port that is in use is tried for 10 s
        self.assertEqual(status, 1, daemon.output)
        self.assertIn(reason, daemon.output)
        self.assertEqual(self.events("start"), [])


class Addresses(ListeningCase):
    def test_several_hosts_have_one_port(self):
        daemon = self.listen("127.0.0.1, 127.0.0.2")
        harness.wait_ready(daemon.port, process=daemon)
        self.assertEqual(get(daemon.port, "/health", host="127.0.0.2").status, 200)
        self.assertEqual(daemon.urls, [f"http://127.0.0.{n}:{daemon.port}" for n in (1, 2)])

    @unittest.skipUnless(has_ipv6(), "no IPv6")
    def test_ipv6(self):
        daemon = self.listen("::1")
        harness.wait_until(
            lambda: (a := harness.try_get(daemon.port, "/health", host="::1")) and a.status == 200)
        self.assertEqual(daemon.urls, [f"http://[::1]:{daemon.port}"])
        self.assertIsNone(harness.try_get(daemon.port, "/health"))

    @unittest.skipUnless(has_ipv6(), "no IPv6")
    def test_both_families(self):
        for hosts in ("::", "::,127.0.0.1", "0.0.0.0,::", "localhost"):
            with self.subTest(hosts):
                daemon = self.listen(hosts)
                harness.wait_ready(daemon.port, process=daemon)
                if hosts != "localhost":  # whatever addresses it has here
                    self.assertEqual(get(daemon.port, "/health", host="::1").status, 200)
                self.stop(daemon)

    def test_reuse_port(self):
        daemon = self.listen("127.0.0.1", "--reuse-port")
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            other.bind(("127.0.0.1", daemon.port))
        plain = self.listen("127.0.0.1")
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            with self.assertRaises(OSError):
                other.bind(("127.0.0.1", plain.port))

    def test_no_such_address(self):
        self.refuses("192.0.2.1", "192.0.2.1")


class Paths(ListeningCase):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "http.sock"

    def test_a_path_alone(self):
        daemon = self.listen(str(self.path))
        harness.wait_until(lambda: status_on(self.path) == 200, what="an answer on the path")
        self.assertEqual(daemon.urls, [f"unix:{self.path}"])
        self.assertEqual(stat.S_IMODE(self.path.stat().st_mode), 0o660)
        self.stop(daemon)
        self.assertFalse(self.path.exists())

    def test_a_path_of_the_dead_is_taken(self):
        first = self.listen(str(self.path))
        first.process.kill()
        first.process.wait()
        self.assertTrue(self.path.exists())
        self.listen(str(self.path))
        harness.wait_until(lambda: status_on(self.path) == 200, what="an answer on the path")

    def test_a_path_of_the_living_is_not(self):
        self.listen(str(self.path))
        harness.wait_until(lambda: status_on(self.path) == 200, what="an answer on the path")
        before = self.path.stat().st_ino
        self.log.unlink()
        self.refuses(str(self.path), str(self.path))
        self.assertEqual(self.path.stat().st_ino, before)
        self.assertEqual(status_on(self.path), 200)

    def test_a_path_that_is_too_long(self):
        self.refuses(str(self.folder / ("x" * 100 + ".sock")), "too long")


@unittest.skipUnless(shutil.which("openssl"), "no openssl to make a certificate with")
class Encrypted(ListeningCase):
    def make_certificate(self, *more):
        key, certificate = self.folder / "key", self.folder / "cert"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-keyout", key, "-out",
                        certificate, "-days", "2", "-subj", "/CN=localhost", *more],
                       check=True, capture_output=True)
        return ["--ssl-key-file", key, "--ssl-cert-file", certificate]

    def context(self):
        context = ssl.create_default_context(cafile=self.folder / "cert")
        context.check_hostname = False
        return context

    def test_every_address_and_path(self):
        path = self.folder / "http.sock"
        daemon = self.listen(f"127.0.0.1,127.0.0.2,{path}", *self.make_certificate("-nodes"))
        self.assertEqual([url.partition(":")[0] for url in daemon.urls], ["https", "https", "unix"])
        harness.wait_until(lambda: status_on(path, self.context()) == 200, what="TLS on the path")
        for host in ("127.0.0.1", "127.0.0.2"):
            connection = http.client.HTTPSConnection(
                host, daemon.port, timeout=10, context=self.context())
            connection.request("GET", "/health")
            self.assertEqual(connection.getresponse().status, 200)
            self.assertEqual(connection.sock.version(), "TLSv1.3")
            connection.close()
        self.assertIsNone(status_on(path))

    def test_versions_and_protocols(self):
        daemon = self.listen("127.0.0.1", *self.make_certificate("-nodes"))

        def agree(newest, *protocols):
            context = self.context()
            with warnings.catch_warnings(action="ignore"):  # they are old, which is the point
                context.minimum_version = ssl.TLSVersion.TLSv1
                context.maximum_version = newest
            context.set_ciphers("DEFAULT:@SECLEVEL=0")
            context.set_alpn_protocols(list(protocols))
            with socket.create_connection(("127.0.0.1", daemon.port), timeout=10) as plain:
                with context.wrap_socket(plain) as client:
                    return client.version(), client.selected_alpn_protocol()

        self.assertEqual(agree(ssl.TLSVersion.TLSv1_3, "h2", "http/1.1"), ("TLSv1.3", "http/1.1"))
        self.assertEqual(agree(ssl.TLSVersion.TLSv1_2, "h2"), ("TLSv1.2", None))
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            agree(ssl.TLSVersion.TLSv1_1, "http/1.1")

    def test_a_key_with_a_password_is_an_error_and_no_question(self):
        files = self.make_certificate("-passout", "pass:secret")
        daemon = self.launch(*files)
        self.assertEqual(daemon.wait(5)[0], 1)
        self.assertIn(str(files[1]), daemon.output)


class InternalSocket(ListeningCase):
    def setUp(self):
        super().setUp()
        self.runtime = self.folder / "run"
        self.runtime.mkdir(mode=0o755)
        self.dump = self.folder / "dump.json"

    def ready(self, *arguments, ours=(), **more):
        return super().ready("-np", 2, *arguments, ours=["--hibernate-internal", "unix", *ours],
                             XDG_RUNTIME_DIR=self.runtime, **more)

    def test_the_child_is_reached_by_nobody_else(self):
        daemon = self.ready(FAKE_ENV_DUMP=self.dump)
        (directory,) = self.runtime.iterdir()
        self.assertEqual(stat.S_IMODE(directory.stat().st_mode), 0o700)
        (path,) = directory.iterdir()
        self.assertTrue(stat.S_ISSOCK(path.stat().st_mode))
        argv = harness.json.loads(self.dump.read_text())["argv"]
        self.assertEqual(argv[argv.index("--host") + 1], str(path))
        self.assertNotIn("--port", argv)
        self.complete(daemon)
        stream = harness.Stream(daemon.port, "/completion",
                                {"prompt": "x", "n_predict": 40, "stream": True})
        stream.read_until(b'"stop":true')
        stream.close()
        self.stop(daemon)
        self.assertEqual(len(self.snapshot_tokens()), 1)
        self.assertEqual(list(self.runtime.iterdir()), [])

    def test_what_a_kill_left_goes_at_the_next_start(self):
        daemon = self.ready()
        child = self.child(daemon)
        daemon.process.kill()
        daemon.process.wait()
        if harness.PORTABLE:
            os.kill(child, 9)
        harness.wait_until(lambda: not harness.is_running(child), 1, "the child is gone")
        (left,) = self.runtime.iterdir()
        self.ready()
        self.assertFalse(left.exists())
        self.assertEqual(len(list(self.runtime.iterdir())), 1)

    def test_a_child_that_is_started_again_has_its_place(self):
        daemon = self.ready(ours=["--hibernate-on-exit", "restart"])
        os.kill(self.child(daemon), 9)
        harness.wait_until(lambda: len(self.events("start")) == 2, what="a second child")
        harness.wait_ready(daemon.port, process=daemon)
        self.assertEqual(len(list(self.runtime.iterdir())), 1)
        self.complete(daemon)
        self.stop(daemon)
        self.assertEqual(list(self.runtime.iterdir()), [])

    def test_without_a_runtime_directory_there_is_tmp(self):
        self.runtime = self.folder / "missing"
        daemon = self.ready(FAKE_ENV_DUMP=self.dump)
        argv = harness.json.loads(self.dump.read_text())["argv"]
        directory = pathlib.Path(argv[argv.index("--host") + 1]).parent
        self.assertEqual(directory.parent, pathlib.Path("/tmp"))
        self.stop(daemon)
        self.assertFalse(directory.exists())


class TakenPort(DaemonCase):
    """The child's port is taken by a stranger after we chose it, and before the child listens."""

    def server(self, last_words):
        """A llama-server that tells its port, waits until it may go on, and says last words."""
        script = self.folder / "server.py"
        script.write_text(
            f"#!{sys.executable}\n"
            "import os, pathlib, sys, time\n"
            "arguments = sys.argv[1:]\n"
            "port = arguments[arguments.index('--port') + 1]\n"
            f"ports = pathlib.Path({str(self.folder / 'ports')!r})\n"
            f"serve = lambda: os.execv({self.fake!r}, [{self.fake!r}, *arguments])\n"
            "first = not any(ports.iterdir())\n"
            "(ports / port).mkdir()\n"
            "while not (ports / port / 'go').exists():\n"
            "    time.sleep(0.01)\n"
            f"{last_words}\n"
            "while True: time.sleep(1)\n")
        script.chmod(0o755)
        self.ports = self.folder / "ports"
        self.ports.mkdir()
        return script

    def next_port(self, daemon, known=()):
        def told():
            if daemon.poll() is not None:
                raise AssertionError(daemon.output)
            return [int(p.name) for p in self.ports.iterdir() if int(p.name) not in known]
        return harness.wait_until(told, what="a child with a port")[0]

    def take(self, port):
        stranger = socket.create_server(("127.0.0.1", port))
        self.addCleanup(stranger.close)
        stranger.setblocking(False)
        return stranger

    def go_on(self, port):
        (self.ports / str(port) / "go").touch()

    def test_another_port_is_chosen_and_the_stranger_hears_nothing(self):
        for last_words in ("serve()", "first or serve()"):  # it ends by itself, or stays
            with self.subTest(last_words):
                # Only Linux tells before we connect who listens: elsewhere the stranger is asked, too,
                # and the child's end alone shows that it was in vain.
                if harness.PORTABLE and last_words != "serve()":
                    self.skipTest("only Linux tells that a child stays in vain")
                server = self.server(last_words)
                daemon = self.launch("-np", 2, "--api-key", "secret", server=server)
                first = self.next_port(daemon)
                stranger = self.take(first)
                self.go_on(first)
                second = self.next_port(daemon, [first])
                self.go_on(second)
                harness.wait_ready(daemon.port, process=daemon)
                self.assertNotEqual(first, second)
                self.assertIn(f"another process listens on port {first}", daemon.output)
                if not harness.PORTABLE:
                    with self.assertRaises(BlockingIOError):
                        stranger.accept()
                self.stop(daemon)
                shutil.rmtree(self.ports)

    def test_a_child_that_is_slow_to_listen_gets_nothing_before(self):
        daemon = self.launch("-np", 2, server=self.server("serve()"))
        port = self.next_port(daemon)
        self.assertEqual(get(daemon.port, "/props").status, 503)
        self.go_on(port)
        harness.wait_ready(daemon.port, process=daemon)

    def test_the_end_is_an_error_that_says_what_helps(self):
        # Only Linux tells that a child stays in vain.
        last_words = "serve()" if harness.PORTABLE else ""
        daemon = self.launch("-np", 2, server=self.server(last_words))
        known = []
        while daemon.poll() is None and len(known) < 20:
            port = harness.wait_until(
                lambda: daemon.poll() is not None or
                [int(p.name) for p in self.ports.iterdir() if int(p.name) not in known])
            if port is not True:
                known += port
                self.take(port[0])
                self.go_on(port[0])
        status, _ = daemon.wait(5)
        self.assertEqual(status, 1, daemon.output)
        self.assertEqual(len(known), 5)
        self.assertIn("--hibernate-internal unix", daemon.output)

    def test_a_script_may_keep_llama_server_as_its_own_child(self):
        script = self.folder / "server.sh"
        script.write_text(f'#!/bin/sh\n"{self.fake}" "$@" &\nwait\n')
        script.chmod(0o755)
        daemon = self.ready("-np", 2, server=script)
        self.complete(daemon)


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "FAKE_LLAMA_SERVER")
