"""The demonstration itself (see demo.sh):   demo.py HIBERNATE LLAMA_SERVER MODEL TOKENS"""

import http.client
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time

SENTENCE = "The river ran past seven old houses and a mill that nobody had used since the war. "


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def say(text=""):
    print(text, flush=True)


class Daemon:
    def __init__(self, hibernate, server, model, store):
        self.port = free_port()
        self.command = [hibernate, "--hibernate-dir", store, server, "-m", model,
                        "--host", "127.0.0.1", "--port", str(self.port)]
        self.log = tempfile.TemporaryFile()
        self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        if self.process is not None and self.process.poll() is None:
            self.stop()

    def start(self):
        began = time.monotonic()
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log)
        while self.process.poll() is None:
            try:
                if self.request("GET", "/health").status == 200:
                    return time.monotonic() - began
            except OSError:
                pass
            time.sleep(0.05)
        self.fail(f"llama-hibernate ended with status {self.process.returncode}")

    def request(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request(method, path, json.dumps(body) if body else None,
                           {"Content-Type": "application/json"})
        response = connection.getresponse()
        response.body = response.read()
        connection.close()
        return response

    def chat(self, text):
        began = time.monotonic()
        response = self.request("POST", "/v1/chat/completions", {
            "messages": [{"role": "user", "content": text}], "max_tokens": 8, "temperature": 0})
        took = time.monotonic() - began
        answer = json.loads(response.body)
        if response.status != 200:
            self.fail(f"the chat was answered {response.status}: {answer}")
        timings = answer["timings"]
        return timings["cache_n"], timings["prompt_n"], took

    def text_of(self, tokens):
        """A text of about so many tokens of the model's."""
        one = json.loads(self.request("POST", "/tokenize", {"content": SENTENCE}).body)
        return SENTENCE * max(1, round(tokens / len(one["tokens"])))

    def stop(self):
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        return time.monotonic() - began

    def own_lines(self):
        self.log.seek(0)
        return [line.decode(errors="replace").rstrip() for line in self.log
                if b" llama-hibernate " in line[:60]]

    def fail(self, why):
        self.log.seek(0)
        tail = self.log.read().decode(errors="replace").splitlines()[-20:]
        sys.exit("\n".join([*tail, "demo: " + why]))


def main():
    hibernate, server, model = (os.path.abspath(path) for path in sys.argv[1:4])
    tokens = int(sys.argv[4])

    say(f"llama-server  {server}")
    say(f"model         {model}")
    rows = []
    with (tempfile.TemporaryDirectory(prefix="llama-hibernate-demo-") as store,
          Daemon(hibernate, server, model, store) as daemon):
        say(f"\n1. start                       ready after {daemon.start():.2f} s")
        say("2. a chat with a long prompt   ...")
        text = daemon.text_of(tokens)
        rows.append(("cold", *daemon.chat(text)))
        say(f"3. stop (SIGTERM)              saved and gone after {daemon.stop():.2f} s")
        size = sum(entry.stat().st_size for entry in os.scandir(next(os.scandir(store)).path))
        say(f"                               {size / 2**20:.1f} MiB on disk")
        say(f"4. start                       ready, and restored, after {daemon.start():.2f} s")
        say("5. the same chat again         ...")
        rows.append(("restored", *daemon.chat(text)))
        daemon.stop()
        say("\nwhat llama-hibernate logged:")
        for line in daemon.own_lines():
            say("   " + line)

    say(f"\n{'':10}{'tokens reused':>15}{'tokens computed':>17}{'time':>10}")
    for name, reused, computed, took in rows:
        say(f"{name:10}{reused:>15}{computed:>17}{took:>8.2f} s")
    if rows[1][1] == 0:
        sys.exit("\ndemo: nothing was reused after the restart. With a model that is not plain attention,\n"
                 "an older llama-server does that (README.md, Limits); else it should not be.")

    say("\nIn llama-swap's config the command line changes by one word:\n")
    say("models:")
    say('  "my-model":')
    say("    cmd: |")
    say(f"      {shlex.join([hibernate, server, '-m', model])} --port ${{PORT}}")


try:
    main()
except KeyboardInterrupt:
    sys.exit(130)
