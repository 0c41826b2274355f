#!/usr/bin/env python3
"""The stand-in for llama-swap starts, probes and stops a bare (scripted) llama-server as it should."""

import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import harness
from llama_swap import LlamaSwap, StartFailed


class StandIn(harness.Case):
    def swap(self, *arguments, **script):
        model = harness.write_model(self.folder / "model.gguf")
        command = [harness.program("FAKE_LLAMA_SERVER"), "-m", model, "--port", "${PORT}", *arguments]
        each = LlamaSwap(command, harness.free_port(), self.environment(**script))
        self.addCleanup(each.end)
        return each

    def test_it_probes_once_a_second_until_200(self):
        swap = self.swap(FAKE_LOAD_MS=1200).start()
        self.assertEqual([status for _, status in swap.probes], [503, 503, 200][-len(swap.probes):])
        self.assertGreater(len(swap.probes), 1)
        times = [when for when, _ in swap.probes]
        self.assertGreaterEqual(times[0], 0.25)
        self.assertGreaterEqual(times[1] - times[0], 1.0)
        harness.wait_until(lambda: "model loaded" in swap.output, what="its output is collected")

    def test_it_asks_over_kept_connections(self):
        swap = self.swap().start()
        for _ in range(3):
            answer = swap.post("/completion", {"prompt": "hello", "n_predict": 2})
        self.assertEqual(answer["timings"]["cache_n"], 4)
        self.assertEqual(len(swap._idle), 1)
        self.assertEqual(swap.get("/health")[0], 200)

    def test_stop_tells_how_it_went(self):
        swap = self.swap().start()
        stopped = swap.stop()
        self.assertEqual((stopped.status, stopped.killed), (0, False))
        self.assertLess(stopped.pipe_closed_after, 5)

    def test_after_the_grace_it_kills(self):
        # An open request keeps llama-server from ending.
        swap = self.swap(FAKE_TOKEN_MS=20).start()
        client = harness.Stream(swap.port, "/completion",
                                {"prompt": "x", "n_predict": 3000, "stream": True})
        client.read_until(b"data:")
        stopped = swap.stop(grace=0.5)
        self.assertEqual((stopped.status, stopped.killed), (-signal.SIGKILL, True))
        self.assertGreaterEqual(stopped.exited_after, 0.5)
        client.close()

    def test_a_server_that_ends_by_itself_is_no_start(self):
        with self.assertRaises(StartFailed):
            self.swap(FAKE_CRASH_ON="load", FAKE_EXIT_CODE=3).start()

    def test_health_timeout(self):
        begun = time.monotonic()
        with self.assertRaises(StartFailed):
            self.swap(FAKE_LOAD_MS=60000).start(health_timeout=1.0)
        self.assertLess(time.monotonic() - begun, 10)


if __name__ == "__main__":
    harness.main("FAKE_LLAMA_SERVER")
