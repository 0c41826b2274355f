#!/usr/bin/env python3
"""What we promise about the child: what it gets, what it does not get, and that it never outlives us."""

import fcntl
import json
import os
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import harness
from daemon import DaemonCase, LONG
from harness import get


class Child(DaemonCase):
    def started(self, *arguments, **more):
        """A daemon that serves, and how its child was started."""
        dump = self.folder / "dump.json"
        daemon = self.ready(*arguments, FAKE_ENV_DUMP=dump, **more)
        return daemon, json.loads(dump.read_text())

    def test_it_has_no_descriptor_of_ours(self):
        daemon, told = self.started("-np", 2)
        self.assertEqual(sorted(told["descriptors"]), ["0", "1", "2"])
        self.assertEqual(told["descriptors"]["0"], "/dev/null")
        ours = os.readlink(f"/proc/{daemon.pid}/fd/1")
        self.assertEqual([told["descriptors"][n] for n in "12"], [ours, ours])

    def test_it_has_the_descriptor_limit_that_we_were_given(self):
        def soft_limit(pid):
            limits = pathlib.Path(f"/proc/{pid}/limits").read_text().splitlines()
            return next(int(line.split()[3]) for line in limits if line.startswith("Max open files"))

        shell = self.folder / "limited"
        shell.write_text(f"#!/bin/sh\nulimit -Sn 200 && exec '{harness.program('HIBERNATE_BIN')}' \"$@\"\n")
        shell.chmod(0o755)
        port = harness.free_port()
        daemon = self.start([shell, "--hibernate-dir", self.root, "--hibernate-max-connections", 300,
                             self.fake, "-m", self.model, "--port", port],
                            self.environment(FAKE_LOG=self.log))
        harness.wait_ready(port, process=daemon)
        self.assertGreaterEqual(soft_limit(daemon.pid), 2 * 300)
        self.assertEqual(soft_limit(self.child(daemon)), 200)

    def test_it_leads_a_session_with_sigterm_blocked_and_a_death_signal(self):
        daemon, told = self.started("-np", 2)
        self.assertEqual((told["session"], told["group"]), (told["pid"], told["pid"]))
        self.assertEqual(told["parent"], daemon.pid)
        self.assertEqual(int(told["blocked"], 16), 1 << (signal.SIGTERM - 1))
        self.assertEqual(int(told["ignored"], 16), 0)
        self.assertEqual(told["death_signal"], 0 if harness.PORTABLE else signal.SIGKILL)

    def test_it_gets_the_users_arguments_byte_for_byte_and_in_order(self):
        given = ["--alias", "a b", "", "-ub", "64", "ünïcode ✓", "--", "-x=1", "'\"$HOME"]
        daemon, told = self.started("-np", 2, *given)
        argv = told["argv"][1:]
        start = argv.index("--alias")
        self.assertEqual(argv[:start], ["-m", self.model, "-np", "2"])
        self.assertEqual(argv[start:start + len(given)], given)

    def test_it_listens_where_only_we_look(self):
        daemon, told = self.started("-np", 2)
        argv = told["argv"]
        port = int(argv[argv.index("--port") + 1])
        self.assertEqual((argv.count("--port"), argv.count("--host")), (1, 1))
        self.assertEqual(argv[argv.index("--host") + 1], "127.0.0.1")
        self.assertNotIn(port, (daemon.port, daemon.port + 1))
        folder = pathlib.Path(argv[argv.index("--slot-save-path") + 1])
        self.assertEqual(folder.parent, self.root)

    def test_its_environment_is_ours_without_our_options(self):
        _, told = self.started(
            "-np", 2, LLAMA_HIBERNATE_DRAIN="1s", LLAMA_ARG_PORT="1", LLAMA_ARG_HOST="0.0.0.0",
            LLAMA_ARG_SLOT_SAVE_PATH=self.folder, LLAMA_SERVER_ROUTER_PORT="2",
            LLAMA_SERVER_CHILD_MODE="1", LLAMA_ARG_THREADS="3", MINE="kept")
        names = {entry.partition("=")[0] for entry in told["environment"]}
        self.assertLessEqual({"MINE", "LLAMA_ARG_THREADS", "FAKE_LOG"}, names)
        for gone in ("LLAMA_HIBERNATE_DRAIN", "LLAMA_ARG_PORT", "LLAMA_ARG_HOST",
                     "LLAMA_ARG_SLOT_SAVE_PATH", "LLAMA_SERVER_ROUTER_PORT",
                     "LLAMA_SERVER_CHILD_MODE"):
            self.assertNotIn(gone, names)

    def test_its_output_is_ours(self):
        daemon = self.ready("-np", 2)
        harness.wait_until(lambda: "model loaded" in daemon.lines, what="the child's own line")

    @harness.skip_in_portable("only Linux kills a child with its parent")
    def test_it_dies_with_us_whatever_kills_us(self):
        daemon = self.ready("-np", 2)
        child = self.child(daemon)
        daemon.process.kill()
        daemon.process.wait()
        harness.wait_until(lambda: not harness.is_running(child), 1, "the child is gone")

    @harness.skip_in_portable("only Linux kills a child with its parent")
    def test_it_dies_with_us_while_it_loads(self):
        daemon = self.launch("-np", 2, FAKE_LOAD_MS=60000)
        harness.wait_until(lambda: self.events("start"), what="the child runs")
        child = self.child(daemon)
        daemon.process.kill()
        daemon.process.wait()
        harness.wait_until(lambda: not harness.is_running(child), 1, "the child is gone")

    def test_its_children_do_not_stay_behind(self):
        # A shell that keeps llama-server as its own child, as some users' scripts do.
        script = self.folder / "server.sh"
        pids = self.folder / "pids"
        script.write_text(f'#!/bin/sh\nsleep 600 &\necho $! >"{pids}"\nexec "{self.fake}" "$@"\n')
        script.chmod(0o755)
        daemon = self.ready("-np", 2, server=script)
        straggler = int(pids.read_text())
        self.assertTrue(harness.is_running(straggler))
        self.stop(daemon)
        harness.wait_until(lambda: not harness.is_running(straggler), 1, "the straggler is gone")

    def test_a_child_that_closes_its_output_stalls_nothing(self):
        daemon = self.ready("-np", 2, FAKE_CLOSE_OUTPUT=1)
        self.complete(daemon)
        self.stop(daemon, within=3)
        self.assertEqual(len(self.snapshot_tokens()), 1)

    def test_nothing_waits_for_a_reader_of_our_output(self):
        self.seed(LONG)
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        port = harness.free_port()
        os.set_blocking(writer, False)
        try:
            while os.write(writer, b"x"):
                pass
        except BlockingIOError:
            os.set_blocking(writer, True)
        process = subprocess.Popen(
            [harness.program("HIBERNATE_BIN"), "--hibernate-dir", self.root, self.fake, "-m",
             self.model, "-np", "2", "--port", str(port)], stdin=subprocess.DEVNULL, stdout=writer,
            stderr=writer, start_new_session=True,
            env=self.environment(FAKE_QUIET=1, FAKE_LOG=self.log))
        os.close(writer)
        try:
            harness.wait_ready(port, process=process)
            answer = harness.post(port, "/completion", {"prompt": LONG * 2, "n_predict": 4})
            self.assertEqual(answer.status, 200)
            process.terminate()
            self.assertEqual(process.wait(harness.patience(5)), 0)
        finally:
            process.kill()
            process.wait()
        self.assertEqual(len(self.snapshot_tokens()), 2)

    def test_a_closed_output_kills_nobody(self):
        reader, writer = os.pipe()
        port = harness.free_port()
        process = subprocess.Popen(
            [harness.program("HIBERNATE_BIN"), "--hibernate-dir", self.root, self.fake, "-m",
             self.model, "-np", "2", "--port", str(port)], stdin=subprocess.DEVNULL, stdout=writer,
            stderr=writer, start_new_session=True, env=self.environment())
        os.close(writer)
        os.close(reader)
        try:
            harness.wait_ready(port, process=process)
            process.terminate()
            self.assertEqual(process.wait(harness.patience(5)), 0)
        finally:
            process.kill()
            process.wait()

    def test_missing_standard_streams_are_nobody_elses(self):
        # Whatever is opened first would get their numbers, and the log lines of both of us.
        for closed in ("0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"):
            with self.subTest(closed):
                port = harness.free_port()
                command = " ".join(map(str, [
                    "exec", harness.program("HIBERNATE_BIN"), "--hibernate-dir", self.root,
                    self.fake, "-m", self.model, "-np", 2, "--port", port, closed]))
                daemon = self.start(["/bin/sh", "-c", command], self.environment())
                harness.wait_ready(port, process=daemon)
                for stream in closed.replace("<&-", "").replace(">&-", "").split():
                    self.assertEqual(os.readlink(f"/proc/{daemon.pid}/fd/{stream}"), "/dev/null")
                self.stop(daemon)

    def test_no_zombie_after_restarts(self):
        daemon = self.ready("-np", 2, ours=["--hibernate-on-exit", "restart"])
        os.kill(self.child(daemon), signal.SIGKILL)
        harness.wait_until(lambda: len(self.events("start")) == 2, what="a second child")
        harness.wait_ready(daemon.port, process=daemon)
        self.assertEqual(len(harness.children(daemon.pid)), 1)
        self.stop(daemon)


class Launch(DaemonCase):
    """A child that cannot be started: one line that names it, and a shell's status."""

    def refused(self, server, status):
        daemon = self.launch(server=server)
        self.assertEqual(daemon.wait(3)[0], status, daemon.output)
        complaints = [line for line in daemon.lines if "listening on" not in line]
        self.assertEqual(len(complaints), 1, daemon.output)
        self.assertIn(str(server), complaints[0])

    def test_no_such_server(self):
        self.refused(self.folder / "nowhere", 127)

    def test_no_such_server_on_the_path(self):
        self.refused("no-such-llama-server", 127)

    def test_not_executable(self):
        plain = self.folder / "plain"
        plain.write_text("text")
        self.refused(plain, 126)

    def test_a_folder(self):
        self.refused(self.folder, 126)

    def test_missing_interpreter(self):
        script = self.folder / "script"
        script.write_text("#!/no/such/interpreter\n")
        script.chmod(0o755)
        self.refused(script, 127)


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "FAKE_LLAMA_SERVER")
