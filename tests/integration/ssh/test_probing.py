# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Probes of a real ssh server that does what no honest one does."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncssh
import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients import probing
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.probing import ProbeJob, ProbeResult, probe
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.launch_settings import Probe

Handler = Callable[[Any], Awaitable[None]]


async def closing(process: Any) -> None:
    """Ends the connection in the middle of the command."""
    process.stdout.write("going down\n")
    await asyncio.sleep(0.05)
    process.channel.get_connection().abort()


async def endless(process: Any) -> None:
    """Writes as long as somebody reads."""
    while True:
        process.stdout.write("x" * 65536)
        await process.stdout.drain()


async def silent(process: Any) -> None:
    """Never answers, and never closes its side."""
    await asyncio.sleep(3600)


async def without_status(process: Any) -> None:
    """Closes the channel without an exit status."""
    process.stdout.write("bye\n")
    process.close()


class Wire:
    """Passes bytes on in both directions, until it is cut: then it is silent and stays open."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._ends: list[asyncio.StreamWriter] = []
        self._cut = False
        self.connections = 0

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Handle a connection; those that are made after the cut are whole."""
        self.connections += 1
        there, back = await asyncio.open_connection("127.0.0.1", self._port)
        self._ends += [writer, back]
        first = self.connections == 1
        await asyncio.gather(self._pass(reader, back, first), self._pass(there, writer, first))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, first: bool) -> None:
        while data := await reader.read(65536):
            if not (first and self._cut):
                writer.write(data)

    def cut(self) -> None:
        """Cut the first connection."""
        self._cut = True

    def close(self) -> None:
        """Close all connections."""
        for end in self._ends:
            end.close()


def tried(
    folder: Path,
    handler: Handler,
    timeout: int = 2,
    wired: list[Wire] | None = None,
    secrets: tuple[str, ...] = (),
    encoding: str | None = "utf-8",
    interval: int = 1,
) -> tuple[ProbeResult, int]:
    """The result, and how many connections there were.

    :param wired: gets the wire between the two; without it there is none.
    :param encoding: of what the handler writes; None: it writes bytes.
    """
    key = asyncssh.generate_private_key("ssh-ed25519")
    key.write_private_key(str(folder / "key"))
    key.write_public_key(str(folder / "key.pub"))
    connections: list[Any] = []

    class Server(asyncssh.SSHServer):
        def connection_made(self, conn: Any) -> None:
            connections.append(conn)

    async def run() -> ProbeResult:
        host_key = asyncssh.generate_private_key("ssh-ed25519")
        listening = await asyncssh.create_server(
            Server,
            "127.0.0.1",
            0,
            server_host_keys=[host_key],
            authorized_client_keys=str(folder / "key.pub"),
            process_factory=handler,
            encoding=encoding,
        )
        port = listening.sockets[0].getsockname()[1]
        wanted = Probe(command="smoke", key_file="key", timeout=timeout, interval=interval)
        between = None
        if wired is not None:
            wired.append(Wire(port))
            between = await asyncio.start_server(wired[0].connected, "127.0.0.1", 0)
            port = between.sockets[0].getsockname()[1]
        try:
            job = ProbeJob("one", "127.0.0.1", port, "zuul", wanted, folder=str(folder), secrets=secrets)
            return await asyncio.wait_for(probe(job), 60)
        finally:
            listening.close()
            if wired and between is not None:
                between.close()
                wired[0].close()
            for connection in connections:
                connection.abort()

    return asyncio.run(run()), len(connections)


def test_a_connection_that_is_closed_is_told_with_what_was_written_and_made_anew(tmp_path: Path) -> None:
    result, connections = tried(tmp_path, closing)
    assert result.error is not None and "no ssh to 127.0.0.1 as zuul: " in result.error
    assert "its output ends with: going down" in result.error
    assert connections >= 2


@pytest.mark.parametrize(("handler", "words"), [(silent, "without output"), (without_status, "bye")])
def test_a_command_without_an_end_or_a_status(tmp_path: Path, handler: Handler, words: str) -> None:
    result, connections = tried(tmp_path, handler)
    assert result.error is not None and words in result.error and "within 2 s" in result.error
    assert connections == 1


def test_a_machine_that_goes_away_without_a_word_is_asked_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one does that restarts while the command runs."""
    monkeypatch.setattr(probing, "ALIVE", 0.2)
    wired: list[Wire] = []

    async def restarting(process: Any) -> None:
        if wired[0].connections > 1:
            process.exit(0)
            return
        wired[0].cut()
        await asyncio.sleep(3600)

    result, connections = tried(tmp_path, restarting, timeout=40, wired=wired)
    assert (result.error, connections) == (None, 2)


def test_a_key_that_is_no_file_is_told_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    wanted = Probe(command="smoke", key_file=str(tmp_path / "pipe"), timeout=30)
    result = asyncio.run(probe(ProbeJob("one", "127.0.0.1", 1, "zuul", wanted)))
    assert (result.error, result.ours) == (f"key-file {tmp_path}/pipe is not a file: name a private key", True)


def test_an_endless_output_ends_the_probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "MOST_OUTPUT", 1 << 22)
    result, connections = tried(tmp_path, endless, timeout=60)
    assert result.error == (
        "the probe has not passed: 'smoke' on 127.0.0.1 has written more than 4 MiB: redirect its output"
    )
    assert connections == 1
