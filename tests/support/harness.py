"""What the black-box tests share: where the programs are, ports, HTTP, processes, deadlines.

The programs come from the environment, as ctest sets it:
    HIBERNATE_BIN       the llama-hibernate binary
    FAULTY_HIBERNATE    the same on a disk that kills it (faulty_hibernate.cpp)
    FAKE_LLAMA_SERVER   the scripted llama-server
    REAL_LLAMA_SERVER   a real llama-server   } tests that need them are skipped
    MODELS              the folder of models  } (exit status 77) where they are not
"""

import contextlib
import http.client
import importlib
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

SKIPPED = 77
# The program was built without what only Linux has: some promises are not kept then.
PORTABLE = os.environ.get("HIBERNATE_PORTABLE") == "1"
LLAMA_SERVER_NAMES = ("LLAMA_", "FAKE_", "XDG_", "CACHE_DIRECTORY", "NOTIFY_SOCKET",
                      "WATCHDOG_", "LISTEN_", "JOURNAL_STREAM")


def program(variable):
    """The absolute path that a variable names, or None when there is no such program."""
    path = os.environ.get(variable, "")
    return os.path.abspath(path) if path and os.access(path, os.X_OK) else None


def require(*variables):
    """Leaves with ctest's "skipped" status, and the reason, unless all of them are there."""
    for variable in variables:
        if variable == "MODELS":
            found = os.path.isdir(os.environ.get(variable, ""))
        else:
            found = program(variable)
        if not found:
            print(f"skipped: {variable} is {os.environ.get(variable)!r}, which is not there")
            sys.exit(SKIPPED)


def module(name, package):
    """A Python module that Debian has in that package, or the test is skipped. The package serves
    Debian's Python only, so where another one comes first on PATH, Debian's takes over."""
    debians = "/usr/bin/python3"
    try:
        return importlib.import_module(name)
    except ImportError:
        if os.access(debians, os.X_OK) and not os.path.samefile(sys.executable, debians):
            os.execv(debians, [debians, "-B", *sys.argv])
    print(f"skipped: there is no Python module {name}; install {package} "
          "(packaging/install-packages test)")
    sys.exit(SKIPPED)


def skip_in_portable(reason):
    """For a single test of a promise that the program cannot keep without what only Linux has."""
    return unittest.skipIf(PORTABLE, f"built without what only Linux has: {reason}")


def main(*variables):
    """Runs the tests of the calling file, or skips them all."""
    require(*variables)
    sys.stdout.reconfigure(line_buffering=True)
    unittest.main(verbosity=2)


def read_manifests(root):
    """Those of a store, with their files' paths. A daemon may remove one while they are read."""
    found = []
    for path in sorted(pathlib.Path(root).glob("*/*.json")):
        with contextlib.suppress(FileNotFoundError):
            found.append((path, json.loads(path.read_text())))
    return found


def patience(seconds):
    """A deadline for something that must happen: generous, since machines may be busy."""
    return seconds * float(os.environ.get("TEST_PATIENCE", "3"))


def wait_until(condition, seconds=10, what=None):
    """Waits for a condition to be true and returns its value; fails when it does not come true."""
    deadline = time.monotonic() + patience(seconds)
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {patience(seconds):.0f} s: {what or condition}")
        time.sleep(0.01)


def free_port():
    """A port that was free a moment ago and that the system gives out to nobody soon."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def clean_environment(**more):
    """Our environment without what would steer llama-hibernate or its child, plus the given."""
    environment = {
        name: value for name, value in os.environ.items()
        if not name.startswith(LLAMA_SERVER_NAMES)
    }
    environment.update({name: str(value) for name, value in more.items()})
    return environment


def write_model(path, seed=b"model", metadata=None):
    """A file that begins like a GGUF model: enough for all who only identify it, or read its
    metadata (texts and whole numbers)."""
    entries = b""
    for key, value in (metadata or {}).items():
        entries += struct.pack("<Q", len(key)) + key.encode()
        entries += (struct.pack("<II", 4, value) if isinstance(value, int) else
                    struct.pack("<IQ", 8, len(value)) + value.encode())
    body = struct.pack("<4sIQQ", b"GGUF", 3, 0, len(metadata or {})) + entries + seed * 1000
    pathlib.Path(path).write_bytes(body)
    return str(path)


# ---------------------------------------------------------------------------
# HTTP


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"<{self.status} {self.body[:300]!r}>"


def request(port, method, target, body=None, headers=None, timeout=30, host="127.0.0.1"):
    """One request on a connection of its own."""
    connection = http.client.HTTPConnection(host, port, timeout=timeout)
    try:
        payload = json.dumps(body) if isinstance(body, (dict, list)) else body
        sent = {"Content-Type": "application/json"} if payload is not None else {}
        connection.request(method, target, payload, {**sent, **(headers or {})})
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())
    finally:
        connection.close()


def get(port, target, **options):
    return request(port, "GET", target, **options)


def post(port, target, body, **options):
    return request(port, "POST", target, body, **options)


def try_get(port, target, **options):
    """The same, or None when there is no answer."""
    try:
        return get(port, target, **options)
    except (OSError, http.client.HTTPException):
        return None


def wait_ready(port, seconds=20, target="/health", process=None):
    def ready():
        if process is not None and process.poll() is not None:
            raise AssertionError(f"ended with {process.poll()} before it was ready")
        answer = try_get(port, target)
        return answer is not None and answer.status == 200
    wait_until(ready, seconds, f"{target} answers 200")


class Stream:
    """A streamed request that is read bit by bit, on a connection that stays open."""

    def __init__(self, port, target, body, headers=None, timeout=30):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.received = b""
        payload = json.dumps(body).encode()
        head = f"POST {target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        for name, value in (headers or {}).items():
            head += f"{name}: {value}\r\n"
        self.socket.sendall(f"{head}Content-Length: {len(payload)}\r\n\r\n".encode() + payload)

    def read_until(self, text, seconds=10):
        deadline = time.monotonic() + patience(seconds)
        while text not in self.received:
            self.socket.settimeout(max(0.01, deadline - time.monotonic()))
            data = self.socket.recv(65536)
            if not data:
                raise AssertionError(f"ended before {text!r}: {self.received[-300:]!r}")
            self.received += data
        return self.received

    def read_to_end(self, seconds=10):
        """Until the other side closes, however it does that."""
        self.socket.settimeout(patience(seconds))
        with contextlib.suppress(ConnectionError):
            while data := self.socket.recv(65536):
                self.received += data
        return self.received

    def close(self):
        self.socket.close()


# ---------------------------------------------------------------------------
# Processes


def stat_of(pid):
    """Fields of /proc/PID/stat after the name, or None when there is no such process."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text[text.rindex(")") + 2:].split()


def is_running(pid):
    fields = stat_of(pid)
    return fields is not None and fields[0] not in "ZX"


def children(pid):
    """Processes whose parent it is, zombies too, as (pid, state)."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            fields = stat_of(entry.name)
            if fields and int(fields[1]) == pid:
                found.append((int(entry.name), fields[0]))
    return found


class Program:
    """A started program whose output is collected; ended for certain when the test is over."""

    def __init__(self, argv, environment, **options):
        self.argv = argv
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            argv, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True, **options)
        self.pid = self.process.pid
        self.lines = []
        self.reader = threading.Thread(target=self._collect, daemon=True)
        self.reader.start()

    def _collect(self):
        for line in self.process.stdout:
            self.lines.append(line.decode(errors="replace").rstrip("\n"))

    @property
    def output(self):
        return "\n".join(self.lines)

    def poll(self):
        return self.process.poll()

    def send(self, number):
        self.process.send_signal(number)

    def wait(self, seconds=10):
        """The exit status, and how long it took from this call."""
        begun = time.monotonic()
        try:
            status = self.process.wait(patience(seconds))
        except subprocess.TimeoutExpired:
            raise AssertionError(
                f"{self.argv[0]} did not end within {patience(seconds):.0f} s:\n{self.output}"
            ) from None
        took = time.monotonic() - begun
        self.reader.join(patience(2))
        return status, took

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def close(self):
        """When nobody holds the other end of its output any more."""
        self.reader.join(patience(5))
        if not self.reader.is_alive():
            self.process.stdout.close()


def read_log(path):
    """The scripted server's FAKE_LOG: a list of dictionaries, in order."""
    try:
        lines = pathlib.Path(path).read_text().splitlines()
    except FileNotFoundError:
        return []
    events = []
    for line in lines:
        with contextlib.suppress(json.JSONDecodeError):
            events.append(json.loads(line))
    return events


class Case(unittest.TestCase):
    """A test with a folder of its own, whose programs end with it, and all that those started."""

    def store(self, *arguments, status=0):
        """Runs a command on the store; returns what it says."""
        done = subprocess.run(
            [program("HIBERNATE_BIN"), "store", *map(str, arguments),
             "--hibernate-dir", self.root],
            env=self.environment(), capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.complaints = done.stderr
        return done.stdout

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hibernate-test-"))
        self.programs = []
        self.addCleanup(self._clean)

    def _clean(self):
        for each in reversed(self.programs):
            each.end()
        for pid in self._left_behind():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for each in self.programs:
            each.close()
        result = self._outcome.result
        if any(test is self for test, _ in result.failures + result.errors):
            for each in self.programs:
                print(f"--- {each.argv[0]} said:\n{each.output[-6000:]}\n---")
        shutil.rmtree(self.folder, ignore_errors=True)

    def environment(self, **more):
        """For what this test starts; its children inherit the mark that finds them again."""
        return clean_environment(HOME=self.folder, HIBERNATE_TEST=self.folder, **more)

    def _left_behind(self):
        """Whoever was started by this test and still runs."""
        mark = f"HIBERNATE_TEST={self.folder}".encode()
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                with contextlib.suppress(OSError):
                    if mark in (entry / "environ").read_bytes().split(b"\0"):
                        found.append(int(entry.name))
        return found

    def start(self, argv, environment=None, **options):
        each = Program([str(part) for part in argv],
                       environment if environment is not None else self.environment(), **options)
        self.programs.append(each)
        return each
