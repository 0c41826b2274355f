#!/usr/bin/env python3
"""WebSockets pass through the tunnel, between an independent client and server."""

import asyncio
import contextlib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import harness
from daemon import DaemonCase

websockets = harness.module("websockets", "python3-websockets")


async def echo(connection, path=None):
    with contextlib.suppress(websockets.ConnectionClosed):
        async for message in connection:
            if message == "leave":
                await connection.close(4001, "as you wish")
                return
            await connection.send(message)


class WebSocket(DaemonCase):
    def through(self, use):
        """Runs use(connect) against an echo server behind a daemon."""
        async def run():
            async with websockets.serve(echo, "127.0.0.1", 0, subprotocols=["chat"],
                                        max_size=None) as server:
                port = server.sockets[0].getsockname()[1]
                loop = asyncio.get_running_loop()
                daemon = await loop.run_in_executor(
                    None, self.forwarding, port)

                def connect():
                    return websockets.connect(f"ws://127.0.0.1:{daemon.port}/ws?a=b",
                                              subprotocols=["chat"], max_size=None,
                                              ping_interval=None)
                await use(connect)
        asyncio.run(asyncio.wait_for(run(), harness.patience(20)))

    def test_messages_of_every_kind_come_back(self):
        async def use(connect):
            async with connect() as connection:
                self.assertEqual(connection.subprotocol, "chat")
                for message in ("", "text \u2713", b"\0\r\n\xff", bytes(range(256)) * 8000,
                                "x" * 3_000_000):
                    await connection.send(message)
                    self.assertEqual(await connection.recv(), message)
                await connection.send(["in ", "three ", "fragments"])
                self.assertEqual(await connection.recv(), "in three fragments")
                await (await connection.ping())
        self.through(use)

    def test_either_side_may_close(self):
        async def use(connect):
            async with connect() as connection:
                await connection.close(4000, "enough")
                self.assertEqual((connection.close_code, connection.close_reason),
                                 (4000, "enough"))
            async with connect() as connection:
                await connection.send("leave")
                with self.assertRaises(websockets.ConnectionClosed):
                    await connection.recv()
                self.assertEqual((connection.close_code, connection.close_reason),
                                 (4001, "as you wish"))
        self.through(use)

    def test_many_at_once(self):
        async def use(connect):
            async def one(number):
                async with connect() as connection:
                    for count in range(20):
                        await connection.send(f"{number}.{count}")
                        self.assertEqual(await connection.recv(), f"{number}.{count}")
            await asyncio.gather(*(one(number) for number in range(20)))
        self.through(use)


if __name__ == "__main__":
    harness.main("HIBERNATE_BIN")
