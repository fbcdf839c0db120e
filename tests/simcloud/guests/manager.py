# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ties guests to servers: reachable from ACTIVE on, gone when the deletion begins."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from tests.simcloud.cloud import Cloud
from tests.simcloud.compute.server import Server
from tests.simcloud.config import GuestConfig
from tests.simcloud.guests.keys import HostKeys, public_key

PRIVILEGE_SEPARATION = Path("/run/sshd")
STOP_SECONDS = 8.0
SSHD_CONFIG = """\
# Written by the simulated cloud; one sshd runs for each connection.
UsePAM no
StrictModes no
PidFile none
PubkeyAuthentication yes
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UseDNS no
PrintMotd no
PrintLastLog no
X11Forwarding no
MaxStartups 500:30:1000
MaxSessions 100
LogLevel ERROR
Subsystem sftp internal-sftp
"""


@dataclass
class _Place:
    """What the guests of one cloud have in common."""

    cloud: Cloud
    config: GuestConfig
    port: int
    reservation: socket.socket | None
    sshd_config: Path
    keys: HostKeys


class Guests:
    """All guests of the process. ``start`` comes first, ``stop`` ends every sshd."""

    def __init__(self, state_dir: Path, root: Path) -> None:
        self._state_dir = state_dir
        self._root = root
        self._keeper: asyncio.subprocess.Process | None = None
        self._sshd = _find_sshd()
        self._places: list[_Place] = []
        self._keys: dict[str, asyncio.Task[list[Path]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Start the keeper, in a session of its own so that a Ctrl-C does not reach it before us."""
        log = (self._state_dir / "guests.log").open("ab")
        with log:
            self._keeper = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "tests.simcloud.guests.keeper",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=log,
                cwd=self._root,
                start_new_session=True,
            )

    async def lost(self) -> None:
        """Return when the keeper has ended."""
        assert self._keeper is not None
        await self._keeper.wait()

    async def stop(self) -> None:
        """End every guest."""
        for task in [*self._tasks, *self._keys.values()]:
            task.cancel()
        keeper = self._keeper
        if keeper is None or keeper.returncode is not None:
            return
        assert keeper.stdin is not None
        keeper.stdin.close()
        try:
            await asyncio.wait_for(keeper.wait(), STOP_SECONDS)
        except TimeoutError:
            keeper.kill()
            await keeper.wait()

    def attach(self, cloud: Cloud) -> None:
        """Give the servers of a cloud guests."""
        config = cloud.config.guests
        assert config is not None
        folder = self._state_dir / cloud.name
        folder.mkdir(parents=True, exist_ok=True)
        sshd_config = folder / "sshd_config"
        sshd_config.write_text(SSHD_CONFIG, encoding="utf-8")
        port, reservation = config.port, None
        if port == 0:
            # Bound for as long as we live, so that another simulated cloud picks another port.
            reservation = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            reservation.bind(("127.0.0.1", 0))
            port = reservation.getsockname()[1]
        keys = HostKeys(folder / "hostkeys", config.key_types, shared=config.mode == "shared")
        place = _Place(cloud, config, port, reservation, sshd_config, keys)
        self._places.append(place)
        cloud.guest_port = port
        cloud.machines.listener = lambda event, server: self._on_event(place, event, server)

    def _on_event(self, place: _Place, event: str, server: Server) -> None:
        if event == "created":
            self._keys[server.id] = asyncio.create_task(place.keys.take())
        elif event == "active":
            task = asyncio.create_task(self._bring_up(place, server))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif event == "addresses" and server.id in place.cloud.host_keys:
            self._open(place, server, self._keys[server.id].result())
        elif event in ("ending", "gone"):
            keys = self._keys.pop(server.id, None)
            if keys is not None:
                place.cloud.host_keys.pop(server.id, None)
                shutil.rmtree(self._state_dir / place.cloud.name / "homes" / server.id, ignore_errors=True)
                self._order({"op": "close", "id": server.id})

    async def _bring_up(self, place: _Place, server: Server) -> None:
        if server.unreachable:
            return
        delay = place.config.boot_delay.draw(place.cloud.random)
        try:
            keys = await self._keys[server.id]
        except OSError as problem:
            print(f"simcloud: no guest for server {server.id}: {problem}", file=sys.stderr)
            return
        if delay > 0:
            await asyncio.sleep(delay)
        if server.deleting or server.gone:
            return
        place.cloud.host_keys[server.id] = [public_key(path) for path in keys]
        self._open(place, server, keys)

    def _open(self, place: _Place, server: Server, keys: list[Path]) -> None:
        network = place.cloud.network
        addresses = []
        for port in network.server_ports(server.id):
            addresses += [fixed["ip_address"] for fixed in port["fixed_ips"]]
            addresses += [floating["floating_ip_address"] for floating in network.port_floating_ips(port["id"])]
        home = self._home(place, server)
        authorized = f"{home}/.ssh/authorized_keys"
        if place.config.authorized_keys:
            authorized += f" {os.path.abspath(place.config.authorized_keys)}"
        # The last two are sshd's way to give each guest a home of its own on this one machine.
        command = [self._sshd, "-i", "-e", "-f", str(place.sshd_config)]
        command += ["-o", f"AuthorizedKeysFile {authorized}", "-o", f"SetEnv HOME={home}"]
        for path in keys:
            command += ["-h", str(path)]
        self._order({"op": "open", "id": server.id, "addresses": addresses, "port": place.port, "command": command})

    def _home(self, place: _Place, server: Server) -> Path:
        """Return the home of whoever logs in to a guest; cloud-init puts the public key of the keypair there."""
        home = self._state_dir / place.cloud.name / "homes" / server.id
        if not home.exists():
            (home / ".ssh").mkdir(parents=True, mode=0o700)
            keypair = place.cloud.keypairs.get(server.wish.key_name or "")
            text = f"{keypair['public_key']}\n" if keypair is not None else ""
            (home / ".ssh" / "authorized_keys").write_text(text, encoding="utf-8")
        return home.resolve()

    def _order(self, order: dict[str, Any]) -> None:
        if self._keeper is not None and self._keeper.stdin is not None and not self._keeper.stdin.is_closing():
            self._keeper.stdin.write(orjson.dumps(order) + b"\n")


def _find_sshd() -> str:
    """Return the path of sshd, ready to be run.

    :raises RuntimeError: when it is not installed or cannot work here.
    """
    sshd = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    if sshd is None:
        raise RuntimeError("guests need sshd: install openssh-server, or switch guests off in the configuration")
    if os.geteuid() == 0 and not PRIVILEGE_SEPARATION.is_dir():
        try:
            PRIVILEGE_SEPARATION.mkdir(mode=0o755, parents=True)
        except OSError as problem:
            raise RuntimeError(f"sshd needs {PRIVILEGE_SEPARATION} when run as root: {problem}") from problem
    return sshd
