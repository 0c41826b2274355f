"""Real conversations with a real llama-server, and llama-hibernate in front of it."""

import os
import pathlib

import harness
from llama_swap import LlamaSwap

# One thread: with two, greedy text differs from run to run.
FLAGS = ["-np", "2", "-t", "1", "-c", "8192", "--no-warmup"]
WORDS = ("the river ran past seven old houses and a mill that nobody had used since the war while "
         "children threw stones at the water and counted how often each of them jumped ")


def turn(role, content):
    return {"role": role, "content": content}


def opening(name, length=700):
    """The first messages of a conversation: at least so many tokens (one per byte of text, about)."""
    text = f"{name}: " + WORDS * (length // 60)
    return [turn("system", f"You are {name}."), turn("user", text)]


def continued(messages, reply, question):
    return [*messages, turn("assistant", reply), turn("user", question)]


def body(messages, n=16, **more):
    return {"messages": messages, "max_tokens": n, "temperature": 0, "seed": 1, **more}


class Reply:
    def __init__(self, answer):
        self.text = answer["choices"][0]["message"]["content"]
        self.reused = answer["timings"]["cache_n"]
        self.computed = answer["timings"]["prompt_n"]

    @property
    def prompt(self):
        """Tokens of the whole prompt."""
        return self.reused + self.computed

    def __repr__(self):
        return f"<{self.reused}+{self.computed} {self.text!r}>"


class RealCase(harness.Case):
    def setUp(self):
        super().setUp()
        self.root = self.folder / "store"
        self.server = harness.program("REAL_LLAMA_SERVER")

    def model(self, name):
        path = os.path.join(os.environ["MODELS"], name + ".gguf")
        self.assertTrue(os.path.exists(path), f"make_models.py has not made {name}")
        return path

    def undisturbed(self, model, *arguments):
        """A llama-server that nobody stops: what everything is compared with. Returns its port."""
        port = harness.free_port()
        started = self.start([self.server, "-m", self.model(model), "--host", "127.0.0.1", "--port",
                              port, *(arguments or FLAGS)])
        harness.wait_ready(port, process=started)
        return port

    def ask_port(self, port, messages, n=16, **more):
        answer = harness.post(port, "/v1/chat/completions", body(messages, n, **more))
        self.assertEqual(answer.status, 200, answer)
        return Reply(answer.json)

    def swap(self, model, *arguments, ours=(), port=None):
        """llama-swap's view of a hibernating model; not started yet."""
        command = [harness.program("HIBERNATE_BIN"), "--hibernate-dir", self.root, *ours,
                   self.server, "-m", self.model(model), "--port", "${PORT}",
                   *(arguments or FLAGS)]
        each = LlamaSwap(command, port or harness.free_port(),
                         self.environment())
        self.addCleanup(each.end)
        return each

    def ask(self, swap, messages, n=16, **more):
        return Reply(swap.post("/v1/chat/completions", body(messages, n, **more)))

    def stop(self, swap, grace=10.0):
        """A stop as llama-swap does it, which must go well."""
        children = [pid for pid, _ in harness.children(swap.pid)]
        stopped = swap.stop(grace)
        self.assertFalse(stopped.killed, f"{stopped}\n{swap.output}")
        self.assertEqual(stopped.status, 0, f"{stopped}\n{swap.output}")
        self.assertIsNotNone(stopped.pipe_closed_after, "something still holds the output")
        for pid in children:
            self.assertFalse(harness.is_running(pid), "llama-server is still there")
        return stopped

    def snapshots(self):
        return sorted(pathlib.Path(self.root).glob("*/*.kv"))

    def manifests(self):
        return [manifest for _, manifest in harness.read_manifests(self.root)]
