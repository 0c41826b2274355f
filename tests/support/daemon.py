"""A llama-hibernate with the scripted llama-server behind it, for black-box tests."""

import contextlib
import os
import pathlib
import signal

import harness

FORWARDER = pathlib.Path(__file__).resolve().parent / "forwarding_server.py"

# Long enough to be worth a file whatever the smallest worthwhile slot is.
LONG = "The quick brown fox jumps over the lazy dog. " * 16
OTHER = "Sphinx of black quartz, judge my vow for ever. " * 16


def chat(text, n=8, **more):
    return {"messages": [{"role": "user", "content": text}], "max_tokens": n, "temperature": 0,
            **more}


class DaemonCase(harness.Case):
    def setUp(self):
        super().setUp()
        self.root = self.folder / "store"
        self.log = self.folder / "child.log"
        self.model = harness.write_model(self.folder / "model.gguf")
        self.fake = harness.program("FAKE_LLAMA_SERVER")

    def launch(self, *arguments, server=None, model=True, port=True, root=True, ours=(), **script):
        """Starts a daemon; arguments are llama-server's, ours llama-hibernate's, script becomes
        the environment (FAKE_*, LLAMA_ARG_*)."""
        line = [harness.program("HIBERNATE_BIN")]
        if root:
            line += ["--hibernate-dir", self.root]
        line += list(ours)
        if server is not False:
            line += [server or self.fake]
        if model:
            line += ["-m", self.model]
        chosen = harness.free_port() if port is True else port
        if chosen:
            line += ["--host", "127.0.0.1", "--port", chosen]
        started = self.start([*line, *arguments],
                             self.environment(FAKE_LOG=self.log, **script))
        started.port = chosen
        return started

    def ready(self, *arguments, **more):
        """The same, and waits for it to serve."""
        daemon = self.launch(*arguments, **more)
        harness.wait_ready(daemon.port, process=daemon)
        return daemon

    def forwarding(self, backend):
        """A daemon whose child is a server on that port, which the test plays itself."""
        return self.ready(server=FORWARDER, model=False, BACKEND=backend)

    def complete(self, daemon, text=LONG, n=8, **more):
        """One chat's answer, as JSON."""
        answer = harness.post(daemon.port, "/v1/chat/completions", chat(text, n, **more))
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def go_on(self, daemon, text):
        """The next turn of a conversation that seed() left, with a long question."""
        messages = [{"role": "user", "content": text},
                    {"role": "assistant", "content": self.replies[text]},
                    {"role": "user", "content": "And what came after that? " * 20}]
        answer = harness.post(daemon.port, "/v1/chat/completions",
                              {"messages": messages, "max_tokens": 8, "temperature": 0})
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def child(self, daemon):
        """The pid of its child."""
        return harness.wait_until(
            lambda: [pid for pid, state in harness.children(daemon.pid) if state != "Z"],
            what="a child")[0]

    def events(self, kind=None):
        """What the children saw so far, in order."""
        return [e for e in harness.read_log(self.log) if kind is None or e["event"] == kind]

    def actions(self, name):
        """The slot actions that the children were asked for."""
        return [e for e in self.events("request") if f"action={name}" in e["target"]]

    def wait_for_action(self, name, count=1):
        harness.wait_until(lambda: len(self.actions(name)) >= count, what=f"a {name} began")

    def manifests(self):
        return [manifest for _, manifest in harness.read_manifests(self.root)]

    def snapshot_tokens(self):
        """How many tokens each committed snapshot has, whole files only."""
        counts = []
        for path, manifest in harness.read_manifests(self.root):
            try:
                self.assertEqual(path.with_suffix(".kv").stat().st_size, manifest["bytes"])
            except FileNotFoundError:
                self.assertFalse(path.exists(), "a manifest without its state")
                continue
            counts.append(manifest["tokens"])
        return sorted(counts)

    def stop(self, daemon, number=signal.SIGTERM, within=8, status=0):
        """Asks it to stop and checks that it went as promised; returns how long that took."""
        child = [pid for pid, _ in harness.children(daemon.pid)]
        daemon.send(number)
        return self.ends(daemon, within, status, child)

    def ends(self, daemon, within, status, children=()):
        ended, took = daemon.wait(within + 1)
        self.assertEqual(ended, status, daemon.output)
        # A second for a busy machine: whoever waits for us has no more patience than that.
        self.assertLess(took, within + 1, daemon.output)
        for pid in children:
            self.assertFalse(harness.is_running(pid), "the child outlived the daemon")
        return took

    def says(self, daemon, text):
        """Waits for a text in its output, which is read as it comes."""
        harness.wait_until(lambda: text in daemon.output, 5, f"{text!r} in the output")

    def status_of(self, daemon):
        """How it ended. A child that did not die with it is ended by hand."""
        daemon.process.wait(harness.patience(10))
        for pid in self._left_behind() if harness.PORTABLE else ():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return daemon.wait(10)[0]

    def seed(self, *texts):
        """Leaves a snapshot of each text in the store, and an empty log; two slots at most."""
        daemon = self.ready("-np", 2)
        self.replies = {}
        for slot, text in enumerate(texts or (LONG,)):
            answer = self.complete(daemon, text, id_slot=slot)
            self.replies[text] = answer["choices"][0]["message"]["content"]
        self.stop(daemon)
        self.assertEqual(len(self.snapshot_tokens()), len(texts or (LONG,)), daemon.output)
        self.log.unlink()
        return daemon
