# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A scanner that waits until nodes are reachable and reads their host keys: one thread with an event loop for all.

The ssh protocol is asyncssh's. It is imported only when the first host key is needed: the import takes a third of a
second, and few runs need it.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.util
import ipaddress
import logging
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from ..model.errors import MissingLibraryError
from .probing import ProbeJob, ProbeResult, probe

PAUSE = 0.5
"""Seconds between the starts of two attempts at the same host."""
LONGEST_ATTEMPT = 10.0
"""Seconds for one connection, including the host key."""
KEY_TYPES = (
    ("ssh-ed25519",),
    ("ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521"),
    ("rsa-sha2-512", "rsa-sha2-256", "ssh-rsa"),
)
"""Types of host keys that are collected, in the order in which they are reported."""
ANY = "*"
"""All algorithms: network devices and old systems know only what asyncssh does not offer by itself, such as
diffie-hellman-group1-sha1 and aes128-cbc. A scan reads a public key and sends nothing that must stay secret."""
TRIES_FOR_MORE = 3
"""Maximum number of attempts for further types of keys when the connection breaks; a host with one key is usable."""
LONGEST_END = 5.0

_log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True)
class ScanJob:
    """One host to scan.

    :param key: a name that the caller chooses, unique among the running jobs.
    :param address: IPv4 or IPv6 address (names are not resolved).
    :param deadline: seconds from submit.
    :param left: the seconds of it that are left, if an earlier job has used the others; None: all.
    :param want_keys: False: the job succeeds when the host accepts a connection.
    """

    key: str
    address: str
    port: int = 22
    deadline: float = 60.0
    want_keys: bool = True
    left: float | None = None


@dataclass(frozen=True)
class ScanResult:
    """The result of a job: *host_keys* as "keytype base64", *error* None when it succeeded, *seconds* since submit."""

    key: str
    host_keys: tuple[str, ...]
    error: str | None
    seconds: float


def require() -> None:
    """Check that asyncssh is installed, without importing it.

    :raises MissingLibraryError: asyncssh is not installed.
    """
    if importlib.util.find_spec("asyncssh") is None:
        raise MissingLibraryError("asyncssh")


def _asyncssh() -> Any:
    return importlib.import_module("asyncssh")


class Scanner:
    """A scanner that waits until hosts accept TCP connections and collects their ssh host keys.

    The scanner tries a host at once and then each half second until its deadline. Once the host has shown a key, the
    scanner asks it for the other types, until the host has no more keys.

    :param on_result: called once for each job that was not cancelled, in the scanner's thread; it must be quick.
    :param limit: maximum number of connections at the same time.
    :raises MissingLibraryError: asyncssh is not installed.
    """

    def __init__(
        self,
        on_result: Callable[[ScanResult], None],
        *,
        limit: int = 200,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        require()
        self._on_result = on_result
        self._clock = clock
        self._jobs: dict[str, Future[None]] = {}
        self._problem: dict[str, str] = {}
        self._lock = threading.Lock()
        self._slots = asyncio.Semaphore(limit)
        self._probe_slots = asyncio.Semaphore(limit)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="ssh-scanner", daemon=True)
        self._thread.start()

    def submit(self, job: ScanJob) -> None:
        """Begin *job*; a running job with the same key is cancelled without a result."""
        self.cancel(job.key)
        began = self._clock()
        with self._lock:
            if self._loop.is_closed():
                raise RuntimeError("the scanner is closed")
            self._jobs[job.key] = asyncio.run_coroutine_threadsafe(self._scan(job, began), self._loop)

    def probe(self, job: ProbeJob, done: Callable[[ProbeResult], None]) -> None:
        """Begin to try whether a node can be used; a running job with the same key is cancelled without a result.

        :param done: called once unless the job is cancelled, in the scanner's thread; it must be quick.
        """
        self.cancel(job.key)
        with self._lock:
            if self._loop.is_closed():
                raise RuntimeError("the scanner is closed")
            self._jobs[job.key] = asyncio.run_coroutine_threadsafe(self._probe(job, done), self._loop)

    def cancel(self, key: str) -> None:
        """Cancel a job; an unknown key is not an error. A result that is being delivered may still arrive."""
        with self._lock:
            running = self._jobs.pop(key, None)
        if running is not None:
            running.cancel()

    def close(self) -> None:
        """End the thread and all connections; running jobs get no result."""
        with self._lock:
            self._jobs.clear()
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._loop.stop)
        if threading.current_thread() is not self._thread:
            self._thread.join(LONGEST_END)

    # All methods below run in the scanner's thread.

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            pending = asyncio.all_tasks(self._loop)
            for task in pending:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
            with self._lock:
                self._loop.close()

    async def _scan(self, job: ScanJob, began: float) -> None:
        keys: dict[int, str] = {}
        error = None
        try:
            # Not asyncio.wait_for: in Python 3.11 it forgets the deadline when an attempt ends in the same moment.
            async with asyncio.timeout(job.deadline if job.left is None else job.left):
                await self._until_known(job, keys)
        except TimeoutError:
            if not keys:
                wanted = "host key" if job.want_keys else "connection"
                where = f"{job.address} port {job.port}"
                error = f"no {wanted} from {where} within {job.deadline:g} s: {self._problem.get(job.key, 'no answer')}"
        except ValueError:
            error = f"{job.address!r} is not an IP address"
        finally:
            self._problem.pop(job.key, None)
        with self._lock:
            self._jobs.pop(job.key, None)
        found = tuple(keys[number] for number in sorted(keys))
        try:
            self._on_result(ScanResult(job.key, found, error, self._clock() - began))
        except Exception:
            _log.exception("the receiver of scan results failed")

    async def _probe(self, job: ProbeJob, done: Callable[[ProbeResult], None]) -> None:
        async with self._probe_slots:
            result = await probe(job, self._clock)
        with self._lock:
            self._jobs.pop(job.key, None)
        try:
            done(result)
        except Exception:
            _log.exception("the receiver of a probe's result failed")

    async def _until_known(self, job: ScanJob, keys: dict[int, str]) -> None:
        """Try until the host answers, then ask for its other types of keys, with one connection for each key."""
        ipaddress.ip_address(job.address)
        while True:
            started = self._loop.time()
            try:
                if not job.want_keys:
                    await self._attempt(self._connect(job))
                    return
                more = await self._attempt(self._another_key(job, keys))
                break
            except Exception as problem:  # after any error the host is tried again; the other jobs continue
                self._problem[job.key] = _sentence(problem)
                await asyncio.sleep(max(0.0, started + PAUSE - self._loop.time()))
        for _try in range(TRIES_FOR_MORE):
            try:
                while more:
                    more = await self._attempt(self._another_key(job, keys))
                return
            except _NoSuchKey:
                return
            except Exception:  # a broken connection is tried again
                await asyncio.sleep(PAUSE)

    async def _attempt(self, work: Awaitable[T]) -> T:
        async with self._slots, asyncio.timeout(LONGEST_ATTEMPT):
            return await work

    async def _connect(self, job: ScanJob) -> None:
        _reader, writer = await asyncio.open_connection(job.address, job.port)
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()

    async def _another_key(self, job: ScanJob, keys: dict[int, str]) -> bool:
        """Ask for a key of any type that *keys* does not have, and add it to *keys* as ``keytype base64``.

        :return: True when the host may have more keys.
        :raises _NoSuchKey: the host has no such key.
        """
        ssh = _asyncssh()
        wanted = [name for number, names in enumerate(KEY_TYPES) if number not in keys for name in names]
        made: list[Any] = []

        class Client(ssh.SSHClient):  # type: ignore[name-defined]
            def connection_made(self, conn: Any) -> None:
                made.append(conn)

        options = ssh.SSHClientConnectionOptions(client_factory=Client, config=None, encryption_algs=ANY, mac_algs=ANY)
        try:
            key = await ssh.get_server_host_key(
                job.address, job.port, kex_algs=ANY, server_host_key_algs=wanted, options=options, config=None
            )
        except (ssh.Error, OSError) as problem:
            # When sshd has no such key, it closes the connection without an error. Before its greeting, a closed
            # connection means overload.
            if keys and any(conn.get_extra_info("server_version") for conn in made):
                raise _NoSuchKey from problem
            raise
        if key is None:
            raise ConnectionError("it accepted the connection, but sent no host key")
        text = " ".join(key.export_public_key().decode("ascii").split()[:2])
        kind = text.split(" ", 1)[0]
        number = next((number for number, names in enumerate(KEY_TYPES) if kind in names), None)
        if number is None or number in keys:
            raise ConnectionError(f"the host sent a key of type {kind}, which was not requested")
        keys[number] = text
        left = {name for other, names in enumerate(KEY_TYPES) if other not in keys for name in names}
        offered = _offered(made[-1]) if made else None
        return bool(left if offered is None else left & offered)


def _offered(connection: Any) -> set[str] | None:
    """Return the types of host keys that the server named at the start of the handshake; None when they are not known.

    asyncssh has them in a private attribute, which another release may not have; then one more connection is needed.
    """
    payload = getattr(connection, "_server_kexinit", None)
    if not isinstance(payload, bytes):
        return None
    try:
        packet = _asyncssh().packet.SSHPacket(payload)
        packet.get_bytes(1 + 16)  # the kind of message and the cookie
        packet.get_namelist()  # ways of exchanging keys
        return {name.decode("ascii") for name in packet.get_namelist()}
    except (AttributeError, ValueError):
        return None


class _NoSuchKey(Exception):
    """The host has no key of the types that it was asked for."""


def _sentence(problem: Exception) -> str:
    if isinstance(problem, TimeoutError):
        return f"no host key within {LONGEST_ATTEMPT:g} s"
    said = getattr(problem, "reason", None) or getattr(problem, "strerror", None) or str(problem)
    return said or type(problem).__name__
