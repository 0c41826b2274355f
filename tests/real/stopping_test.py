#!/usr/bin/env python3
"""A real llama-server is stopped in the middle of things, behind llama-swap's stand-in."""

import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import harness
from real import FLAGS, RealCase, body, continued, opening

LONG_FLAGS = ["-np", "2", "-t", "1", "-c", "65536", "--no-warmup"]


class Stopping(RealCase):
    def busy(self, swap):
        return any(slot["is_processing"] for slot in harness.get(swap.port, "/slots").json)

    def generating(self, swap, stream, headers=None):
        client = harness.Stream(swap.port, "/v1/chat/completions",
                                body(opening("Ada"), 30000, stream=stream), headers=headers)
        if stream:
            client.read_until(b'"content":" ')
        else:
            harness.wait_until(lambda: self.busy(swap), what="it generates")
        return client

    def test_the_child_is_shielded(self):
        swap = self.swap("tiny-llama").start()
        ((child, _),) = harness.children(swap.pid)
        status = pathlib.Path(f"/proc/{child}/status").read_text()
        blocked = next(line for line in status.splitlines() if line.startswith("SigBlk"))
        self.assertEqual(int(blocked.split()[1], 16) & 1 << (signal.SIGTERM - 1),
                         1 << (signal.SIGTERM - 1))
        self.assertEqual(int(harness.stat_of(child)[3]), child, "it leads its session")
        self.stop(swap)

    def test_while_it_streams(self):
        self.check_in_the_middle(True, None)

    def test_while_it_answers_without_a_stream(self):
        self.check_in_the_middle(False, None)

    def test_while_a_stream_that_outlives_its_client_runs(self):
        self.check_in_the_middle(True, {"X-Conversation-Id": "conversation-1"})

    def check_in_the_middle(self, stream, headers):
        swap = self.swap("tiny-llama", *LONG_FLAGS).start()
        client = self.generating(swap, stream, headers)
        stopped = self.stop(swap)
        self.assertLess(stopped.exited_after, 8)
        client.close()
        self.assertEqual(len(self.snapshots()), 1, swap.output)
        swap.start()
        reply = self.ask(swap, opening("Ada"))
        self.assertGreater(reply.reused, 600, swap.output)
        self.stop(swap)

    def test_a_kept_alive_connection_holds_nothing_up(self):
        swap = self.swap("tiny-llama").start()
        self.ask(swap, opening("Ada"))
        self.assertLess(self.stop(swap).exited_after, 3)

    @harness.skip_in_portable("only Linux kills a child with its parent")
    def test_kill_without_grace_leaves_nothing_behind(self):
        swap = self.swap("tiny-llama").start()
        messages = opening("Ada")
        reply = self.ask(swap, messages)
        self.stop(swap)
        swap.start()
        children = [pid for pid, _ in harness.children(swap.pid)]
        stopped = swap.stop(0.0)
        self.assertLess(stopped.pipe_closed_after, 3)
        for pid in children:
            harness.wait_until(lambda: not harness.is_running(pid), 1, "llama-server is gone")
        swap.start()
        again = self.ask(swap, continued(messages, reply.text, "Still there?"))
        self.assertEqual(again.reused, reply.prompt + 15, swap.output)
        self.stop(swap)

    def test_a_reload_starts_the_next_one_on_the_same_port(self):
        old = self.swap("tiny-llama").start()
        messages = opening("Ada")
        reply = self.ask(old, messages)
        new = self.swap("tiny-llama", *FLAGS, port=old.port)
        new.spawn()
        self.assertIsNone(new.process.poll())
        self.stop(old)
        harness.wait_ready(new.port, process=new.process)
        again = self.ask(new, continued(messages, reply.text, "And now?"))
        self.assertEqual(again.reused, reply.prompt + 15, new.output)
        self.stop(new)


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "REAL_LLAMA_SERVER", "MODELS")
