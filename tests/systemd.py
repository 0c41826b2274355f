#!/usr/bin/env python3
"""Runs the system unit under a real systemd:   sudo tests/systemd.py [build/release]

A systemd of its own is started in namespaces of its own, on a copy of this system that goes away with
it (an overlay): it changes none of this system's files and services. It needs root, overlayfs, and a
build with tests; the llama-server is the scripted one, and in one test that of REAL_LLAMA_SERVER with
a model of MODELS, if both are set. Not part of tests/run.sh.
"""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

SOURCES = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCES / "tests" / "support"))
import harness
from daemon import LONG, chat

# Runs as the first process of new namespaces, becomes systemd. $1 is an empty folder, $2 has the
# files to put into the copy.
BOOT = r"""
set -e
mount -t tmpfs -o mode=0755 tmpfs "$1"
mkdir "$1/upper" "$1/scratch" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/scratch" "$1/root"
cp -a "$2/." "$1/root/"
cd "$1/root"
mount -t proc proc proc
mount --bind proc/sys proc/sys && mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=0755 tmpfs run
mount -t tmpfs -o mode=0755 tmpfs dev
for node in null:3 zero:5 full:7 random:8 urandom:9; do mknod -m 666 "dev/${node%:*}" c 1 "${node#*:}"; done
mkdir dev/shm dev/pts
mkdir -p mnt
pivot_root . mnt
exec chroot . /bin/sh -c 'umount -l /mnt; exec /usr/bin/env -i container=test \
    PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --unit=unit-test.target' >/dev/null 2>&1
"""

# What a start of the system does to a machine; the copy shares its kernel.
MASKED = """systemd-sysctl systemd-udevd systemd-udev-trigger systemd-udev-settle systemd-modules-load
systemd-random-seed systemd-remount-fs systemd-binfmt systemd-tmpfiles-setup-dev kmod-static-nodes
systemd-hwdb-update systemd-update-utmp systemd-firstboot systemd-machine-id-commit systemd-sysusers
systemd-networkd systemd-resolved systemd-timesyncd systemd-logind modprobe@""".split()


DROP_IN = "/run/systemd/system/llama-hibernate@one.service.d"


class Machine:
    def __init__(self, files):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hibernate-test-"))
        cgroups = pathlib.Path("/sys/fs/cgroup")
        unified = cgroups if (cgroups / "cgroup.procs").exists() else cgroups / "unified"
        self.group = unified / self.folder.name
        self.group.mkdir()
        self.process = subprocess.Popen(
            ["unshare", "--fork", "--kill-child", "--pid", "--mount", "--uts", "--ipc", "--cgroup",
             "--propagation", "private", "/bin/sh", "-c", BOOT, "boot", self.folder, files],
            preexec_fn=lambda: (self.group / "cgroup.procs").write_text(str(os.getpid())),
            stdin=subprocess.DEVNULL, start_new_session=True)
        harness.wait_until(
            lambda: harness.children(self.process.pid) and
            self.run("systemctl", "is-active", "unit-test.target").stdout == "active\n",
            60, "systemd is up")

    def run(self, *command):
        (init, _), = harness.children(self.process.pid)
        return subprocess.run(
            ["nsenter", "-t", str(init), "--pid", "--mount", "--uts", "--ipc", "--cgroup",
             "--root", "--wd=/", *map(str, command)], capture_output=True, text=True, timeout=180,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "SYSTEMD_COLORS": "0"})

    def close(self):
        self.process.kill()
        self.process.wait()
        with contextlib.suppress(OSError):
            harness.wait_until(
                lambda: "populated 0" in (self.group / "cgroup.events").read_text(), 10)
            for below in sorted(self.group.rglob("*"), reverse=True):
                if below.is_dir():
                    below.rmdir()
            self.group.rmdir()
        shutil.rmtree(self.folder)


def place(root, source, name, mode=0o644):
    target = root / name
    target.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(source, pathlib.Path):
        shutil.copyfile(source, target)
    else:
        target.write_text(source)
    target.chmod(mode)


class Unit(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.files = pathlib.Path(tempfile.mkdtemp(prefix="hibernate-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.files)
        cls.files.chmod(0o755)
        cls.port = harness.free_port()
        units = SOURCES / "packaging" / "systemd"
        place(cls.files, BUILD / "llama-hibernate", "usr/bin/llama-hibernate", 0o755)
        place(cls.files, BUILD / "tests" / "fake_llama_server", "usr/bin/llama-server", 0o755)
        place(cls.files, units / "llama-hibernate@.service",
              "usr/lib/systemd/system/llama-hibernate@.service")
        place(cls.files, SOURCES / "packaging/sysusers.d/llama-hibernate.conf",
              "usr/lib/sysusers.d/llama-hibernate.conf")
        place(cls.files, "[Unit]\nWants=systemd-journald.socket systemd-journald.service\n",
              "etc/systemd/system/unit-test.target")
        for name in MASKED:
            place(cls.files, "", f"etc/systemd/system/{name}.service")  # empty: masked
        # In quotes within the quotes, because it has a space.
        place(cls.files, f"LLAMA_ARG_HOST=127.0.0.1\nLLAMA_ARG_PORT={cls.port}\n"
              "ARGS=\"-np 2 -m '/srv/my models/one.gguf'\"\n",
              "etc/llama-hibernate/one.env")
        place(cls.files, "ARGS=--hibernate-drain soon\n", "etc/llama-hibernate/wrong.env")
        place(cls.files, units / "user/llama-hibernate@.service",
              "usr/lib/systemd/user/llama-hibernate@.service")
        cls.own_port = harness.free_port()
        place(cls.files, f"LLAMA_ARG_MODEL=/srv/my models/one.gguf\nLLAMA_ARG_PORT={cls.own_port}\n",
              "home/ada/.config/llama-hibernate/own.env")
        (cls.files / "srv/my models").mkdir(parents=True)
        harness.write_model(cls.files / "srv/my models/one.gguf")
        cls.real = harness.program("REAL_LLAMA_SERVER") and os.environ.get("MODELS")
        if cls.real:
            shutil.copytree(pathlib.Path(harness.program("REAL_LLAMA_SERVER")).parent,
                            cls.files / "opt/llama", symlinks=True)
            place(cls.files, pathlib.Path(os.environ["MODELS"]) / "tiny-llama.gguf",
                  "srv/my models/tiny.gguf")
            place(cls.files, "LLAMA_ARG_MODEL=/srv/my models/tiny.gguf\nLLAMA_ARG_HOST=127.0.0.1\n"
                  f"LLAMA_ARG_PORT={cls.port}\nLLAMA_HIBERNATE_SERVER=/opt/llama/llama-server\n"
                  "LLAMA_HIBERNATE_INTERNAL=unix\nARGS=-np 2 -t 1 -c 8192 --no-warmup\n",
                  "etc/llama-hibernate/real.env")
        cls.machine = Machine(cls.files)
        cls.addClassCleanup(cls.machine.close)
        made = cls.machine.run("systemd-sysusers")
        assert made.returncode == 0, made.stderr

    def systemctl(self, *arguments, status=0):
        done = self.machine.run("systemctl", *arguments)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr + self.journal())
        return done.stdout

    def show(self, name, unit="llama-hibernate@one"):
        return self.systemctl("show", "--property", name, "--value", unit).strip()

    def journal(self, *arguments):
        return self.machine.run("journalctl", "--no-pager", "-o", "cat", *arguments).stdout

    def complete(self, port=None):
        answer = harness.post(port or self.port, "/v1/chat/completions", chat(LONG))
        self.assertEqual(answer.status, 200, answer)
        return answer.json["timings"]

    def change(self, *settings):
        """For this test."""
        text = "".join(f"{line}\\n" for line in ("[Service]", *settings))
        self.machine.run("sh", "-c", f"mkdir -p {DROP_IN} && printf '{text}' > {DROP_IN}/test.conf")
        self.systemctl("daemon-reload")

    def tearDown(self):
        self.machine.run("systemctl", "stop", "llama-hibernate@one", "llama-hibernate@real")
        self.machine.run("systemctl", "reset-failed")
        self.machine.run("rm", "-rf", DROP_IN)
        self.machine.run("systemctl", "daemon-reload")

    def test_a_conversation_survives_a_restart(self):
        self.systemctl("start", "llama-hibernate@one")
        self.assertEqual(harness.get(self.port, "/health").status, 200, "it is started when it is ready")
        self.assertEqual((self.show("ActiveState"), self.show("StatusText")),
                         ("active", "ready: nothing to restore"))
        self.complete()
        self.systemctl("restart", "llama-hibernate@one")
        self.assertRegex(self.show("StatusText"), "^ready: 1 conversation, .* restored")
        self.assertEqual(self.complete()["prompt_n"], 1)
        self.assertEqual(self.show("Result"), "success")
        store = self.machine.run("stat", "-c", "%U %a", "/var/cache/llama-hibernate").stdout
        self.assertEqual(store, "llama-hibernate 700\n")
        self.assertIn("one-", self.machine.run("ls", "/var/cache/llama-hibernate").stdout)
        lines = self.journal("-u", "llama-hibernate@one", "-p", "info")
        self.assertRegex(lines, r"(?m)^llama-hibernate info: ready in ")
        self.assertNotRegex(lines, r"(?m)^<6>")

    def test_a_hung_daemon_is_started_again(self):
        self.change("WatchdogSec=2")
        self.systemctl("start", "llama-hibernate@one")
        first = self.show("MainPID")
        time.sleep(5)  # it is fed for longer than it waits
        self.assertEqual(self.show("MainPID"), first)
        self.systemctl("kill", "--kill-whom=main", "--signal=STOP", "llama-hibernate@one")
        harness.wait_until(lambda: self.show("MainPID") not in (first, "0"), 60, "another one runs")
        self.assertIn("Watchdog timeout", self.journal("-u", "llama-hibernate@one"))

    def test_a_child_that_dies_is_a_failure_that_is_started_again(self):
        self.systemctl("start", "llama-hibernate@one")
        first = self.show("MainPID")
        self.machine.run("pkill", "-KILL", "-x", "llama-server")
        harness.wait_until(lambda: self.show("MainPID") not in (first, "0") and
                           self.show("ActiveState") == "active", 60, "another one runs")

    def test_wrong_options_are_not_tried_again(self):
        self.systemctl("start", "llama-hibernate@wrong", status=1)
        time.sleep(0.5)
        self.assertEqual(self.show("NRestarts", "llama-hibernate@wrong"), "0")
        self.assertEqual(self.show("ActiveState", "llama-hibernate@wrong"), "failed")
        self.assertIn("--hibernate-drain is \"soon\"", self.journal("-p", "err"))

    def test_a_start_and_a_stop_may_take_longer_than_the_unit_says(self):
        self.change("TimeoutStartSec=2", "TimeoutStopSec=2", "Environment=FAKE_LOAD_MS=5000",
                    "Environment=FAKE_SAVE_MS=5000 LLAMA_HIBERNATE_STOP_BUDGET=20s")
        begun = time.monotonic()
        self.systemctl("start", "llama-hibernate@one")
        self.assertGreater(time.monotonic() - begun, 4)
        self.assertEqual(harness.post(self.port, "/v1/chat/completions", chat(f"long {LONG}")).status,
                         200)
        begun = time.monotonic()
        self.systemctl("stop", "llama-hibernate@one")
        self.assertGreater(time.monotonic() - begun, 4)
        self.assertEqual(self.show("Result"), "success")
        self.assertIn("saved 1 conversation", self.journal("-u", "llama-hibernate@one"))

    def test_a_real_llama_server_in_the_sandbox(self):
        if not self.real:
            self.skipTest("REAL_LLAMA_SERVER and MODELS are not set")
        self.systemctl("start", "llama-hibernate@real")
        body = {"messages": [{"role": "user", "content": LONG * 2}], "max_tokens": 8,
                "temperature": 0}
        first = harness.post(self.port, "/v1/chat/completions", body)
        self.assertEqual(first.status, 200, first)
        self.systemctl("restart", "llama-hibernate@real")
        self.assertRegex(self.show("StatusText", "llama-hibernate@real"), "^ready: 1 conversation, ")
        again = harness.post(self.port, "/v1/chat/completions", body).json
        self.assertGreater(again["timings"]["cache_n"], 256)
        self.assertEqual(again["choices"][0]["message"], first.json["choices"][0]["message"])

    def test_a_stop_takes_llama_server_along_and_leaves_nothing(self):
        self.systemctl("start", "llama-hibernate@one")
        self.complete()
        begun = time.monotonic()
        self.systemctl("stop", "llama-hibernate@one")
        self.assertLess(time.monotonic() - begun, 8)
        self.assertEqual((self.show("ActiveState"), self.show("Result")), ("inactive", "success"))
        self.assertNotEqual(self.machine.run("pgrep", "-x", "llama-server").returncode, 0)

    def test_a_service_of_ones_own(self):
        made = self.machine.run(
            "sh", "-c", "useradd ada && id -u ada && chown -R ada /home/ada && "
            "install -d -o ada -m 700 /run/user/$(id -u ada)")
        runtime = f"XDG_RUNTIME_DIR=/run/user/{made.stdout.strip()}"
        # What user@.service does, without a login.
        begun = self.machine.run(
            "systemd-run", "--unit=ada", "--uid=ada", "--property=Delegate=yes",
            f"--setenv={runtime}", "--setenv=HOME=/home/ada", "/lib/systemd/systemd", "--user")
        self.assertEqual(begun.returncode, 0, begun.stderr)
        own = ["runuser", "-u", "ada", "--", "env", runtime, "systemctl", "--user"]
        harness.wait_until(lambda: self.machine.run(*own, "is-active", "default.target").stdout ==
                           "active\n", 30, "ada's systemd is up")
        status = [*own, "show", "--property=StatusText", "--value", "llama-hibernate@own"]
        started = self.machine.run(*own, "start", "llama-hibernate@own")
        self.assertEqual(started.returncode, 0, started.stderr + self.journal())
        self.assertEqual(self.machine.run(*status).stdout, "ready: nothing to restore\n")
        self.complete(self.own_port)
        self.assertEqual(self.machine.run(*own, "restart", "llama-hibernate@own").returncode, 0)
        self.assertRegex(self.machine.run(*status).stdout, "^ready: 1 conversation, .* restored")
        self.assertEqual(self.complete(self.own_port)["prompt_n"], 1)
        self.assertIn("own-", self.machine.run("ls", "/home/ada/.cache/llama-hibernate").stdout)
        self.assertEqual(self.machine.run(*own, "stop", "llama-hibernate@own").returncode, 0)


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 and os.path.isdir(sys.argv[1])
                         else SOURCES / "build" / "release").resolve()
    if os.geteuid() != 0 or not shutil.which("unshare") or not os.path.exists("/lib/systemd/systemd"):
        print("skipped: it needs root, unshare and systemd")
        sys.exit(harness.SKIPPED)
    unittest.main(verbosity=2)
