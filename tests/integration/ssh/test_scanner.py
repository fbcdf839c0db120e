# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scans of a real sshd on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import itertools
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients import ssh as scanner_module
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.ssh import ScanJob, Scanner, ScanResult
from tests.simcloud.guests.keys import write_pair
from tests.support.fixtures_zookeeper import eventually

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
pytestmark = pytest.mark.skipif(not Path(SSHD).exists(), reason="needs sshd (Debian package openssh-server)")

FOR_EVER = 10_000.0


class Host:
    """One sshd with keys of the given types."""

    def __init__(self, room: Path, types: tuple[str, ...], *options: str) -> None:
        self.room = room
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.keys = []
        lines = [f"Port {self.port}", "ListenAddress 127.0.0.1", "UsePAM no", "StrictModes no", "PidFile none"]
        lines += ["LogLevel VERBOSE", *options]
        for kind in types:
            path = write_pair(room / f"key_{kind}", kind)
            self.keys.append(" ".join(path.with_suffix(".pub").read_text().split()[:2]))
            lines.append(f"HostKey {path}")
        (room / "sshd_config").write_text("\n".join(lines) + "\n")
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        Path("/run/sshd").mkdir(exist_ok=True)
        command = [SSHD, "-D", "-e", "-f", str(self.room / "sshd_config")]
        with (self.room / "log").open("wb") as log:
            self.process = subprocess.Popen(command, stderr=log)

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(10)

    def connections(self) -> int:
        """How many the sshd has seen so far."""
        return (self.room / "log").read_text(errors="replace").count("Connection from ")


def sockets_to(port: int) -> int:
    """How many sockets of this process are connected to a port of this machine."""
    ours = set()
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # the one that lists them is closed by now
            ours.add(os.readlink(f"/proc/self/fd/{name}"))
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(f"socket:[{row[9]}]" in ours and int(row[2].split(":")[1], 16) == port for row in rows)


class Results:
    """Collects what a scanner says; :meth:`of` waits for one."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.all: dict[str, ScanResult] = {}

    def take(self, result: ScanResult) -> None:
        with self._changed:
            self.all[result.key] = result
            self._changed.notify_all()

    def of(self, key: str, seconds: float = 20.0) -> ScanResult:
        with self._changed:
            assert self._changed.wait_for(lambda: key in self.all, seconds), f"no result for {key}"
            return self.all[key]


def shown_by(host: Host, scanner: Scanner, results: Results) -> ScanResult:
    """What a scan finds of a host that runs for as long as that takes."""
    host.start()
    try:
        scanner.submit(ScanJob("a", "127.0.0.1", host.port, 15.0))
        return results.of("a")
    finally:
        host.stop()


@pytest.fixture
def results() -> Results:
    return Results()


@pytest.fixture
def scanner(results: Results) -> Iterator[Scanner]:
    scanner = Scanner(results.take)
    yield scanner
    scanner.close()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    host = Host(tmp_path, ("ed25519", "ecdsa", "rsa"))
    yield host
    host.stop()


def test_all_types_of_keys_are_found_in_their_order(host: Host, scanner: Scanner, results: Results) -> None:
    host.start()
    scanner.submit(ScanJob("a", "127.0.0.1", host.port, 15.0))
    found = results.of("a")
    assert found.error is None
    assert list(found.host_keys) == host.keys


def test_a_host_with_one_key_is_complete_without_waiting(tmp_path: Path, scanner: Scanner, results: Results) -> None:
    host = Host(tmp_path, ("ecdsa",))
    found = shown_by(host, scanner, results)
    assert (list(found.host_keys), found.error) == (host.keys, None)
    assert host.connections() == 1


@pytest.mark.parametrize(
    "options",
    [
        ("KexAlgorithms diffie-hellman-group1-sha1", "HostKeyAlgorithms ssh-rsa"),
        ("KexAlgorithms diffie-hellman-group-exchange-sha1", "HostKeyAlgorithms ssh-rsa"),
        ("KexAlgorithms diffie-hellman-group14-sha1", "Ciphers aes128-cbc", "MACs hmac-sha1"),
        ("Ciphers 3des-cbc", "MACs hmac-md5"),
    ],
)
def test_a_host_that_knows_old_algorithms_only_shows_its_key(
    tmp_path: Path, scanner: Scanner, results: Results, options: tuple[str, ...]
) -> None:
    """Such as a network device: Nodepool's scan, by paramiko, offers them."""
    host = Host(tmp_path, ("rsa",), *options)
    found = shown_by(host, scanner, results)
    assert (list(found.host_keys), found.error) == (host.keys, None)


def test_a_server_that_hangs_up_has_no_other_keys(
    tmp_path: Path, scanner: Scanner, results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What asyncssh does not show (any more) is found out by asking: such an end is an answer, not a failure."""
    monkeypatch.setattr(scanner_module, "_offered", lambda connection: None)
    host = Host(tmp_path, ("ecdsa",))
    found = shown_by(host, scanner, results)
    assert (list(found.host_keys), found.error) == (host.keys, None)
    assert host.connections() == 2


def test_each_type_of_key_costs_one_connection(host: Host, scanner: Scanner, results: Results) -> None:
    host.start()
    # While sshd starts nothing is accepted, so that what is counted are connections that were served.
    scanner.submit(ScanJob("a", "127.0.0.1", host.port, 15.0))
    assert len(results.of("a").host_keys) == 3
    host.stop()
    assert host.connections() == 3


def test_a_host_that_comes_up_late_is_found(host: Host, scanner: Scanner, results: Results) -> None:
    scanner.submit(ScanJob("late", "127.0.0.1", host.port, 20.0))
    scanner.submit(ScanJob("never", "127.0.0.1", 1, 1.0))
    assert "Connect call failed" in (results.of("never").error or "")
    host.start()
    assert list(results.of("late").host_keys) == host.keys


def test_a_connection_that_breaks_in_the_exchange_of_keys_is_tried_again(
    host: Host, scanner: Scanner, results: Results
) -> None:
    """An sshd that is still starting greets and hangs up; the same address answers properly a moment later."""
    with socket.create_server(("127.0.0.1", host.port)) as early:
        early.settimeout(60.0)
        scanner.submit(ScanJob("a", "127.0.0.1", host.port, 60.0))
        for _unused in range(3):
            connection = early.accept()[0]
            with connection, contextlib.suppress(OSError):
                connection.sendall(b"SSH-2.0-OpenSSH_9.2p1\r\n")
                connection.recv(4096)
    host.start()
    found = results.of("a", 60.0)
    assert (list(found.host_keys), found.error) == (host.keys, None)


def test_a_host_that_refuses_is_tried_at_a_pace_and_not_without_pause(
    scanner: Scanner, results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[float] = []
    connect = scanner_module.Scanner._another_key

    async def counted(self: Scanner, job: ScanJob, keys: dict[int, str]) -> bool:
        tries.append(self._loop.time())
        return await connect(self, job, keys)

    monkeypatch.setattr(scanner_module.Scanner, "_another_key", counted)
    scanner.submit(ScanJob("a", "127.0.0.1", 1, 2.5))
    assert results.of("a").error is not None
    distances = [later - earlier for earlier, later in itertools.pairwise(tries)]
    assert len(tries) >= 2 and min(distances) >= scanner_module.PAUSE - 0.01


def test_scans_that_have_ended_leave_no_connection(host: Host, scanner: Scanner, results: Results) -> None:
    host.start()
    scanner.submit(ScanJob("first", "127.0.0.1", host.port, 60.0))
    results.of("first", 60.0)
    eventually(lambda: sockets_to(host.port) == 0)
    for number in range(20):
        scanner.submit(ScanJob(f"n{number}", "127.0.0.1", host.port, 60.0))
        scanner.submit(ScanJob(f"refused{number}", "127.0.0.1", 1, 0.1))
    for number in range(20):
        results.of(f"n{number}", 60.0)
        results.of(f"refused{number}", 60.0)
    eventually(lambda: sockets_to(host.port) == 0)
    assert not scanner._jobs and not scanner._problem


@pytest.mark.parametrize("turns", range(12))
def test_an_attempt_that_ends_in_the_moment_of_the_deadline_ends_the_scan(
    scanner: Scanner, results: Results, monkeypatch: pytest.MonkeyPatch, turns: int
) -> None:
    """Whatever has its turn first in the loop; asyncio.wait_for of Python 3.11 then forgets the deadline."""

    async def refuse(self: Scanner, job: ScanJob) -> None:
        for _unused in range(turns):
            await asyncio.sleep(0)
        raise ConnectionRefusedError(errno.ECONNREFUSED, "refused")

    monkeypatch.setattr(scanner_module.Scanner, "_connect", refuse)
    scanner.submit(ScanJob("a", "127.0.0.1", 1, 1e-9, want_keys=False))
    assert results.of("a").error is not None


def test_handshakes_that_break_are_tried_again(host: Host, scanner: Scanner, results: Results) -> None:
    """As an sshd does that is restarted while its guest boots."""
    with socket.create_server(("127.0.0.1", host.port), reuse_port=False) as starting:
        starting.settimeout(20.0)
        scanner.submit(ScanJob("a", "127.0.0.1", host.port, 30.0))
        for greeting in (b"", b"SSH-2.0-x\r\n"):
            connection = starting.accept()[0]
            connection.sendall(greeting)
            connection.close()
    host.start()
    found = results.of("a", 40.0)
    assert (list(found.host_keys), found.error) == (host.keys, None)


def test_reachable_is_enough_where_no_keys_are_wanted(host: Host, scanner: Scanner, results: Results) -> None:
    with socket.create_server(("127.0.0.1", 0)) as plain:
        scanner.submit(ScanJob("plain", "127.0.0.1", plain.getsockname()[1], 10.0, want_keys=False))
        assert results.of("plain") == ScanResult("plain", (), None, results.of("plain").seconds)


def test_something_that_is_no_sshd_fails_at_its_deadline(scanner: Scanner, results: Results) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        scanner.submit(ScanJob("mute", "127.0.0.1", mute.getsockname()[1], 1.5))
        found = results.of("mute")
    assert found.error is not None and "no host key from 127.0.0.1" in found.error
    assert found.seconds >= 1.5


def test_an_address_that_is_none_fails_at_once(scanner: Scanner, results: Results) -> None:
    scanner.submit(ScanJob("name", "no-address", 22, FOR_EVER))
    found = results.of("name")
    assert found.error == "'no-address' is not an IP address"


def test_a_canceled_job_gives_no_result(host: Host, scanner: Scanner, results: Results) -> None:
    scanner.submit(ScanJob("gone", "127.0.0.1", host.port, 3.0))
    scanner.cancel("gone")
    host.start()
    scanner.submit(ScanJob("other", "127.0.0.1", host.port, 15.0))
    results.of("other")
    assert "gone" not in results.all


def test_a_dead_host_delays_nobody(host: Host, scanner: Scanner, results: Results) -> None:
    host.start()
    scanner.submit(ScanJob("first", "127.0.0.1", host.port, 15.0))
    results.of("first")
    scanner.submit(ScanJob("dead", "127.0.0.1", 1, FOR_EVER))
    for number in range(20):
        scanner.submit(ScanJob(f"n{number}", "127.0.0.1", host.port, 60.0))
    assert all(results.of(f"n{number}", 60.0).error is None for number in range(20))
    assert "dead" not in results.all


def test_a_mute_host_is_not_waited_for_before_the_next(scanner: Scanner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanner_module, "LONGEST_ATTEMPT", FOR_EVER)
    with socket.create_server(("127.0.0.1", 0)) as mute, contextlib.ExitStack() as connections:
        mute.settimeout(60.0)
        for number in range(20):
            scanner.submit(ScanJob(f"n{number}", "127.0.0.1", mute.getsockname()[1], FOR_EVER))
        for _unused in range(20):
            connections.enter_context(mute.accept()[0])


def test_a_closed_scanner_ends_its_thread(results: Results) -> None:
    scanner = Scanner(results.take)
    scanner.submit(ScanJob("a", "127.0.0.1", 1, 60.0))
    scanner.close()
    assert not any(thread.name == "ssh-scanner" for thread in threading.enumerate())
