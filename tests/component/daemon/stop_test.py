#!/usr/bin/env python3
"""Being stopped: whatever is going on, we end with 0, in time, with the conversations on disk."""

import contextlib
import http.client
import os
import pathlib
import signal
import socket
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import harness
from daemon import DaemonCase, LONG, OTHER, chat
from harness import get, post


def prompt_tokens(text):
    """As the scripted server counts a chat of one message: bytes."""
    return len(f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n")


class Stop(DaemonCase):
    def generating(self, daemon, stream, headers=None, n=3000):
        """A client whose answer is still long."""
        client = harness.Stream(daemon.port, "/v1/chat/completions", chat(LONG, n, stream=stream),
                                headers=headers)
        if stream:
            client.read_until(b"data:")
        else:
            harness.wait_until(lambda: any(
                slot["is_processing"] for slot in get(daemon.port, "/slots").json))
        return client

    def assert_saved_in_the_middle(self):
        (tokens,) = self.snapshot_tokens()
        self.assertGreaterEqual(tokens, prompt_tokens(LONG))
        self.assertLess(tokens, prompt_tokens(LONG) + 3000)

    def test_nothing_in_flight(self):
        daemon = self.ready("-np", 2)
        self.complete(daemon, LONG, id_slot=0)
        self.complete(daemon, OTHER, id_slot=1)
        self.stop(daemon, within=2)
        self.assertEqual(self.snapshot_tokens(),
                         sorted([prompt_tokens(LONG) + 7, prompt_tokens(OTHER) + 7]))
        self.assertEqual(list(self.root.glob("*/staging*")), [])

    def test_each_stop_signal_is_the_same(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number):
                daemon = self.ready("-np", 2)
                self.complete(daemon, f"{number.name} {LONG}")
                self.stop(daemon, number, within=2)
        self.assertEqual(len(self.snapshot_tokens()), 3)

    def test_signals_that_were_blocked_before_us(self):
        # The mask survives exec, so that whoever started us decides.
        stops = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
        before = signal.pthread_sigmask(signal.SIG_BLOCK, stops)
        try:
            daemon = self.launch("-np", 2)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        harness.wait_ready(daemon.port, process=daemon)
        self.complete(daemon)
        self.stop(daemon, within=2)
        self.assertEqual(len(self.snapshot_tokens()), 1)

    def test_signals_until_the_very_end(self):
        daemon = self.ready("-np", 2)
        child = self.child(daemon)
        daemon.send(signal.SIGTERM)
        while daemon.poll() is None:
            daemon.send(signal.SIGTERM)
        self.ends(daemon, 2, 0, [child])

    def test_streaming_generation_is_cut_and_saved(self):
        daemon = self.ready("-np", 2, FAKE_TOKEN_MS=20)
        client = self.generating(daemon, True)
        self.stop(daemon, within=4)
        self.assertNotIn(b"[DONE]", client.read_to_end())
        self.assert_saved_in_the_middle()

    def test_generation_that_ends_within_the_drain_time_is_delivered(self):
        daemon = self.ready("-np", 2, ours=["--hibernate-drain", "4s"], FAKE_TOKEN_MS=20)
        client = self.generating(daemon, True, n=40)
        self.stop(daemon, within=8)
        self.assertIn(b"[DONE]", client.read_to_end())
        self.assertEqual(self.snapshot_tokens(), [prompt_tokens(LONG) + 39])

    def test_drain_of_zero_cuts_at_once(self):
        daemon = self.ready("-np", 2, ours=["--hibernate-drain", "0"], FAKE_TOKEN_MS=20)
        self.generating(daemon, True)
        self.stop(daemon, within=2)
        self.assert_saved_in_the_middle()

    def test_answer_without_a_stream_is_cut_and_saved(self):
        daemon = self.ready("-np", 2, FAKE_TOKEN_MS=20)
        client = self.generating(daemon, False)
        self.stop(daemon, within=5)
        self.assertNotIn(b"200 OK", client.read_to_end())
        self.assert_saved_in_the_middle()

    def test_prompt_processing_is_cut(self):
        daemon = self.ready("-np", 2, FAKE_PREFILL_MS=60000)
        self.generating(daemon, False)
        self.stop(daemon, within=5)

    def test_stream_that_outlives_its_client(self):
        daemon = self.ready("-np", 2, FAKE_TOKEN_MS=20)
        self.generating(daemon, True, headers={"X-Conversation-Id": "one two/3"})
        self.stop(daemon, within=4)
        self.assert_saved_in_the_middle()

    def test_stream_whose_client_left_long_ago(self):
        daemon = self.ready("-np", 2, FAKE_TOKEN_MS=20)
        self.generating(daemon, True, headers={"X-Conversation-Id": "gone"}).close()
        self.complete(daemon, OTHER)
        self.stop(daemon, within=4)
        self.assertEqual(len(self.snapshot_tokens()), 2)

    def test_signal_to_the_whole_group_and_to_the_child(self):
        daemon = self.ready("-np", 2)
        self.complete(daemon)
        child = self.child(daemon)
        os.kill(child, signal.SIGTERM)  # as systemd does
        os.killpg(daemon.pid, signal.SIGTERM)  # as llama-swap does; the group is the daemon's own
        self.ends(daemon, 3, 0, [child])
        self.assertEqual(self.snapshot_tokens(), [prompt_tokens(LONG) + 7])

    def test_second_signal_skips_the_saving(self):
        self.seed(OTHER)
        before = self.snapshot_tokens()
        daemon = self.ready("-np", 2, FAKE_SAVE_MS=60000)
        self.complete(daemon)
        child = self.child(daemon)
        daemon.send(signal.SIGTERM)
        self.wait_for_action("save")
        time.sleep(0.4)  # what comes at once is the same stop, passed on by a parent
        daemon.send(signal.SIGTERM)
        self.ends(daemon, 3, 0, [child])
        self.assertEqual(self.snapshot_tokens(), before)

    def test_a_stop_that_arrives_twice_at_once_is_one_stop(self):
        daemon = self.ready("-np", 2, FAKE_SAVE_MS=500)
        self.complete(daemon)
        daemon.send(signal.SIGTERM)
        daemon.send(signal.SIGTERM)
        self.wait_for_action("save")
        daemon.send(signal.SIGTERM)
        self.ends(daemon, 3, 0)
        self.assertEqual(len(self.snapshot_tokens()), 1)

    def test_while_loading(self):
        self.seed(LONG)
        before = self.snapshot_tokens()
        daemon = self.launch("-np", 2, FAKE_LOAD_MS=60000)
        harness.wait_until(lambda: self.events("start"), what="the child runs")
        harness.wait_until(lambda: harness.try_get(daemon.port, "/props"))
        self.stop(daemon, within=2)
        self.assertEqual(self.actions("save"), [])
        self.assertEqual(self.snapshot_tokens(), before)

    def test_while_loading_with_a_held_probe(self):
        daemon = self.launch("-np", 2, FAKE_LOAD_MS=60000)
        harness.wait_until(lambda: harness.try_get(daemon.port, "/props"))
        probe = socket.create_connection(("127.0.0.1", daemon.port))
        probe.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        self.stop(daemon, within=2)
        self.assertNotIn(b"200 OK", probe.recv(1000))
        probe.close()

    def test_while_restoring(self):
        self.seed(LONG, OTHER)
        before = self.snapshot_tokens()
        daemon = self.launch("-np", 2, FAKE_RESTORE_MS=60000)
        self.wait_for_action("restore")
        self.stop(daemon, within=2)
        self.assertEqual(self.actions("save"), [])
        self.assertEqual(self.snapshot_tokens(), before)

    def test_child_that_ignores_the_interrupt_is_killed(self):
        daemon = self.ready("-np", 2, FAKE_IGNORE_SIGINT=1)
        self.complete(daemon)
        took = self.stop(daemon, within=4)
        self.assertGreater(took, 1.5, "it had no time to end by itself")
        self.assertEqual(self.snapshot_tokens(), [prompt_tokens(LONG) + 7])

    def test_save_that_takes_longer_than_the_budget(self):
        self.seed(OTHER)
        before = self.snapshot_tokens()
        daemon = self.ready("-np", 2, ours=["--hibernate-stop-budget", "3s"], FAKE_SAVE_MS=60000)
        self.complete(daemon)
        self.stop(daemon, within=3)
        self.assertEqual(self.snapshot_tokens(), before)
        self.assertRegex(daemon.output.lower(), r"not saved|unsaved")

    def test_a_failing_save_keeps_what_was_there(self):
        self.seed(OTHER)
        before = self.snapshot_tokens()
        daemon = self.ready("-np", 2, FAKE_FAIL_SAVE="all")
        self.complete(daemon)
        self.stop(daemon, within=4)
        self.assertEqual(self.snapshot_tokens(), before)
        self.assertIn("Unable to save slot", daemon.output)
        self.assertEqual(list(self.root.glob("*/staging*")), [])

    def test_what_did_not_change_is_not_saved_again(self):
        self.seed(LONG)
        daemon = self.ready("-np", 2)
        self.stop(daemon, within=2)
        self.assertEqual(self.actions("save"), [])
        self.assertEqual(len(self.snapshot_tokens()), 1)

    def test_empty_slots_leave_no_files(self):
        daemon = self.ready("-np", 2)
        self.stop(daemon, within=2)
        self.assertEqual(list(self.root.glob("*/*.kv")), [])

    def test_one_slot_action_at_a_time(self):
        daemon = self.ready("-np", 4, FAKE_SAVE_MS=200)
        for slot in range(4):
            self.complete(daemon, f"{slot} {LONG}", id_slot=slot)
        self.stop(daemon, within=4)
        self.assertEqual(len(self.snapshot_tokens()), 4)
        kinds = [e["event"] for e in self.events() if "action=save" in e.get("target", "")]
        self.assertEqual(kinds, ["request", "answer"] * 4)

    def test_new_requests_are_refused_while_it_drains(self):
        daemon = self.ready("-np", 2, ours=["--hibernate-drain", "4s"], FAKE_TOKEN_MS=50)
        used = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=10)
        used.request("GET", "/health")
        used.getresponse().read()
        used.auto_open = False
        unused = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=10)
        unused.connect()
        # Answered on a later connection, so the one before it is accepted.
        self.assertEqual(get(daemon.port, "/health").status, 200)
        client = self.generating(daemon, True, n=60)
        daemon.send(signal.SIGTERM)
        harness.wait_until(lambda: harness.try_get(daemon.port, "/health") is None,
                           what="the listener is closed")
        self.assert_refused(unused)
        # A connection that waits for another request may as well have been closed.
        with contextlib.suppress(ConnectionError, http.client.HTTPException):
            self.assert_refused(used)
        client.read_until(b"[DONE]")
        client.close()
        self.ends(daemon, 4, 0)

    def assert_refused(self, connection):
        connection.request("GET", "/health")
        answer = connection.getresponse()
        self.assertEqual(answer.status, 503)
        self.assertEqual(answer.headers["Connection"].lower(), "close")
        self.assertIn(b"unavailable_error", answer.read())
        connection.close()

    def test_a_sleeping_child_is_left_asleep(self):
        # It has forgotten everything; asking for its slots would load the model again.
        self.seed(LONG)
        before = self.snapshot_tokens()
        daemon = self.ready("-np", 2, "--sleep-idle-seconds", 1)
        harness.wait_until(lambda: get(daemon.port, "/props").json["is_sleeping"])
        seen = len(self.events("request"))
        self.stop(daemon, within=2)
        targets = [event["target"] for event in self.events("request")[seen:]]
        self.assertEqual([t for t in targets if t.startswith("/slots")], [])
        self.assertEqual(self.snapshot_tokens(), before)

    def test_a_client_that_reads_nothing_does_not_hold_it_up(self):
        daemon = self.ready("-np", 2, "-c", 400000)
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", daemon.port))
        body = '{"prompt":"%s","n_predict":150000,"stream":true}' % LONG
        client.sendall(f"POST /completion HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
                       f"{body}".encode())
        harness.wait_until(lambda: any(
            slot["is_processing"] for slot in get(daemon.port, "/slots").json))
        self.stop(daemon, within=5)
        client.close()

    def test_continued_conversation_supersedes_the_older_snapshot(self):
        self.seed(LONG)
        daemon = self.ready("-np", 2)
        first = self.complete(daemon)
        more = [{"role": "user", "content": LONG},
                {"role": "assistant", "content": first["choices"][0]["message"]["content"]},
                {"role": "user", "content": "And then?"}]
        answer = post(daemon.port, "/v1/chat/completions", {"messages": more, "max_tokens": 8}).json
        # The last of the 8 words was said but never entered the cache.
        self.assertEqual(answer["timings"]["cache_n"], prompt_tokens(LONG) + 7)
        self.stop(daemon, within=2)
        (tokens,) = self.snapshot_tokens()
        self.assertGreater(tokens, prompt_tokens(LONG) + 7)


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "FAKE_LLAMA_SERVER")
