# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A port in front of the guests' sshd, at which some of them accept a connection and never show a host key."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from concurrent.futures import Future
from typing import Any

PIECE = 65536


class Gate:
    """A context manager. What comes to an address at its port goes to *behind* at the same address.

    :ivar port: where it listens, on every loopback address.
    :ivar refused: addresses whose guest shows no key.
    """

    def __init__(self, behind: int) -> None:
        self._behind = behind
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="gate", daemon=True)
        self._broken = 0
        self.refused: set[str] = set()
        self.port = 0

    def __enter__(self) -> Gate:
        self._thread.start()
        self._server = self._call(asyncio.start_server(self._come, "0.0.0.0", 0)).result(10)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    def __exit__(self, *_exc_info: object) -> None:
        self._loop.call_soon_threadsafe(self._server.close)
        self._call(self._end()).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def break_next(self) -> None:
        """The guest that is reached next shows no key, whenever it is asked."""
        self._broken += 1

    def _call(self, work: Any) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    @staticmethod
    async def _end() -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _come(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = str(writer.get_extra_info("sockname")[0])
        if self._broken and address not in self.refused:
            self._broken -= 1
            self.refused.add(address)
        with contextlib.suppress(OSError):
            try:
                if address in self.refused:
                    # It greets as sshd does and then hangs up: one without host keys.
                    writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")
                    await writer.drain()
                else:
                    await self._pass(address, reader, writer)
            finally:
                writer.close()

    async def _pass(self, address: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner, outer = await asyncio.open_connection(address, self._behind)
        try:
            await asyncio.gather(_copy(reader, outer), _copy(inner, writer))
        finally:
            outer.close()


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while piece := await source.read(PIECE):
        sink.write(piece)
        await sink.drain()
    if sink.can_write_eof():
        sink.write_eof()
