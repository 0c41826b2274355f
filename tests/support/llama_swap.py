"""A stand-in for llama-swap, as far as the program that it runs can tell the difference.

It starts a command line in its own process group with one pipe for stdout and stderr, waits 250 ms,
probes GET /health one try at a time with a second's sleep after every answer that is not 200, sends
requests over kept-alive connections, and stops what it started as llama-swap does: SIGTERM to the
whole group, SIGKILL to the group after the grace, and then up to ten seconds for the pipe to close.
"""

import contextlib
import http.client
import json
import os
import shlex
import signal
import subprocess
import threading
import time

FIRST_PROBE_AFTER = 0.25
PROBE_SLEEP = 1.0
IDLE_LIMIT = 90.0
PIPE_LIMIT = 10.0


class StartFailed(Exception):
    pass


class Stopped:
    """How a stop went. Times in seconds from its signal; status as subprocess reports it."""

    def __init__(self, status, exited_after, pipe_closed_after, killed):
        self.status = status
        self.exited_after = exited_after
        self.pipe_closed_after = pipe_closed_after  # None: still held when llama-swap gave up
        self.killed = killed  # the grace was over

    def __repr__(self):
        return (f"<stopped status={self.status} exited_after={self.exited_after:.2f} "
                f"pipe={self.pipe_closed_after} killed={self.killed}>")


class LlamaSwap:
    """One model of llama-swap. ${PORT} in the command line becomes its port."""

    def __init__(self, command, port, environment=None, check_endpoint="/health"):
        self.argv = shlex.split(command) if isinstance(command, str) else [str(a) for a in command]
        self.argv = [part.replace("${PORT}", str(port)) for part in self.argv]
        self.port = port
        self.environment = environment
        self.check_endpoint = check_endpoint
        self.process = None
        self.lines = []
        self.probes = []  # (seconds since the start, status or None)
        self.ready_after = None
        self._idle = []  # (connection, since)
        self._lock = threading.Lock()

    @property
    def output(self):
        return "\n".join(self.lines)

    @property
    def pid(self):
        return self.process.pid

    def spawn(self):
        """The process alone, without waiting for it."""
        self.lines, self.probes, self.ready_after, self._idle = [], [], None, []
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            self.argv, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, process_group=0)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def start(self, health_timeout=120.0):
        """Returns when /health said 200; raises StartFailed as llama-swap gives up."""
        self.spawn()
        time.sleep(FIRST_PROBE_AFTER)
        deadline = time.monotonic() + health_timeout
        while True:
            if self.process.poll() is not None:
                raise StartFailed(f"upstream command exited prematurely: {self.process.returncode}"
                                  f"\n{self.output}")
            if time.monotonic() > deadline:
                self.stop(5.0)
                raise StartFailed(f"health check timed out\n{self.output}")
            status = self._probe()
            self.probes.append((time.monotonic() - self.started, status))
            if status == 200:
                self.ready_after = time.monotonic() - self.started
                return self
            time.sleep(PROBE_SLEEP)

    def _probe(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest("GET", self.check_endpoint, skip_host=True,
                                  skip_accept_encoding=True)
            connection.putheader("Host", f"localhost:{self.port}")
            connection.putheader("Accept-Encoding", "gzip")
            connection.endheaders()
            response = connection.getresponse()
            response.read()
            return response.status
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def request(self, method, target, body=None, headers=None):
        """A request over a kept-alive connection: (status, headers, body)."""
        connection = self._borrow()
        payload = json.dumps(body) if isinstance(body, (dict, list)) else body
        sent = {"X-Forwarded-For": "192.0.2.7"}
        if payload is not None:
            sent["Content-Type"] = "application/json"
        connection.request(method, target, payload, {**sent, **(headers or {})})
        response = connection.getresponse()
        content = response.read()
        if response.will_close:
            connection.close()
        else:
            with self._lock:
                self._idle.append((connection, time.monotonic()))
        return response.status, response.headers, content

    def post(self, target, body, headers=None):
        """The JSON of a request that must succeed."""
        status, _, content = self.request("POST", target, body, headers)
        if status != 200:
            raise AssertionError(f"POST {target}: {status} {content[:500]!r}\n{self.output}")
        return json.loads(content)

    def get(self, target):
        status, _, content = self.request("GET", target)
        return status, content

    def stop(self, grace=10.0):
        """Stops it, and tells how that went."""
        begun = time.monotonic()
        killed = False
        self._signal_group(signal.SIGTERM)
        try:
            self.process.wait(grace)
        except subprocess.TimeoutExpired:
            killed = True
            self._signal_group(signal.SIGKILL)
            self.process.wait()
        exited_after = time.monotonic() - begun
        self._reader.join(PIPE_LIMIT)
        held = self._reader.is_alive()
        closed_after = None if held else time.monotonic() - begun
        self._drop_connections()
        return Stopped(self.process.returncode, exited_after, closed_after, killed)

    def end(self):
        """For a test's clean-up."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.stop(0.0)
        self._reader.join(PIPE_LIMIT)
        if not self._reader.is_alive():
            self.process.stdout.close()
        self._drop_connections()

    def _signal_group(self, number):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def _borrow(self):
        with self._lock:
            while self._idle:
                connection, since = self._idle.pop()
                if time.monotonic() - since < IDLE_LIMIT:
                    return connection
                connection.close()
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)

    def _drop_connections(self):
        with self._lock:
            for connection, _ in self._idle:
                connection.close()
            self._idle = []

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.decode(errors="replace").rstrip("\n"))
