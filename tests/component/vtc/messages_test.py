#!/usr/bin/env python3
"""Runs every script of this folder: varnishtest plays the client and the child, message by message.

    VARNISHTEST   the program, if it is not on PATH (tests/support/get-varnishtest)
    PROXY         "haproxy": the same scripts through HAProxy, to see that they are right (its
                  version 2.6 fails hop_by_hop, since it passes what Connection names, and
                  old_client, since it tells the child of HTTP/1.0 instead of joining chunks)

A script finds the proxy at ${proxy}, and lets its child listen on ${backend}.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "support"))
import harness
from daemon import DaemonCase

VARNISHTEST = os.environ.get("VARNISHTEST") or shutil.which("varnishtest")
HAPROXY = """
global
    stats timeout 10s
defaults
    mode http
    timeout client 10s
    timeout server 10s
    timeout connect 1s
    retries 0
    option http-server-close
    option forwardfor
    http-reuse never
listen proxy
    bind 127.0.0.1:{port}
    server child 127.0.0.1:{backend}
"""


class Messages(DaemonCase):
    def proxy(self, backend):
        """The port of a proxy in front of that port."""
        if os.environ.get("PROXY") != "haproxy":
            return self.forwarding(backend).port
        port = harness.free_port()
        (self.folder / "haproxy.cfg").write_text(HAPROXY.format(port=port, backend=backend))
        self.start(["haproxy", "-db", "-f", self.folder / "haproxy.cfg"])
        harness.wait_until(lambda: harness.try_get(port, "/"), what="HAProxy answers")
        return port

    def test_scripts(self):
        scripts = sorted(HERE.glob("*.vtc"))
        self.assertGreater(len(scripts), 10)
        backend = harness.free_port()
        port = self.proxy(backend)
        for script in scripts:
            with self.subTest(script.stem):
                ran = subprocess.run(
                    [VARNISHTEST, "-t", str(int(harness.patience(10))),
                     f"-Dproxy=127.0.0.1:{port}", f"-Dbackend=127.0.0.1:{backend}", str(script)],
                    env=self.environment(TMPDIR=self.folder, **{
                        name: value for name, value in os.environ.items()
                        if name in ("LD_LIBRARY_PATH",)}),
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
                self.assertEqual(ran.returncode, 0, ran.stdout[-6000:])


if __name__ == "__main__":
    if not VARNISHTEST:
        print("skipped: there is no varnishtest; tests/support/get-varnishtest fetches one, and "
              "VARNISHTEST names it")
        sys.exit(harness.SKIPPED)
    harness.main("HIBERNATE_BIN")
