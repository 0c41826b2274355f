#!/usr/bin/env python3
"""Slots are saved while requests are served: a kill loses little, and no conversation is displaced."""

import json
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

THIRD = "Pack my box with five dozen liquor jugs, and count them all again. " * 12


def turns(text, reply, question):
    """What a chat client sends for the next turn."""
    return {"messages": [{"role": "user", "content": text}, {"role": "assistant", "content": reply},
                         {"role": "user", "content": question}], "max_tokens": 8, "temperature": 0}


class LiveCase(DaemonCase):
    def serve(self, *arguments, idle="0", ours=(), **script):
        """With llama-server's default flags, and no idle saves unless asked for."""
        return self.ready(*arguments, ours=["--hibernate-idle-save", idle, *ours], **script)

    def requests(self, method, target):
        return [e for e in self.events("request")
                if e["method"] == method and e["target"].startswith(target)]

    def order(self):
        """Saves and completions in the order in which the child saw them."""
        names = []
        for event in self.events("request"):
            if "action=save" in event["target"]:
                names.append("save")
            elif "completions" in event["target"]:
                names.append("completion")
        return names

    def saved(self, count, reason):
        harness.wait_until(lambda: len(self.manifests()) == count, 10, f"{count} snapshots")
        self.assertEqual({m["reason"] for m in self.manifests()}, {reason})

    def kill(self, daemon):
        child = self.child(daemon)
        if harness.PORTABLE:  # which trusts nothing that a kill left unsynced
            harness.wait_until(lambda: all(m["synced"] for m in self.manifests()), 10, "a sync")
        daemon.send(signal.SIGKILL)
        daemon.wait(10)
        if harness.PORTABLE:
            os.kill(child, signal.SIGKILL)  # by hand, as packaging/homebrew.md says
        harness.wait_until(lambda: not harness.is_running(child), 5, "the child dies with it")

    def cached(self, daemon, text):
        return self.complete(daemon, text)["timings"]["cache_n"]


class Idle(LiveCase):
    def test_a_slot_that_cannot_be_saved_is_told_once_and_others_are(self):
        daemon = self.serve(idle="100ms", FAKE_UNSUPPORTED_SAVE=3)
        for text in (LONG, LONG + "Go on."):
            self.complete(daemon, text)
            self.says(daemon, "llama-server cannot save every slot")
        harness.wait_until(lambda: len(self.actions("save")) >= 2, 5, "tried again after a change")
        for text in (OTHER, THIRD):
            self.complete(daemon, text)
        self.stop(daemon)
        self.assertEqual(daemon.output.count("cannot save every slot (This slot holds media"), 1)
        self.assertGreaterEqual(len(self.manifests()), 1)

    def test_what_was_said_survives_a_kill_after_a_pause(self):
        daemon = self.serve(idle="100ms")
        self.complete(daemon)
        self.saved(1, "idle")
        self.kill(daemon)
        daemon = self.serve()
        self.assertGreater(self.cached(daemon, LONG), 700)

    def test_only_after_a_pause(self):
        daemon = self.serve(idle="1h")
        self.complete(daemon)
        self.stop(daemon)
        self.assertEqual([m["reason"] for m in self.manifests()], ["stop"])

    def test_an_unchanged_slot_is_not_saved_again(self):
        daemon = self.serve(idle="100ms")
        self.complete(daemon)
        self.saved(1, "idle")
        self.stop(daemon, within=2)
        self.assertEqual(len(self.actions("save")), 1)
        self.says(daemon, "nothing new to save")

    def test_a_slot_that_went_on_is_saved_again_and_supersedes(self):
        daemon = self.serve(idle="100ms")
        reply = self.complete(daemon)["choices"][0]["message"]["content"]
        self.saved(1, "idle")
        answer = harness.post(daemon.port, "/v1/chat/completions", turns(LONG, reply, "And?"))
        self.assertEqual(answer.status, 200)
        harness.wait_until(lambda: len(self.actions("save")) == 2, 10, "a second save")
        harness.wait_until(lambda: len(self.manifests()) == 1, 10, "the first one is superseded")

    def test_short_ones_are_not_worth_a_file(self):
        daemon = self.serve(idle="100ms")
        self.complete(daemon, "Hello.")
        self.complete(daemon, "Hello again.")
        time.sleep(0.5)  # five times as long as it takes
        self.stop(daemon)
        self.assertEqual(self.actions("save"), [])
        self.assertEqual(self.manifests(), [])
        self.says(daemon, "of fewer than 256 tokens (--hibernate-min-tokens)")
        daemon = self.serve(idle="100ms", ours=["--hibernate-min-tokens", "1"])
        self.complete(daemon, "Hello.")
        self.saved(1, "idle")

    def test_slots_are_asked_for_once_after_each_request(self):
        daemon = self.serve()
        before = len(self.requests("GET", "/slots"))
        for text in (LONG, OTHER, LONG):
            self.complete(daemon, text)
        harness.post(daemon.port, "/tokenize", {"content": "nothing of a slot"})
        harness.wait_until(lambda: len(self.requests("GET", "/slots")) == before + 3, 5, "looks")
        time.sleep(0.3)
        self.assertEqual(len(self.requests("GET", "/slots")), before + 3)

    def test_requests_wait_while_a_save_is_under_way(self):
        daemon = self.serve(idle="100ms", FAKE_SAVE_MS=1500)
        self.complete(daemon)
        self.wait_for_action("save")
        begun = time.monotonic()
        self.complete(daemon, OTHER)
        self.assertGreater(time.monotonic() - begun, 0.5)
        self.assertEqual(self.order()[:3], ["completion", "save", "completion"])
        # Nobody else waits.
        self.assertEqual(harness.get(daemon.port, "/health").status, 200)

    def test_a_stop_during_a_save_waits_for_it_and_adds_nothing(self):
        daemon = self.serve(idle="100ms", FAKE_SAVE_MS=1500)
        self.complete(daemon)
        self.wait_for_action("save")
        self.stop(daemon, within=4)
        self.assertEqual(len(self.actions("save")), 1)
        self.assertEqual(len(self.snapshot_tokens()), 1)

    def test_a_child_that_dies_during_a_save_leaves_the_old_snapshot(self):
        self.seed(LONG)
        daemon = self.serve("-np", 2, idle="100ms", FAKE_CRASH_ON="save")
        self.complete(daemon, OTHER)
        daemon.wait(10)
        self.assertEqual(len(self.snapshot_tokens()), 1)
        daemon = self.serve("-np", 2)
        self.assertGreater(self.cached(daemon, LONG), 700)

    def test_a_failed_save_is_tried_again_at_the_stop(self):
        daemon = self.serve(idle="100ms", FAKE_FAIL_SAVE=1)
        self.complete(daemon)
        self.says(daemon, "slot 0 was not saved: ")
        self.stop(daemon)
        self.assertEqual([m["reason"] for m in self.manifests()], ["stop"])

    def test_without_the_slots_endpoint_the_stop_saves(self):
        daemon = self.serve("--no-slots", idle="100ms")
        self.complete(daemon)
        self.stop(daemon)
        self.assertEqual([m["reason"] for m in self.manifests()], ["stop"])


class WriteBudget(LiveCase):
    def test_idle_saves_stop_and_nothing_else_does(self):
        daemon = self.serve(idle="100ms", ours=["--hibernate-write-budget", "50KiB"])
        self.complete(daemon)
        self.saved(1, "idle")
        self.complete(daemon, OTHER)
        self.says(daemon, "the write budget of 50.0 KiB is used up")
        time.sleep(0.5)
        self.assertEqual(len(self.actions("save")), 1)
        self.complete(daemon, THIRD)
        self.assertEqual(sorted(m["reason"] for m in self.manifests()), ["handover", "idle"])
        self.stop(daemon)
        self.assertEqual(len(self.snapshot_tokens()), 3)
        # The next daemon knows.
        self.log.unlink()
        daemon = self.serve(idle="100ms", ours=["--hibernate-write-budget", "50KiB"])
        self.complete(daemon, "Something else. " * 40)
        self.says(daemon, "is used up")
        self.assertEqual(self.actions("save"), [])


class Handover(LiveCase):
    def test_a_conversation_is_saved_before_another_one_empties_its_slot(self):
        daemon = self.serve()
        for text in (LONG, OTHER, THIRD):
            self.complete(daemon, text)
        self.assertEqual(self.order(), ["completion", "save", "completion", "save", "completion"])
        self.kill(daemon)
        daemon = self.serve()
        self.assertGreater(self.cached(daemon, LONG), 700)
        self.assertGreater(self.cached(daemon, OTHER), 700)

    def test_a_conversation_that_goes_on_is_not_saved_each_time(self):
        daemon = self.serve()
        text, body = LONG, chat(LONG)
        for _ in range(4):
            answer = harness.post(daemon.port, "/v1/chat/completions", body)
            self.assertEqual(answer.status, 200)
            reply = answer.json["choices"][0]["message"]["content"]
            body["messages"] += [{"role": "assistant", "content": reply},
                                 {"role": "user", "content": "And then?"}]
        self.assertEqual(self.order(), ["completion"] * 4)
        self.stop(daemon)
        self.assertEqual(len(self.snapshot_tokens()), 1)

    def test_also_while_a_slot_is_free(self):
        """llama-server takes a similar slot rather than an empty one."""
        daemon = self.serve("-np", 3)
        for text in (LONG, LONG + "But not the same. " * 3, OTHER):
            self.complete(daemon, text)
        self.stop(daemon)
        self.assertEqual(len(self.snapshot_tokens()), 3)

    def test_a_client_that_left_has_its_conversation_saved(self):
        daemon = self.serve(FAKE_TOKEN_MS=30)
        try:
            harness.post(daemon.port, "/v1/chat/completions", chat(LONG, 500), timeout=0.5)
        except OSError:
            pass
        time.sleep(1.5)  # it is given up within a second
        self.complete(daemon, OTHER, 1)
        self.assertEqual([m["tokens"] > 700 for m in self.manifests()], [True])

    def test_one_goes_on_and_another_is_unsaved(self):
        daemon = self.serve(FAKE_TOKEN_MS=5)
        both = [threading.Thread(target=self.complete, args=(daemon, text)) for text in (LONG, OTHER)]
        for one in both:
            one.start()
            time.sleep(0.05)
        for one in both:
            one.join(10)
        # OTHER was the last to be asked; it goes on, and empties the slot of LONG.
        answer = harness.post(daemon.port, "/v1/chat/completions", turns(OTHER, "yes", "And?"))
        self.assertEqual(answer.status, 200)
        self.kill(daemon)
        daemon = self.serve()
        self.assertGreater(self.cached(daemon, LONG), 700)

    def test_uploads_that_stall_keep_nobody_waiting(self):
        daemon = self.serve("-np", 1)
        stalled = socket.create_connection(("127.0.0.1", daemon.port))
        self.addCleanup(stalled.close)
        stalled.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: "
                        b"application/json\r\nContent-Length: 1000000\r\n\r\n" + b" " * 70000)
        time.sleep(0.3)
        begun = time.monotonic()
        self.complete(daemon)
        self.assertLess(time.monotonic() - begun, 4)

    def test_a_request_that_took_no_slot_is_not_what_is_in_one(self):
        daemon = self.serve(FAKE_TOKEN_MS=50)
        long_answer = threading.Thread(target=self.complete, args=(daemon, LONG, 20))
        long_answer.start()
        harness.wait_until(lambda: self.requests("POST", "/v1/chat"), 5, "it is being answered")
        self.assertEqual(harness.post(daemon.port, "/v1/nothing", chat(OTHER)).status, 404)
        long_answer.join(10)
        self.complete(daemon, OTHER)
        self.stop(daemon)
        self.assertEqual(len(self.snapshot_tokens()), 2, daemon.output)

    def test_a_client_that_still_reads_its_answer(self):
        """Its slot is idle long before."""
        daemon = self.serve(FAKE_TOKENS=3000)
        slow = socket.create_connection(("127.0.0.1", daemon.port))
        self.addCleanup(slow.close)
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        body = json.dumps(chat(LONG, 3000, stream=True)).encode()
        slow.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: "
                     b"application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        harness.wait_until(lambda: any(not slot["is_processing"] and slot.get("n_prompt_tokens")
                                       for slot in harness.get(daemon.port, "/slots").json),
                           10, "it is generated")
        self.complete(daemon, OTHER)
        self.stop(daemon)
        self.assertEqual(len(self.snapshot_tokens()), 2, daemon.output)

    def test_a_save_that_failed_is_tried_again_before_it_is_displaced(self):
        daemon = self.serve(idle="100ms", FAKE_FAIL_SAVE=1)
        self.complete(daemon)
        self.says(daemon, "slot 0 was not saved: ")
        self.complete(daemon, OTHER)
        self.assertIn("handover", [m["reason"] for m in self.manifests()])

    def test_also_while_another_conversation_is_being_answered(self):
        daemon = self.serve(FAKE_TOKEN_MS=50)
        long_answer = threading.Thread(target=self.complete, args=(daemon, OTHER, 60))
        long_answer.start()
        harness.wait_until(lambda: self.requests("POST", "/v1/chat"), 5, "it is being answered")
        self.complete(daemon, LONG, 1)
        self.complete(daemon, THIRD, 1)  # which empties the slot of the one before
        self.assertTrue(long_answer.is_alive())
        self.assertEqual([m["tokens"] > 700 for m in self.manifests()], [True])
        long_answer.join(10)
        self.stop(daemon)
        self.assertEqual(len(self.snapshot_tokens()), 3)

    def test_more_clients_than_slots_lose_nothing(self):
        daemon = self.serve("-np", 2, FAKE_TOKEN_MS=10)
        texts = [f"Client {number}. " + LONG for number in range(5)]
        clients = [threading.Thread(target=self.complete, args=(daemon, text)) for text in texts]
        for client in clients:
            client.start()
        for client in clients:
            client.join(20)
        self.stop(daemon)
        self.assertEqual(len(self.snapshot_tokens()), 5)

    def test_a_client_that_leaves_while_it_waits_harms_nothing(self):
        daemon = self.serve(FAKE_SAVE_MS=1500)
        self.complete(daemon)
        waiting = threading.Thread(target=self.leave_early, args=(daemon,))
        waiting.start()
        self.wait_for_action("save")
        waiting.join(10)
        harness.wait_until(lambda: len(self.manifests()) == 1, 10, "the save ends well")
        self.complete(daemon, LONG)
        self.assertEqual([e["target"] for e in self.requests("POST", "/v1/chat")],
                         ["/v1/chat/completions"] * 2, "the one that left never reached it")

    def leave_early(self, daemon):
        try:
            harness.post(daemon.port, "/v1/chat/completions", chat(OTHER), timeout=0.5)
        except OSError:
            pass

    def test_many_clients_at_once(self):
        daemon = self.serve(idle="50ms", FAKE_SAVE_MS=20, FAKE_TOKEN_MS=1)
        failures = []

        def talk(number):
            for turn in range(6):
                text = f"Client {number}, turn {turn}: " + LONG
                answer = harness.post(daemon.port, "/v1/chat/completions", chat(text))
                if answer.status != 200:
                    failures.append(answer)

        clients = [threading.Thread(target=talk, args=(number,)) for number in range(6)]
        for client in clients:
            client.start()
        for client in clients:
            client.join(60)
        self.assertEqual(failures, [])
        self.stop(daemon)
        self.assertEqual(self.overlapping_slot_actions(), [])

    def overlapping_slot_actions(self):
        """Slot actions that began while another one was under way."""
        open_actions, overlaps = 0, []
        for event in self.events():
            if "/slots/" not in event.get("target", "") or event["event"] not in ("request", "answer"):
                continue
            if event["event"] == "request":
                if open_actions:
                    overlaps.append(event)
                open_actions += 1
            else:
                open_actions -= 1
        return overlaps


class Sleep(LiveCase):
    def sleep(self, daemon):
        def asleep():
            return harness.get(daemon.port, "/props").json["is_sleeping"]
        harness.wait_until(asleep, 20, "it sleeps")

    def test_saved_before_and_restored_after(self):
        daemon = self.serve("--sleep-idle-seconds", 2)
        for text in (LONG, OTHER):
            self.complete(daemon, text)
        self.sleep(daemon)
        self.assertEqual(len(self.snapshot_tokens()), 2)
        self.assertGreater(self.cached(daemon, LONG), 700)
        self.assertGreater(self.cached(daemon, OTHER), 700)
        self.says(daemon, "llama-server slept, and forgot")

    def test_we_neither_wake_it_nor_keep_it_awake(self):
        daemon = self.serve("--sleep-idle-seconds", 2, idle="100ms")
        self.complete(daemon)
        self.sleep(daemon)
        looked = len(self.requests("GET", "/slots"))
        time.sleep(1)
        self.assertTrue(harness.get(daemon.port, "/props").json["is_sleeping"])
        self.assertEqual(len(self.requests("GET", "/slots")), looked)
        self.stop(daemon, within=2)
        self.assertEqual(len(self.actions("save")), 1)

    def test_somebody_else_woke_it(self):
        daemon = self.serve("--sleep-idle-seconds", 2)
        self.complete(daemon)
        self.sleep(daemon)
        harness.get(daemon.port, "/slots")
        self.assertGreater(self.cached(daemon, LONG), 700)

    def test_somebody_else_woke_it_before_anybody_asked_for_anything(self):
        self.stop(self.seeded())
        daemon = self.serve("--sleep-idle-seconds", 2)
        self.sleep(daemon)
        self.assertEqual(harness.post(daemon.port, "/tokenize", {"content": "a"}).status, 200)
        self.assertGreater(self.cached(daemon, LONG), 700)

    def test_also_while_a_client_does_not_end_its_request(self):
        daemon = self.serve("--sleep-idle-seconds", 2)
        self.complete(daemon)
        stalled = socket.create_connection(("127.0.0.1", daemon.port))
        self.addCleanup(stalled.close)
        stalled.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: "
                        b"application/json\r\nContent-Length: 1000000\r\n\r\n" + b" " * 70000)
        self.sleep(daemon)
        self.assertGreater(self.cached(daemon, LONG), 700)

    def seeded(self):
        daemon = self.serve()
        self.complete(daemon)
        return daemon

    def test_awake_all_the_time_nothing_is_restored(self):
        daemon = self.serve("--sleep-idle-seconds", 60)
        for _ in range(3):
            self.complete(daemon)
        self.assertEqual(self.actions("restore"), [])


class Budget(LiveCase):
    def test_a_stop_does_not_wait_for_a_save_beyond_its_budget(self):
        daemon = self.serve(idle="100ms", FAKE_SAVE_MS=20000,
                            ours=["--hibernate-stop-budget", "3s"])
        self.complete(daemon)
        self.wait_for_action("save")
        self.stop(daemon, within=3)

    def test_a_full_store_takes_what_is_new(self):
        texts = [f"Conversation number {n} goes like this. " * 16 for n in range(8)]
        daemon = self.serve(ours=["--hibernate-max-disk", "200KiB"])
        for text in texts:
            self.complete(daemon, text)
        self.stop(daemon)
        self.assertNotIn("was not saved", daemon.output)
        daemon = self.serve(ours=["--hibernate-max-disk", "200KiB"])
        self.assertGreater(self.cached(daemon, texts[-1]), 500)
        self.complete(daemon, LONG)
        self.stop(daemon)
        self.assertNotIn("was not saved", daemon.output)
        daemon = self.serve(ours=["--hibernate-max-disk", "200KiB"])
        self.assertGreater(self.cached(daemon, LONG), 700)


class StopPlan(LiveCase):
    def test_what_cannot_be_saved_in_time_is_not_begun_and_a_budget_is_named(self):
        daemon = self.serve("-np", 3, idle="1s", FAKE_SAVE_MS=2000, FAKE_TOKEN_MS=30,
                            ours=["--hibernate-stop-budget", "3200ms"])
        self.complete(daemon)
        self.saved(1, "idle")  # which tells how long a save takes
        both = [threading.Thread(target=self.complete, args=(daemon, text), kwargs={"id_slot": slot})
                for slot, text in ((1, OTHER), (2, THIRD))]
        for one in both:
            one.start()
        for one in both:
            one.join(10)
        self.stop(daemon, within=4)
        self.assertEqual(len(self.actions("save")), 2)
        self.assertEqual(len(self.snapshot_tokens()), 2)
        self.says(daemon, "was not saved: it would take ")
        self.assertRegex(daemon.output, r"--hibernate-stop-budget [56]s, and an unloadTimeout of [78]")

    def test_a_slow_save_of_an_earlier_run_does_not_keep_a_stop_from_trying(self):
        ours = ["--hibernate-stop-budget", "3s"]
        daemon = self.serve(FAKE_SAVE_MS=1500, ours=ours)
        self.complete(daemon)
        self.stop(daemon, within=3)
        daemon = self.serve(ours=ours)
        self.complete(daemon, LONG * 4)
        self.stop(daemon, within=3)
        self.assertNotIn("was not saved", daemon.output)

    def test_a_save_that_was_cut_off_names_the_least_budget(self):
        daemon = self.serve(FAKE_SAVE_MS=20000, ours=["--hibernate-stop-budget", "2s"])
        self.complete(daemon)
        self.stop(daemon, within=2)
        self.assertRegex(daemon.output, r"--hibernate-stop-budget [34]s, and an unloadTimeout of "
                                        r"[56] in llama-swap, is the least that it needs")


class Restoring(LiveCase):
    TEXTS = [f"Conversation number {n} goes like this. " * 16 for n in range(7)]

    def leave_seven(self):
        daemon = self.serve()
        for text in self.TEXTS:
            self.complete(daemon, text)
        self.stop(daemon)
        self.assertEqual(len(self.manifests()), 7)
        self.log.unlink()

    def test_more_conversations_than_slots(self):
        self.leave_seven()
        daemon = self.serve()
        self.says(daemon, "7 conversations")
        for text in self.TEXTS:
            self.assertGreater(self.cached(daemon, text), 500)

    def test_one_for_each_slot_if_that_is_wanted(self):
        self.leave_seven()
        daemon = self.serve(ours=["--hibernate-restore", "slots"])
        self.assertEqual(len(self.actions("restore")), 4)
        self.says(daemon, "3 snapshots more than there is room for")

    def test_no_more_than_the_memory_that_is_meant_for_it(self):
        self.leave_seven()
        bytes_each = max(m["bytes"] for m in self.manifests())
        daemon = self.serve(ours=["--hibernate-restore-memory", bytes_each * 5])
        self.assertEqual(len(self.actions("restore")), 5)
        self.assertGreater(self.cached(daemon, self.TEXTS[-1]), 500)

    def test_where_slots_do_not_empty_each_other_there_is_no_way_through(self):
        self.leave_seven()
        self.serve("--no-cache-idle-slots")
        self.assertEqual(len(self.actions("restore")), 4)

    def test_a_late_restore_still_fills_the_slots_with_the_latest(self):
        self.leave_seven()
        daemon = self.serve(FAKE_RESTORE_MS=300,
                            ours=["--hibernate-restore-budget", "2s"])
        latest = {m["id"] for m in sorted(self.manifests(), key=lambda m: m["created_ms"])[-4:]}
        offered = [e["body"] for e in self.actions("restore")]
        for one in latest:
            self.assertTrue(any(one in body for body in offered), daemon.output)

    def test_a_refused_one_is_left_out_and_the_others_come(self):
        self.leave_seven()
        daemon = self.serve(FAKE_FAIL_RESTORE=1)
        self.says(daemon, "6 conversations")
        self.assertEqual(sum(1 for m in self.manifests() if m["quarantine"]), 1)


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "FAKE_LLAMA_SERVER")
