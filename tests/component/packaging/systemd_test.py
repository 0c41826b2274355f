#!/usr/bin/env python3
"""The systemd units are right as far as systemd can tell without running them."""

import configparser
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCES = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(SOURCES / "tests" / "support"))
import harness

UNITS = SOURCES / "packaging" / "systemd"
INSTALLED = "/usr/bin/llama-hibernate"


class Settings(configparser.RawConfigParser):
    """A unit file; of a setting that stands there twice, the last one."""

    def __init__(self, path):
        super().__init__(strict=False, interpolation=None)
        self.optionxform = str
        self.read(path)


class Units(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hibernate-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def placed(self, unit):
        """An instance of a template, with the program where it was built."""
        text = (UNITS / unit).read_text()
        self.assertEqual(text.count(f"ExecStart={INSTALLED} $ARGS\n"), 1)
        path = self.folder / "llama-hibernate@qwen.service"
        path.write_text(text.replace(INSTALLED, harness.program("HIBERNATE_BIN")))
        return path

    def analyze(self, *arguments):
        done = subprocess.run(
            ["systemd-analyze", *map(str, arguments)], capture_output=True, text=True, timeout=60,
            env={**os.environ, "XDG_RUNTIME_DIR": str(self.folder), "SYSTEMD_COLORS": "0"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def test_they_are_valid(self):
        for unit, manager in (("llama-hibernate@.service", "--system"),
                              ("user/llama-hibernate@.service", "--user")):
            with self.subTest(unit):
                done = self.analyze(manager, "verify", "--man=no", self.placed(unit))
                complaints = [line for line in done.stderr.splitlines() if "llama-hibernate" in line]
                self.assertEqual(complaints, [])

    def test_the_sandbox_holds_what_it_can(self):
        # 2.2 of 10 is what is left with the network, the devices and code that is made at run time.
        self.analyze("security", "--offline=yes", "--threshold=25",
                     self.placed("llama-hibernate@.service"))

    def test_what_gpus_need_stays_open(self):
        service = Settings(UNITS / "llama-hibernate@.service")["Service"]
        for closed in ("PrivateDevices", "DevicePolicy", "DeviceAllow", "ProtectClock",
                       "MemoryDenyWriteExecute"):
            self.assertNotIn(closed, service)

    def test_both_stop_and_start_the_same_way(self):
        system, user = (Settings(UNITS / unit)["Service"] for unit in
                        ("llama-hibernate@.service", "user/llama-hibernate@.service"))
        for name in ("Type", "NotifyAccess", "ExecStart", "KillMode", "TimeoutStopSec",
                     "WatchdogSec", "Restart", "RestartPreventExitStatus", "Environment"):
            self.assertEqual(system[name], user[name], name)
        self.assertEqual((system["Type"], system["KillMode"]), ("notify", "mixed"))

    def test_the_user_is_made_as_the_unit_names_it(self):
        service = Settings(UNITS / "llama-hibernate@.service")["Service"]
        users = (SOURCES / "packaging" / "sysusers.d" / "llama-hibernate.conf").read_text()
        self.assertRegex(users, rf"(?m)^u {service['User']} - .* /var/lib/{service['StateDirectory']}$")
        root = self.folder / "root"
        (root / "etc").mkdir(parents=True)
        subprocess.run(["systemd-sysusers", f"--root={root}", "-"], input=users, text=True,
                       check=True, capture_output=True, timeout=60)
        self.assertIn(f"{service['User']}:", (root / "etc" / "passwd").read_text())
        groups = (root / "etc" / "group").read_text()
        for group in ("video", "render"):
            self.assertTrue(re.search(rf"(?m)^{group}:.*:{service['User']}$", groups), groups)


if __name__ == "__main__":
    if not all(map(shutil.which, ("systemd-analyze", "systemd-sysusers"))):
        print("skipped: there is no systemd-analyze; install systemd (packaging/install-packages test)")
        sys.exit(harness.SKIPPED)
    harness.main("HIBERNATE_BIN")
