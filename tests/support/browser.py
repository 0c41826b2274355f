"""A real browser without a window, driven by its DevTools protocol: Debian's chromium."""

import asyncio
import base64
import contextlib
import json
import pathlib
import shutil
import subprocess
import tempfile
import time
import urllib.request

import harness

websockets = harness.module("websockets", "python3-websockets")


class Browser:
    """One tab. Use it as an asynchronous context."""

    async def __aenter__(self):
        self.folder = tempfile.mkdtemp(prefix="hibernate-browser-")
        self.process = subprocess.Popen(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-background-networking", "--remote-debugging-port=0",
             f"--user-data-dir={self.folder}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        told = pathlib.Path(self.folder) / "DevToolsActivePort"
        harness.wait_until(lambda: told.exists() and told.read_text().count("\n"), 60, "a browser")
        port = told.read_text().split()[0]
        tabs = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=30))
        address = next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")
        self.socket = await websockets.connect(address, max_size=None)
        self.last = 0
        self.complaints = []  # of the page's console, refusals by its policy too
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.call(f"{domain}.enable")
        return self

    async def __aexit__(self, *_):
        with contextlib.suppress(Exception):
            await self.call("Browser.close")
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _note(self, message):
        if message.get("method") == "Log.entryAdded":
            entry = message["params"]["entry"]
            if entry["level"] in ("warning", "error"):
                self.complaints.append(entry["text"])
        elif message.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(message["params"]["exceptionDetails"]))

    async def call(self, method, **parameters):
        self.last += 1
        await self.socket.send(json.dumps(
            {"id": self.last, "method": method, "params": parameters}))
        while True:
            message = json.loads(await asyncio.wait_for(self.socket.recv(), harness.patience(30)))
            if message.get("id") == self.last:
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']}")
                return message["result"]
            self._note(message)

    async def open(self, url):
        await self.call("Page.navigate", url=url)

    async def look_like(self, width, height, scheme, phone=False):
        await self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                        deviceScaleFactor=2 if phone else 1, mobile=phone)
        await self.call("Emulation.setEmulatedMedia",
                        features=[{"name": "prefers-color-scheme", "value": scheme}])

    async def evaluate(self, expression):
        told = await self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                               awaitPromise=True)
        if "exceptionDetails" in told:
            raise AssertionError(f"{expression}: {told['exceptionDetails']}")
        return told["result"].get("value")

    async def wait_for(self, expression, seconds=15):
        deadline = time.monotonic() + harness.patience(seconds)
        while True:
            with contextlib.suppress(AssertionError):
                value = await self.evaluate(expression)
                if value:
                    return value
            if time.monotonic() > deadline:
                text = await self.evaluate("document.body.innerText")
                raise AssertionError(f"never true: {expression}; the page says:\n{text}\n"
                                     f"and complains of {self.complaints}")
            await asyncio.sleep(0.1)

    async def screenshot(self, path):
        """Of the whole page."""
        shot = await self.call("Page.captureScreenshot", captureBeyondViewport=True)
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))
