# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tries whether a node that answers by ssh can be used: a port, and a command over ssh. A node has one connection.

The ssh protocol is asyncssh's, which is imported only when the first command is run.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import re
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..model.bounded_text import bounded
from ..model.config.launch_settings import Probe
from ..model.redaction import redacted

LONGEST_CONNECT = 10.0
"""Seconds for one connection to the port, and for one login."""
ALIVE = 10.0
"""Seconds without a word from the node after which it is asked whether it is there: a machine that restarts while a
command runs says nothing, and only reads would wait for it for ever."""
MOST_UNANSWERED = 3
CHUNK = 65536
MOST_OUTPUT = 1 << 28
"""Bytes of a command's output that are read: what writes without end would keep the launcher busy."""
TAIL = 4096
"""Bytes of a command's output that are kept: its end."""
_CUT_WORD = re.compile(r"\A(?:\S{0,255}\s|\S{256}\[?[0-?]*[ -/]*[@-~])")
"""What may be the rest of a secret, of a letter, or of a sequence that controls a terminal."""
LONGEST_SHOWN = 3 * TAIL
"""So much becomes of TAIL bytes that are no text at all: three bytes of each."""
LONGEST_OUTPUT = 600
"""Bytes of that end that are told."""
LONGEST_COMMAND = 80
LONGEST_GOODBYE = 2.0


@dataclass(frozen=True)
class ProbeJob:
    """One node to try.

    :param key: a name that the caller chooses, unique among the running jobs.
    :param address: IPv4 or IPv6 address.
    :param port: port of ssh.
    :param host_keys: those that it answered with, as "keytype base64"; none: any is accepted.
    :param folder: where a relative key-file begins.
    :param left: the seconds of the probe's timeout that are left, if an earlier cycle has used the others; None: all.
    :param secrets: what is hidden in the output that is told.
    """

    key: str
    address: str
    port: int
    username: str
    probe: Probe
    host_keys: tuple[str, ...] = ()
    folder: str = ""
    left: float | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class ProbeResult:
    """How a job ended.

    :ivar error: why it has not passed; None if it has.
    :ivar ours: the error is one of this host, such as a key that cannot be read, and says nothing about the node.
    """

    key: str
    error: str | None = None
    ours: bool = False
    seconds: float = 0.0


class _NotPassed(Exception):
    """An attempt has not passed; the message says why."""


class _Endless(Exception):
    """An attempt has not passed, and another one would not either; the message says why."""


class _Ours(Exception):
    """Nothing can be tried because of something on this host."""


@dataclass
class _Attempts:
    """The attempts at one node. *tail*: the end of the output of the present command, None while none runs."""

    job: ProbeJob
    connection: Any = None
    number: int = 0
    said: str = ""
    tail: bytes | None = None
    key: Any = field(default=None, repr=False)

    async def run(self) -> None:
        """Try until it passes; the caller sets the limit of time."""
        loop, probe = asyncio.get_running_loop(), self.job.probe
        if probe.command is not None:
            path = os.path.join(self.job.folder, probe.key_file or "")
            self.key = await loop.run_in_executor(None, _private_key, path)
        while True:
            began = loop.time()
            self.number += 1
            try:
                await self._once(probe)
                return
            except _NotPassed as problem:
                self.said = str(problem)
            await asyncio.sleep(max(0.0, began + probe.interval - loop.time()))

    async def end(self) -> None:
        """Close the connection, also when the node does not answer any more."""
        if self.connection is not None:
            self.connection.abort()
            with contextlib.suppress(Exception):
                async with asyncio.timeout(LONGEST_GOODBYE):
                    await self.connection.wait_closed()

    def text(self) -> str:
        """Return why it has not passed within its time."""
        job, probe = self.job, self.job.probe
        if self.tail is not None:
            ended = f"{self._named} on {job.address} has not ended{self._output(self.tail)}"
        else:
            ended = self.said or f"{job.address} has not answered"
        tries = f", {self.number} attempts" if self.number > 1 else ""
        return f"the probe has not passed within {probe.timeout} s{tries}: {ended}"

    async def _once(self, probe: Probe) -> None:
        if probe.port is not None:
            await self._connect(probe.port)
        if probe.command is not None:
            await self._command(probe)

    async def _connect(self, port: int) -> None:
        where = f"port {port} of {self.job.address}"
        try:
            async with asyncio.timeout(LONGEST_CONNECT):
                _reader, writer = await asyncio.open_connection(self.job.address, port)
        except TimeoutError:
            raise _NotPassed(f"{where} has not accepted a connection within {LONGEST_CONNECT:g} s") from None
        except OSError as problem:
            raise _NotPassed(f"{where} accepts no connection: {problem.strerror or problem}") from None
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()

    async def _command(self, probe: Probe) -> None:
        ssh = _asyncssh()
        try:
            if self.connection is None:
                async with asyncio.timeout(LONGEST_CONNECT):
                    self.connection = await self._login(ssh)
            process = await self.connection.create_process(
                probe.command, stdin=ssh.DEVNULL, stderr=ssh.STDOUT, encoding=None
            )
            self.tail, size = b"", 0
            while data := await process.stdout.read(CHUNK):
                self.tail, size = (self.tail + data)[-TAIL:], size + len(data)
                if size > MOST_OUTPUT:
                    what = f"{self._named} on {self.job.address} has written more than {MOST_OUTPUT >> 20} MiB"
                    raise _Endless(f"the probe has not passed: {what}: redirect its output")
            ended = await process.wait()
        except TimeoutError:
            raise _NotPassed(f"no login to {self.job.address} within {LONGEST_CONNECT:g} s") from None
        except (ssh.Error, OSError) as problem:
            said = getattr(problem, "reason", None) or getattr(problem, "strerror", None) or str(problem)
            tail, self.tail = self.tail or b"", None
            await self.end()
            self.connection = None
            what = f"no ssh to {self.job.address} as {self.job.username}: {said or type(problem).__name__}"
            raise _NotPassed(f"{what}{self._output(tail)}") from None
        tail, self.tail = self.tail, None
        if ended.exit_status != 0:
            how = "was killed" if ended.exit_status is None else f"ended with {ended.exit_status}"
            raise _NotPassed(f"{self._named} on {self.job.address} {how}{self._output(tail)}")

    @property
    def _named(self) -> str:
        return repr(bounded(redacted(self.job.probe.command or "", self.job.secrets), LONGEST_COMMAND))

    def _output(self, tail: bytes) -> str:
        """Return the end of the output, where a command says what is wrong, without secrets."""
        text = tail.decode("utf-8", "replace")
        if len(tail) == TAIL:
            text = _CUT_WORD.sub("", text)
        # A sequence for a terminal may be in the middle of a secret, and must be whole to be left out.
        shown = bounded(redacted(text, self.job.secrets), LONGEST_SHOWN)
        text = redacted(shown, self.job.secrets).strip()
        if not text:
            return "; without output"
        return f"; its output ends with: {bounded(text[-LONGEST_OUTPUT:], LONGEST_OUTPUT)}"

    async def _login(self, ssh: Any) -> Any:
        job = self.job
        trusted = [ssh.import_public_key(text) for text in job.host_keys]
        return await ssh.connect(
            job.address,
            job.port,
            username=job.username,
            client_keys=[self.key],
            known_hosts=(trusted, [], []) if trusted else None,
            config=None,
            agent_path=None,
            preferred_auth="publickey",
            keepalive_interval=ALIVE,
            keepalive_count_max=MOST_UNANSWERED,
        )


async def probe(job: ProbeJob, clock: Callable[[], float] = time.monotonic) -> ProbeResult:
    """Try a node until it passes or its time is over, whatever it does."""
    began, attempts = clock(), _Attempts(job)
    error, ours = None, False
    try:
        # Not asyncio.wait_for: in Python 3.11 it forgets the limit when an attempt ends in the same moment.
        async with asyncio.timeout(job.probe.timeout if job.left is None else job.left):
            await attempts.run()
    except TimeoutError:
        error = attempts.text()
    except _Endless as problem:
        error = str(problem)
    except _Ours as problem:
        error, ours = str(problem), True
    finally:
        await attempts.end()
    return ProbeResult(job.key, error, ours, clock() - began)


def _private_key(path: str) -> Any:
    ssh = _asyncssh()
    try:
        # One that others write to, such as a pipe, would never end.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise _Ours(f"key-file {path} is not a file: name a private key")
        return ssh.read_private_key(path)
    except OSError as problem:
        raise _Ours(f"key-file {path} cannot be read: {problem.strerror or problem}: name a private key") from None
    except (ssh.KeyImportError, ssh.KeyEncryptionError, ValueError):
        raise _Ours(f"key-file {path} is not a private key without a passphrase: name another one") from None


def _asyncssh() -> Any:
    return importlib.import_module("asyncssh")
