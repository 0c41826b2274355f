#!/usr/bin/env python3
"""The page in a real browser: what it shows, how it follows, and that nothing in it does harm.
tests/page.sh runs it. Screenshots go to the folder that SCREENSHOTS names, if it does."""

import asyncio
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import harness
from daemon import DaemonCase, LONG, OTHER

from browser import Browser

# A file may be called so, and the daemon tells its name.
NASTY = "<img src=x onerror=window.harmed=1>&amp;<b>.gguf"


class Page(DaemonCase):
    def url(self, daemon):
        return f"http://127.0.0.1:{daemon.port}/hibernate/"

    def two_restored(self, *arguments, **more):
        """A daemon that has restored two conversations, one of which went on."""
        self.seed(LONG, OTHER)
        daemon = self.ready("-np", 2, *arguments, **more)
        self.go_on(daemon, LONG)
        return daemon

    def shots(self):
        folder = os.environ.get("SCREENSHOTS")
        if folder:
            pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        return folder

    def test_it_shows_what_is_restored_saved_and_reused(self):
        daemon = self.two_restored()

        async def look():
            async with Browser() as browser:
                await browser.look_like(1280, 900, "light")
                await browser.open(self.url(daemon))
                await browser.wait_for("document.body.innerText.includes('2 of 2')")
                await browser.wait_for(
                    "[...document.querySelectorAll('#slots td')].some(c => c.innerText == 'saved')")
                await browser.wait_for("/of [\\d,]+ tokens restored/.test(document.body.innerText)")
                text = await browser.evaluate("document.body.innerText")
                for part in ("ready", "model.gguf", "Disk", "Last stop", "saved slot"):
                    self.assertIn(part, text)
                self.assertNotIn("Not saved", text)
                for manifest in self.manifests():
                    self.assertIn(manifest["id"], text)
                for scheme in ("light", "dark"):
                    for width, height, name in ((1280, 900, "desktop"), (390, 844, "phone")):
                        await browser.look_like(width, height, scheme, phone=name == "phone")
                        await asyncio.sleep(0.3)
                        wide = await browser.evaluate(
                            "document.documentElement.scrollWidth <= window.innerWidth")
                        self.assertTrue(wide, f"{name} scrolls sideways")
                        if folder := self.shots():
                            await browser.screenshot(f"{folder}/{name}-{scheme}.png")
                self.assertEqual(browser.complaints, [])

        asyncio.run(look())

    def test_it_says_that_nothing_is_saved(self):
        self.root.write_text("a file")
        daemon = self.ready("-np", 2)

        async def look():
            async with Browser() as browser:
                await browser.look_like(390, 844, "light", phone=True)
                await browser.open(self.url(daemon))
                await browser.wait_for("!document.getElementById('all').hidden")
                self.assertIn("Not saved: conversations are served, but neither saved nor restored: ",
                              await browser.evaluate("document.body.innerText"))
                wide = await browser.evaluate(
                    "document.documentElement.scrollWidth <= window.innerWidth")
                self.assertTrue(wide, "it scrolls sideways")
                if folder := self.shots():
                    await browser.screenshot(f"{folder}/not-saved.png")

        asyncio.run(look())

    def test_it_follows_and_comes_back(self):
        port = harness.free_port()
        daemon = self.ready("-np", 2, port=port)

        async def look():
            async with Browser() as browser:
                await browser.open(self.url(daemon))
                await browser.wait_for("document.body.innerText.includes('None yet')")
                await asyncio.to_thread(self.complete, daemon)
                await browser.wait_for("document.querySelectorAll('#snapshots tbody tr').length == 1")
                await asyncio.to_thread(self.stop, daemon)
                await browser.wait_for("document.body.innerText.includes('Not connected')")
                if folder := self.shots():
                    await browser.look_like(390, 844, "light", phone=True)
                    await browser.screenshot(f"{folder}/lost.png")
                await asyncio.to_thread(self.ready, "-np", 2, port=port)
                await browser.wait_for("document.getElementById('state').innerText == 'ready'")
                await browser.wait_for("document.body.innerText.includes('1 of 1')")

        asyncio.run(look())

    def test_it_asks_for_the_key(self):
        daemon = self.launch("-np", 2, "--api-key", "secret")
        harness.wait_ready(daemon.port, process=daemon)

        async def look():
            async with Browser() as browser:
                await browser.look_like(390, 844, "dark", phone=True)
                await browser.open(self.url(daemon))
                for key, shown in (("wrong", False), ("secret", True)):
                    await browser.wait_for("!document.getElementById('key').hidden")
                    if folder := self.shots():
                        await browser.screenshot(f"{folder}/key.png")
                    await browser.evaluate(
                        f"document.getElementById('key-input').value = '{key}';"
                        "document.getElementById('key-form').requestSubmit()")
                    if shown:
                        await browser.wait_for("!document.getElementById('all').hidden")
                await browser.wait_for("document.getElementById('state').innerText == 'ready'")

        asyncio.run(look())

    def test_names_are_text_and_not_markup(self):
        model = harness.write_model(self.folder / NASTY)
        daemon = self.ready("-np", 2, "-m", model, model=False)
        self.complete(daemon)

        async def look():
            async with Browser() as browser:
                await browser.open(self.url(daemon))
                await browser.wait_for("document.querySelectorAll('#snapshots tbody tr').length == 1")
                self.assertEqual(
                    await browser.evaluate("document.getElementById('model').textContent"), NASTY)
                self.assertFalse(await browser.evaluate("window.harmed === 1"))
                self.assertEqual(await browser.evaluate("document.images.length"), 0)
                # Even markup that got in could run nothing.
                await browser.evaluate(
                    "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=window.harmed=1>')")
                await asyncio.sleep(0.5)
                self.assertFalse(await browser.evaluate("window.harmed === 1"))

        asyncio.run(look())


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN", "FAKE_LLAMA_SERVER")
