#!/usr/bin/env python3
"""The proxy beside HAProxy and nginx, each with one worker, on one static backend. Started by
proxy.sh, which builds what it needs.

    tests/bench/proxy.sh [ROUNDS] [SECONDS]         5 and 3 unless given

In every round each proxy takes its turn; a cell is the median of the rounds. CPU is user and system
time of the proxy's process from /proc/PID/stat, so it depends little on what shares the machine's
cores; requests a second do, and are no measure of anything here. Rows:
  llama-hibernate         the proxy alone, without hooks, allowed as many connections as there are clients
                          (the daemon leaves llama-server some threads, and keeps fewer)
  haproxy, nginx          likewise with connections to the backend that are used again
  ... fresh               a new connection to the backend for each request
  ... POST                the same, with POST requests, which always get one from us
Columns: CPU for a request at 32 and at 1 connections; p50 at 1 connection, less the backend's own;
100 MB as wall time and CPU; CPU for an event of a stream (16 streams, 1000 events a second each);
resident memory idle and with 1,000 idle streams.
"""

import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD", TOP / "build/release"))
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
SSE = BUILD / "tests/bench_sse"
TICK = os.sysconf("SC_CLK_TCK")
MIB = 1024 * 1024
JSON = '{"id":"0123456789","object":"list","data":[{"id":"some-model","object":"model","owned_by":"llamacpp"}],"x":1}'
BIG = 100 * 1000 * 1000

running = []


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(command, port, quiet=True):
    process = subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL if quiet else None)
    running.append(process)
    deadline = time.monotonic() + 10
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return process
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"does not listen: {command}")
            time.sleep(0.02)


def nginx(directory, name, http):
    """Without a master: the process that serves is the one that was started."""
    config = directory / f"{name}.conf"
    config.write_text(f"""
daemon off; master_process off; worker_processes 1; pid {directory}/{name}.pid; error_log stderr crit;
events {{ worker_connections 8192; }}
http {{
    access_log off; keepalive_requests 100000000; tcp_nodelay on;
    client_body_temp_path {directory}/{name}-body; proxy_temp_path {directory}/{name}-proxy;
    fastcgi_temp_path {directory}/{name}-1; uwsgi_temp_path {directory}/{name}-2; scgi_temp_path {directory}/{name}-3;
    {http}
}}
""")
    return ["nginx", "-e", "stderr", "-p", directory, "-c", config]


def haproxy(directory, name, port, backend, options):
    config = directory / f"{name}.cfg"
    config.write_text(f"""
global
    nbthread 1
    maxconn 4096
defaults
    mode http
    timeout connect 10s
    timeout client 1h
    timeout server 1h
    {options}
frontend f
    bind 127.0.0.1:{port}
    default_backend b
backend b
    server s 127.0.0.1:{backend}
""")
    return ["haproxy", "-db", "-q", "-f", config]


class Proxy:
    def __init__(self, name, command_for, directory, backend, source, post=False):
        self.name, self.post = name, post
        self.port, self.stream_port = free_port(), free_port()
        self.process = start(command_for(self.port, backend), self.port)
        self.idle_rss = self.rss(self.process)
        # A process of its own, whose memory no earlier run has grown.
        self.streams = start(command_for(self.stream_port, source), self.stream_port)
        self.runs = {}

    @staticmethod
    def rss(process):
        return int(pathlib.Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * 4096 / MIB

    def note(self, what, value):
        self.runs.setdefault(what, []).append(value)

    def cell(self, what):
        values = self.runs.get(what)
        return statistics.median(values) if values else None


def cpu_seconds(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def wrk(port, connections, seconds, script=None):
    """Requests served, and the median latency in microseconds."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency"]
    command += ["-s", script] if script else []
    text = subprocess.run(
        command + [f"http://127.0.0.1:{port}/json"], capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in text or "Socket errors" in text:
        sys.exit(text)
    value, unit = re.search(r"50%\s+([\d.]+)(us|ms|s)", text).groups()
    latency = float(value) * {"us": 1, "ms": 1e3, "s": 1e6}[unit]
    return int(re.search(r"(\d+) requests in", text).group(1)), latency


def download(port):
    """Seconds for the whole body, read by a client that throws it away."""
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"GET /big HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n")
        piece = bytearray(1 << 20)
        size = 0
        while got := client.recv_into(piece):
            size += got
    assert size > BIG, size
    return time.monotonic() - began


def stream(proxy, streams, rate, seconds, meanwhile=None):
    """Events that came through, and the proxy's CPU for them."""
    client = subprocess.Popen(
        [SSE, "client", str(proxy.stream_port), str(streams), str(rate), str(seconds)],
        stdout=subprocess.PIPE, text=True)
    assert client.stdout.readline() == "ready\n"
    before = cpu_seconds(proxy.streams)
    if meanwhile:
        meanwhile()
    events = int(client.stdout.readline())
    after = cpu_seconds(proxy.streams)
    client.wait()
    return events, after - before


def measure(proxy, post_script):
    script = post_script if proxy.post else None
    for connections in (32, 1):
        before = cpu_seconds(proxy.process)
        requests, latency = wrk(proxy.port, connections, SECONDS, script)
        used = cpu_seconds(proxy.process) - before
        proxy.note(f"c{connections}", used / requests * 1e6)
        if connections == 1:
            proxy.note("p50", latency)
    if proxy.post:
        return
    times = []
    before = cpu_seconds(proxy.process)
    for _ in range(5):
        times.append(download(proxy.port))
    proxy.note("big_cpu", (cpu_seconds(proxy.process) - before) / 5 * 1e3)
    proxy.note("big", statistics.median(times) * 1e3)
    events, used = stream(proxy, 16, 1000, SECONDS)
    proxy.note("event", used / events * 1e6)


def main():
    missing = [p for p in ("haproxy", "nginx", "wrk") if not shutil.which(p, path=os.environ["PATH"] + ":/usr/sbin")]
    if missing:
        sys.exit(f"missing: {' '.join(missing)} (apt-get install haproxy nginx-light wrk)")
    os.environ["PATH"] += ":/usr/sbin"
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        (directory / "big").write_bytes(os.urandom(1 << 20) * (BIG // (1 << 20) + 1))
        post = directory / "post.lua"
        post.write_text('wrk.method = "POST"\nwrk.body = "{}"\n')
        backend, source = free_port(), free_port()
        start(nginx(directory, "backend", f"""server {{
            listen 127.0.0.1:{backend} backlog=4096; default_type application/json; root {directory};
            location /json {{ return 200 '{JSON}'; }} }}"""), backend)
        start([SSE, "source", source], source)

        def ours(kept):
            return lambda port, to: [BUILD / "tests/bench_proxy", port, to, kept]

        def nginx_proxy(kept):
            def command(port, to):
                fields = 'proxy_set_header Connection "";' if kept else ""
                return nginx(directory, f"proxy-{port}", f"""
                    upstream u {{ server 127.0.0.1:{to}; {"keepalive 64; keepalive_requests 100000000;" if kept else ""} }}
                    server {{ listen 127.0.0.1:{port} backlog=4096; proxy_buffering off; proxy_http_version 1.1;
                        {fields} proxy_read_timeout 1h; location / {{ proxy_pass http://u; }} }}""")
            return command

        def haproxy_proxy(options):
            return lambda port, to: haproxy(directory, f"haproxy-{port}", port, to, options)

        proxies = [
            Proxy(*row, directory, backend, source, post=row[0].endswith("POST")) for row in (
                ("llama-hibernate", ours(64)),
                ("llama-hibernate, fresh", ours(0)),
                ("llama-hibernate, POST", ours(64)),
                ("haproxy", haproxy_proxy("")),
                ("haproxy, fresh", haproxy_proxy("option http-server-close")),
                ("nginx", nginx_proxy(True)),
                ("nginx, fresh", nginx_proxy(False)))]
        base = []
        for _ in range(ROUNDS):
            base.append(wrk(backend, 1, SECONDS)[1])
            for proxy in proxies:
                measure(proxy, post)
        direct = statistics.median(base)
        for proxy in proxies:
            if not proxy.post and not proxy.name.endswith("fresh"):
                stream(proxy, 1000, 0, 1, lambda p=proxy: p.note("rss", p.rss(p.streams)))
        print(f"{'':24}{'c=32':>8}{'c=1':>8}{'added p50':>11}{'100 MB':>9}{'its CPU':>9}{'event':>8}"
              f"{'idle':>8}{'1000 idle':>11}")
        print(f"{'':24}{'us CPU':>8}{'us CPU':>8}{'us':>11}{'ms':>9}{'ms':>9}{'us CPU':>8}{'MiB':>8}{'MiB':>11}")
        for proxy in proxies:
            added = proxy.cell("p50") - direct
            cells = [(proxy.cell("c32"), 8, 1), (proxy.cell("c1"), 8, 1), (added, 11, 0),
                     (proxy.cell("big"), 9, 0), (proxy.cell("big_cpu"), 9, 0), (proxy.cell("event"), 8, 1),
                     (proxy.idle_rss, 8, 1), (proxy.cell("rss"), 11, 1)]
            print(f"{proxy.name:24}" + "".join(
                f"{'-':>{width}}" if value is None else f"{value:>{width}.{digits}f}"
                for value, width, digits in cells))
        print(f"(the backend's own p50: {direct:.0f} us; {ROUNDS} rounds of {SECONDS} s)")


try:
    main()
finally:
    for process in running:
        process.send_signal(signal.SIGTERM)
    for process in running:
        try:
            process.wait(2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
