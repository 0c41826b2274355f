#!/usr/bin/env python3
"""The life of the daemon as its clients see it: loading, restoring, ready, and the child's death."""

import http.client
import os
import pathlib
import signal
import socket
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import harness
from daemon import DaemonCase, LONG, OTHER, chat
from harness import get, post


class Waiting:
    """A request that is answered some time later."""

    def __init__(self, port, target):
        self.begun = time.monotonic()
        self.answer = self.took = None
        self.thread = threading.Thread(target=self._run, args=(port, target), daemon=True)
        self.thread.start()

    def _run(self, port, target):
        self.answer = harness.try_get(port, target, timeout=60)
        self.took = time.monotonic() - self.begun

    def result(self):
        self.thread.join(60)
        return self.answer, self.took


class Loading(DaemonCase):
    def listening(self, daemon):
        harness.wait_until(lambda: harness.try_get(daemon.port, "/props"), what="the port is open")

    def test_everything_but_health_is_refused_at_once_in_the_servers_own_shape(self):
        daemon = self.launch("-np", 2, FAKE_LOAD_MS=60000)
        self.listening(daemon)
        for method, target in [("GET", "/"), ("GET", "/v1/models"), ("GET", "/props"),
                               ("GET", "/slots"), ("GET", "/nothing"),
                               ("POST", "/v1/chat/completions")]:
            with self.subTest(target):
                begun = time.monotonic()
                answer = harness.request(daemon.port, method, target,
                                         chat("hello") if method == "POST" else None)
                self.assertLess(time.monotonic() - begun, 2)
                self.assertEqual(answer.status, 503)
                self.assertEqual(answer.headers["Retry-After"], "1")
                error = answer.json["error"]
                self.assertEqual((error["code"], error["type"]), (503, "unavailable_error"))
                self.assertEqual(error["message"], "Loading model")

    def test_health_is_held_and_passes_when_the_gate_opens(self):
        daemon = self.launch("-np", 2, FAKE_LOAD_MS=1500)
        self.listening(daemon)
        probe = Waiting(daemon.port, "/health")
        other = Waiting(daemon.port, "/v1/health")
        answer, took = probe.result()
        self.assertEqual((answer.status, answer.json), (200, {"status": "ok"}))
        self.assertGreater(took, 0.5)
        self.assertEqual(other.result()[0].status, 200)

    def test_health_hold_ends_with_503(self):
        daemon = self.launch("-np", 2, ours=["--hibernate-health-hold", "500ms"],
                             FAKE_LOAD_MS=60000)
        self.listening(daemon)
        answer, took = Waiting(daemon.port, "/health").result()
        self.assertEqual(answer.status, 503)
        self.assertEqual(answer.json["error"]["type"], "unavailable_error")
        self.assertGreaterEqual(took, 0.45)

    def test_health_hold_of_zero_holds_nothing(self):
        daemon = self.launch("-np", 2, ours=["--hibernate-health-hold", "0"], FAKE_LOAD_MS=60000)
        self.listening(daemon)
        answer, took = Waiting(daemon.port, "/health").result()
        self.assertEqual(answer.status, 503)
        self.assertLess(took, 2)

    def test_a_held_probe_that_goes_away_harms_nothing(self):
        daemon = self.launch("-np", 2, FAKE_LOAD_MS=1000)
        self.listening(daemon)
        with socket.create_connection(("127.0.0.1", daemon.port)) as probe:
            probe.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        harness.wait_ready(daemon.port, process=daemon)
        self.complete(daemon)

    def test_the_port_is_open_before_the_child_starts(self):
        verdict = self.folder / "verdict"
        server = self.folder / "server"
        port = harness.free_port()
        server.write_text(
            f"#!{sys.executable}\nimport socket, pathlib\n"
            f"try: socket.create_connection(('127.0.0.1', {port}), 5); said = 'open'\n"
            f"except OSError as problem: said = str(problem)\n"
            f"pathlib.Path({str(verdict)!r}).write_text(said)\n")
        server.chmod(0o755)
        daemon = self.launch(server=server, port=port)
        self.assertEqual(daemon.wait()[0], 0)
        self.assertEqual(verdict.read_text(), "open")


class Restoring(DaemonCase):
    def test_conversations_come_back_before_health_says_200(self):
        self.seed(LONG, OTHER)
        daemon = self.ready("-np", 2)
        self.assertEqual(len(self.actions("restore")), 2, daemon.output)
        for text in (LONG, OTHER):
            timings = self.complete(daemon, text)["timings"]
            self.assertEqual(timings["prompt_n"], 1, timings)

    def test_requests_wait_until_all_is_restored(self):
        self.seed(LONG, OTHER)
        daemon = self.launch("-np", 2, ours=["--hibernate-health-hold", "0"], FAKE_RESTORE_MS=700)
        self.wait_for_action("restore")
        answer = harness.wait_until(
            lambda: (a := harness.try_get(daemon.port, "/props")) and a.status == 503
            and b"estoring" in a.body and a)
        message = answer.json["error"]["message"]
        self.assertRegex(message.lower(), r"restoring \d of 2")
        self.assertEqual(get(daemon.port, "/health").status, 503)
        harness.wait_ready(daemon.port, process=daemon)
        self.assertEqual(len(self.actions("restore")), 2)

    def test_budget_opens_the_gate_and_keeps_the_files(self):
        self.seed(LONG, OTHER)
        before = self.snapshot_tokens()
        begun = time.monotonic()
        daemon = self.ready("-np", 2, ours=["--hibernate-restore-budget", "300ms"],
                            FAKE_RESTORE_MS=1500)
        self.assertLess(time.monotonic() - begun, 8)
        self.assertEqual(len(self.actions("restore")), 1, "no restore is begun after the budget")
        self.stop(daemon)
        self.assertEqual(self.snapshot_tokens(), before)

    def test_none_restores_nothing_and_still_saves(self):
        self.seed(LONG)
        daemon = self.ready("-np", 2, ours=["--hibernate-restore", "none"])
        self.assertEqual(self.actions("restore"), [])
        self.complete(daemon, OTHER)
        self.stop(daemon)
        self.assertEqual(len(self.snapshot_tokens()), 2)

    def test_no_time_to_restore_still_saves(self):
        self.seed(LONG)
        daemon = self.ready("-np", 2, ours=["--hibernate-restore-budget", "0"])
        self.assertEqual(self.actions("restore"), [])
        self.complete(daemon, OTHER)
        self.stop(daemon)
        self.assertEqual(len(self.snapshot_tokens()), 2)

    def test_a_refused_restore_does_not_stop_the_start(self):
        self.seed(LONG)
        daemon = self.ready("-np", 2, FAKE_FAIL_RESTORE="all")
        self.assertEqual(self.complete(daemon)["timings"]["cache_n"], 0)
        self.assertEqual(len(self.actions("restore")), 1, "a refused file is not tried again")
        self.says(daemon, "invalid slot save file")


class Ready(DaemonCase):
    def test_answers_are_the_childs(self):
        daemon = self.ready("-np", 2)
        self.assertEqual(get(daemon.port, "/health").json, {"status": "ok"})
        props = get(daemon.port, "/props").json
        self.assertEqual((props["total_slots"], props["model_path"]), (2, self.model))
        self.assertEqual(get(daemon.port, "/v1/models").json["data"][0]["id"], self.model)
        self.assertEqual(len(get(daemon.port, "/slots").json), 2)
        self.assertEqual(get(daemon.port, "/nothing").status, 404)
        self.assertEqual(get(daemon.port, "/nothing").json["error"]["message"], "File Not Found")
        self.assertEqual(post(daemon.port, "/completion", "no json").status, 400)

    def test_a_stream_arrives_as_it_is_made(self):
        daemon = self.ready("-np", 2, FAKE_TOKEN_MS=50)
        stream = harness.Stream(daemon.port, "/v1/chat/completions", chat("hello", 40, stream=True))
        stream.read_until(b"data:")
        self.assertNotIn(b"[DONE]", stream.received)
        stream.read_until(b"[DONE]", 20)
        self.assertIn(b'"timings"', stream.received)
        stream.close()

    def test_a_client_that_leaves_ends_its_generation(self):
        daemon = self.ready("-np", 2, FAKE_TOKEN_MS=20)
        for stream in (True, False):
            with self.subTest(stream=stream):
                client = harness.Stream(daemon.port, "/completion",
                                        {"prompt": LONG, "n_predict": 3000, "stream": stream})
                harness.wait_until(lambda: self.busy(daemon), what="it generates")
                client.close()
                harness.wait_until(lambda: not self.busy(daemon), what="it stops generating")

    def busy(self, daemon):
        return any(slot["is_processing"] for slot in get(daemon.port, "/slots").json)

    def test_connections_stay_open_longer_than_the_childs(self):
        daemon = self.ready("-np", 2, FAKE_KEEP_ALIVE_MS=200)
        connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=10)
        for pause in (0, 0.5, 0):
            time.sleep(pause)  # what is tested is a pause
            connection.request("GET", "/props")
            answer = connection.getresponse()
            answer.read()
            self.assertEqual(answer.status, 200)
        connection.close()

    def test_more_requests_on_a_connection_than_the_child_takes(self):
        daemon = self.ready("-np", 2)
        connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=10)
        for _ in range(250):
            connection.request("GET", "/health")
            answer = connection.getresponse()
            answer.read()
            self.assertEqual(answer.status, 200)
        connection.close()


class ChildDies(DaemonCase):
    def test_its_status_is_ours_while_loading(self):
        daemon = self.launch("-np", 2, FAKE_CRASH_ON="load", FAKE_EXIT_CODE=7)
        self.ends(daemon, 2, 7)

    def test_its_signal_is_ours_while_loading(self):
        daemon = self.launch("-np", 2, FAKE_CRASH_ON="load", FAKE_CRASH_SIGNAL=int(signal.SIGKILL))
        self.ends(daemon, 2, 128 + signal.SIGKILL)

    def test_its_status_is_ours_while_restoring(self):
        self.seed(LONG)
        before = self.snapshot_tokens()
        daemon = self.launch("-np", 2, FAKE_CRASH_ON="restore", FAKE_EXIT_CODE=9)
        self.ends(daemon, 3, 9)
        self.assertLessEqual(self.snapshot_tokens(), before)

    def test_its_signal_is_ours_when_ready(self):
        daemon = self.ready("-np", 2)
        os.kill(self.child(daemon), signal.SIGKILL)
        self.ends(daemon, 1, 128 + signal.SIGKILL)

    def test_its_status_is_ours_where_sigchld_was_ignored_before_us(self):
        before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        try:
            daemon = self.launch("-np", 2, FAKE_CRASH_ON="request", FAKE_EXIT_CODE=7)
        finally:
            signal.signal(signal.SIGCHLD, before)
        harness.wait_ready(daemon.port, process=daemon)
        harness.Stream(daemon.port, "/v1/chat/completions", chat(LONG)).read_to_end()
        self.ends(daemon, 2, 7)

    def test_its_status_is_ours_in_the_middle_of_a_request(self):
        daemon = self.ready("-np", 2, FAKE_CRASH_ON="request", FAKE_EXIT_CODE=3)
        try:
            answer = post(daemon.port, "/completion", {"prompt": "x"})
            self.assertIn(answer.status, (502, 503))
        except (OSError, http.client.HTTPException):
            pass
        self.ends(daemon, 1, 3)

    def test_exit_0_by_itself_is_exit_0(self):
        daemon = self.ready("-np", 2)
        os.kill(self.child(daemon), signal.SIGINT)
        self.ends(daemon, 1, 0)

    def test_a_crash_while_saving_keeps_what_was_there(self):
        self.seed(LONG)
        before = self.snapshot_tokens()
        daemon = self.ready("-np", 2, FAKE_CRASH_ON="save")
        self.complete(daemon, OTHER)
        self.stop(daemon)
        self.assertEqual(self.snapshot_tokens(), before)

    def test_restart_brings_it_back_with_its_conversations(self):
        self.seed(LONG)
        daemon = self.ready("-np", 2, ours=["--hibernate-on-exit", "restart"])
        first = self.child(daemon)
        os.kill(first, signal.SIGKILL)
        harness.wait_until(lambda: len(self.events("start")) == 2, what="a second child")
        harness.wait_ready(daemon.port, process=daemon)
        self.assertNotEqual(self.child(daemon), first)
        self.assertEqual(self.complete(daemon)["timings"]["prompt_n"], 1)
        self.assertNotIn("Z", [state for _, state in harness.children(daemon.pid)])
        self.stop(daemon)


    def test_restart_waits_longer_each_time_and_can_be_stopped_meanwhile(self):
        daemon = self.ready("-np", 2, ours=["--hibernate-on-exit", "restart"])
        for starts, shortest in ((2, 0.9), (3, 1.8)):
            died = time.monotonic()
            os.kill(self.child(daemon), signal.SIGKILL)
            harness.wait_until(lambda: (a := harness.try_get(daemon.port, "/props")) is not None
                               and a.status == 503, what="gate closed")
            harness.wait_until(lambda: len(self.events("start")) == starts, what="the next child")
            self.assertGreater(time.monotonic() - died, shortest)
            harness.wait_ready(daemon.port, process=daemon)
        os.kill(self.child(daemon), signal.SIGKILL)
        harness.wait_until(lambda: not harness.children(daemon.pid), what="it is gone")
        self.stop(daemon, within=2)

    def test_a_child_that_never_was_ready_is_not_started_again(self):
        daemon = self.launch("-np", 2, ours=["--hibernate-on-exit", "restart"],
                             FAKE_CRASH_ON="load", FAKE_EXIT_CODE=5)
        self.ends(daemon, 2, 5)
        self.assertEqual(len(self.events("start")), 1)


class Port(DaemonCase):
    def occupied(self):
        holder = socket.socket()
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        self.addCleanup(holder.close)
        return holder

    def test_a_port_that_becomes_free_is_taken(self):
        holder = self.occupied()
        port = holder.getsockname()[1]
        daemon = self.launch("-np", 2, port=port)
        harness.wait_until(lambda: daemon.lines, what="it says that it waits")
        self.assertIsNone(daemon.poll())
        holder.close()
        harness.wait_ready(port, process=daemon)

    def test_a_port_that_stays_taken_is_an_error_after_ten_seconds(self):
        port = self.occupied().getsockname()[1]
        daemon = self.launch("-np", 2, port=port)
        status, took = daemon.wait(15)
        self.assertEqual(status, 1)
        self.assertGreater(took, 8)
        self.assertLess(took, 15)
        self.assertIn(str(port), daemon.lines[-1])
        self.assertEqual(self.events("start"), [], "no child is started without a port")

    def test_a_stop_while_waiting_for_the_port(self):
        port = self.occupied().getsockname()[1]
        daemon = self.launch("-np", 2, port=port)
        harness.wait_until(lambda: daemon.lines, what="it says that it waits")
        self.stop(daemon, within=2)

    def test_the_next_one_takes_over_from_one_that_still_saves(self):
        port = harness.free_port()
        old = self.ready("-np", 2, port=port, FAKE_SAVE_MS=1500)
        self.complete(old)
        old.send(signal.SIGTERM)
        self.wait_for_action("save")
        new = self.launch("-np", 2, port=port)
        self.assertEqual(old.wait()[0], 0)
        harness.wait_ready(port, process=new)
        self.assertEqual(self.complete(new)["timings"]["prompt_n"], 1, new.output)


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "FAKE_LLAMA_SERVER")
