#!/usr/bin/env python3
"""What keeping large conversations costs, on a real llama-server with the model bench-llama, whose
cache takes 32 KiB a token, and llama-server's default flags.

    tests/bench/conversations.py [TOKENS] [TURNS]        4096 and 50 unless given

Programs as the tests take them (HIBERNATE_BIN, REAL_LLAMA_SERVER), else those that tests/run.sh left
in build/. The model is made in the temporary directory. Four conversations of so many tokens:
  stop, all saved      from SIGTERM to the exit, when the idle saves had done everything
  stop, one unsaved    the same with one conversation that was not saved yet, less llama-server's own
                       time for that save
  restore              from the child's first 200 to ours, with all four, against dd on their files
and a chat of so many turns with a pause after each: bytes written, against so many full saves. The
same for ten turns with a reply of 64 tokens, with prompts saved apart and without: what a turn
costs, in bytes, in time from the reply to the end of its saves, and in tokens that the next turn
computes, when the client repeats the reply and when it changes it.
"""

import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/support"))
import harness

BIN = os.environ.get("HIBERNATE_BIN", TOP / "build/release/llama-hibernate")
SERVER = os.environ.get("REAL_LLAMA_SERVER", TOP / "build/llama/llama-server")


class Life:
    """One life of the daemon."""

    def __init__(self, store, model, idle, ours=()):
        self.port = harness.free_port()
        self.lines = []
        self.process = subprocess.Popen(
            [BIN, "--hibernate-dir", store, "--hibernate-idle-save", idle, "--hibernate-min-free",
             "0", "--hibernate-stop-budget", "60s", *ours, SERVER, "-m", model, "--port", str(self.port),
             "-c", "32768", "-t", "2", "--no-warmup", "--log-disable"],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, errors="replace")
        started = threading.Event()
        self.reader = threading.Thread(target=self.read, args=(started,))
        self.reader.start()
        ours = []
        asker = threading.Thread(target=lambda: ours.append(self.first_200(self.port)))
        asker.start()
        started.wait(30)
        child = self.first_200(self.child_port)
        asker.join()
        self.restore_ms = (ours[0] - child) * 1000

    def read(self, started):
        for line in self.process.stderr:
            self.lines.append(line)
            if found := re.search(r"process \d+, port (\d+)\)", line):
                self.child_port = int(found[1])
                started.set()

    def first_200(self, port):
        while True:
            try:
                if self.request("GET", "/health", port=port)[0] == 200:
                    return time.monotonic()
            except OSError:
                pass
            time.sleep(0.001)

    def request(self, method, path, body=None, port=None):
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=600)
        try:
            connection.request(method, path, json.dumps(body) if body else None)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def say(self, tokens, n=1):
        status, answer = self.request("POST", "/completion",
                                      {"prompt": tokens, "n_predict": n, "return_tokens": True})
        assert status == 200, answer
        return json.loads(answer)

    def wait_for_saves(self, count, line_with="saved slot"):
        harness.wait_until(lambda: sum(line_with in line for line in self.lines) >= count, 120,
                           f"{count} saves")

    def stop(self):
        """Milliseconds, and those of them that llama-server saved in."""
        before = len(self.lines)
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        took = (time.monotonic() - began) * 1000
        self.reader.join()
        assert self.process.returncode == 0, self.lines
        saving = 0.0
        for line in self.lines[before:]:
            if found := re.search(r"saved slot \d+ .* in ([\d.]+) (ms|s) ", line):
                saving += float(found[1]) * (1000 if found[2] == "s" else 1)
        return took, saving


def conversation(number, tokens):
    return [1 + (number * 7919 + i * i * 31 + i) % 240 for i in range(tokens)]


def state_files(store):
    return sorted(pathlib.Path(store).glob("*/*.kv"))


def boundary(folder, model, choice, verbatim, turns=10):
    """Prints what a turn costs with --hibernate-boundary always or never."""
    store = pathlib.Path(folder) / f"boundary-{choice}-{verbatim}"
    life = Life(store, model, "50ms", ["--hibernate-boundary", choice])
    prompt, written, computed, saving, seen = conversation(5, 2048), 0, 0, 0.0, set()
    for turn in range(turns):
        answer = life.say(prompt, n=64)
        computed += answer["timings"]["prompt_n"] if turn else 0
        began = time.monotonic()
        life.wait_for_saves((turn + 1) * (2 if choice == "always" else 1), "info: saved ")
        saving += time.monotonic() - began - 0.05
        prompt += answer["tokens"] if verbatim else conversation(turn + 90, 32)
        prompt += conversation(turn + 20, 32)
        for path in state_files(store):
            if path.name not in seen:
                seen.add(path.name)
                written += path.stat().st_size
    life.stop()
    print(f"boundary {choice}, replies {'repeated' if verbatim else 'changed'}: a turn writes "
          f"{written / turns / 2**20:.1f} MiB, its saves take {saving / turns * 1000:.0f} ms, "
          f"the next computes {computed / (turns - 1):.0f} tokens")


def main():
    tokens = int(sys.argv[1]) if len(sys.argv) > 1 else 4096
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        subprocess.run([sys.executable, TOP / "tests/support/make_models.py", folder,
                        "bench-llama"], check=True, stdout=subprocess.DEVNULL)
        model = pathlib.Path(folder) / "bench-llama.gguf"
        store = pathlib.Path(folder) / "store"

        life = Life(store, model, "200ms")
        for number in range(4):
            life.say(conversation(number, tokens))
        life.wait_for_saves(4)
        before = [(path.name, path.stat().st_mtime_ns) for path in state_files(store)]
        took, _ = life.stop()
        written = [(path.name, path.stat().st_mtime_ns) for path in state_files(store)] != before
        print(f"stop, all saved: {took:.0f} ms, state bytes written: {'some' if written else 0}")

        files = state_files(store)
        size = sum(path.stat().st_size for path in files)
        began = time.monotonic()
        for path in files:
            subprocess.run(["dd", f"if={path}", "of=/dev/null", "bs=1M", "status=none"], check=True)
        dd = (time.monotonic() - began) * 1000
        life = Life(store, model, "0")
        print(f"restore: {life.restore_ms:.0f} ms for {len(files)} conversations, "
              f"{size / 2**20:.0f} MiB; dd takes {dd:.0f} ms: {life.restore_ms / dd:.2f} times")
        for line in life.lines:
            if "ready in" in line:
                print("   ", line.strip())
        life.say(conversation(9, tokens))
        took, saving = life.stop()
        print(f"stop, one unsaved: {took:.0f} ms, of which llama-server saved {saving:.0f}: "
              f"{took - saving:.0f} ms more")

        store = pathlib.Path(folder) / "chat"
        life = Life(store, model, "50ms")
        prompt, full, written, seen = conversation(5, 256), 0, 0, set()
        for turn in range(turns):
            answer = life.say(prompt, n=8)
            prompt = prompt + answer["tokens"] + conversation(turn + 20, 32)
            life.wait_for_saves(turn + 1)
            for path in state_files(store):
                if path.name not in seen:
                    seen.add(path.name)
                    written += path.stat().st_size
                    full = max(full, path.stat().st_size)
        life.stop()
        print(f"a chat of {turns} turns: {written / 2**20:.0f} MiB written; {turns} saves of its "
              f"last state: {turns * full / 2**20:.0f} MiB")
        for verbatim in (True, False):
            for choice in ("never", "always"):
                boundary(folder, model, choice, verbatim)


main()
