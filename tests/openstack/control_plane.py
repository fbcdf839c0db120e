# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The control plane of ``tests/devcloud/devcloud.sh``: installed once, started for a run, stopped afterwards."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

import openstack

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tests" / "devcloud" / "devcloud.sh"
BASE = ROOT / ".build" / "devcloud"
FIRST_PORT = 18000
PORTS = 11
PORTS_TRIED = 990
INSTALL_SECONDS = 900.0
START_SECONDS = 900.0
PATIENCE = 480
"""Seconds for which anything is waited for; on a quiet machine it takes some ten."""
STOP_SECONDS = 120.0
WIDE = {"instances": 500, "cores": 2000, "ram": 2_000_000}
WIDE_NETWORK = {"port": 1000, "floatingip": 200}
CALL = re.compile(
    r' ([0-9a-f]{32}) - [^"\n]*"(GET|POST|PUT|DELETE) (\S+) HTTP/1\.\d" status: (\d+) len: \d+ time: ([\d.]+)'
)
IDS = re.compile(r"/[0-9a-f]{8}-[0-9a-f-]{27}")


class CannotRun(Exception):
    """The control plane cannot be had on this machine; the text says why."""


class NoHandle(Exception):
    """A row cannot be tried on this cloud: it has no handle for what the row does to it; the text says which."""


def wait_for(what: str, condition: Callable[[], Any], seconds: float = PATIENCE, pause: float = 0.5) -> Any:
    """What the condition gives once it is true.

    :raises AssertionError: it was not within *seconds*.
    """
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < end, f"{what}: not within {seconds:.0f} s"
        time.sleep(pause)


def ids(things: Iterable[Any]) -> set[str]:
    """Their ids."""
    return {str(thing.id) for thing in things}


class ControlPlane:
    """keystone, glance, placement, nova with fake computes, neutron, and cinder without disks, on loopback."""

    def __init__(self, base: Path = BASE, first_port: int = FIRST_PORT) -> None:
        self.base = base
        self._first_port = first_port
        self.clouds_yaml = base / "clouds.yaml"
        self.entry: dict[str, Any] = {}
        self._admin: Any = None
        self._member: Any = None
        self._project_id = ""
        self._frozen: set[str] = set()
        self._signals = threading.Lock()

    # -- life ----------------------------------------------------------------------------------------------------

    def install(self) -> float:
        """Make it ready; what the script as it is now has installed is kept. The seconds that it took.

        :raises CannotRun: it is no Debian, or a package is not to be had.
        """
        began = time.monotonic()
        if shutil.which("dpkg-query") is None:
            raise CannotRun("this is not Debian, and the control plane comes from Debian's packages")
        self.base.mkdir(parents=True, exist_ok=True)
        port = self.base / "port"
        if not port.exists():
            port.write_text(str(_free_block(self._first_port)), encoding="utf-8")
        installed = self.base / "state" / "installed"
        script = hashlib.sha256(SCRIPT.read_bytes()).hexdigest()
        if not installed.exists() or installed.read_text(encoding="utf-8") != script:
            self._script("install", INSTALL_SECONDS)
            installed.write_text(script, encoding="utf-8")
        return time.monotonic() - began

    def __enter__(self) -> Self:
        try:
            self._script("start", START_SECONDS)
            self._connect(self._entries()["devcloud"])
        except BaseException:
            self._script("stop", STOP_SECONDS)
            raise
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _problem: BaseException | None, _trace: TracebackType | None
    ) -> None:
        for name in self.names():
            self.thaw(name)
        self._script("stop", STOP_SECONDS)

    def _script(self, word: str, seconds: float) -> None:
        port = (self.base / "port").read_text(encoding="utf-8").strip()
        log = self.base / f"{word}.log"
        with log.open("ab") as output:
            process = subprocess.Popen(
                ["bash", str(SCRIPT), word],
                env={**os.environ, "DEVCLOUD_BASE": str(self.base), "DEVCLOUD_PORT": port},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
            try:
                status = process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise CannotRun(f"'{SCRIPT.name} {word}' did not end within {seconds:.0f} s; see {log}") from None
        if status != 0:
            last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
            raise CannotRun(f"'{SCRIPT.name} {word}' failed: {''.join(last)}; see {log}")

    def _entries(self) -> dict[str, dict[str, Any]]:
        clouds: dict[str, dict[str, Any]] = yaml.safe_load(self.clouds_yaml.read_text(encoding="utf-8"))["clouds"]
        return clouds

    def _connect(self, entry: dict[str, Any]) -> None:
        self.entry = entry
        self._admin = connection(self._entries()["devcloud-admin"])
        self._member = connection(entry)
        self._project_id = str(self._member.current_project_id)

    def beside(self, name: str) -> ControlPlane:
        """The same control plane, seen from another project: it has a user, a network and quotas of its own."""
        if name == self.entry["auth"]["project_name"]:
            return self
        auth = {**self.entry["auth"], "username": name, "project_name": name}
        identity = self._admin.identity
        project = identity.find_project(name) or identity.create_project(name=name, domain_id="default")
        user = identity.find_user(name) or identity.create_user(
            name=name, password=auth["password"], domain_id="default", default_project_id=project.id
        )
        identity.assign_project_role_to_user(project, user, identity.find_role("member"))
        other = ControlPlane(self.base)
        other._connect({**self.entry, "auth": auth})
        other._furnish()
        return other

    def _furnish(self) -> None:
        """A network with a router, as the first project has them."""
        network = self._member.network
        if network.find_router("router1") is not None:
            return
        private = network.find_network("private") or network.create_network(name="private")
        subnet = network.find_subnet("private-subnet") or network.create_subnet(
            name="private-subnet", network_id=private.id, ip_version=4, cidr="10.20.0.0/16"
        )
        public = {"network_id": network.find_network("public").id}
        network.add_interface_to_router(
            network.create_router(name="router1", external_gateway_info=public), subnet_id=subnet.id
        )

    # -- services ------------------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """Services that were started."""
        return sorted(path.stem for path in (self.base / "run").glob("*.pid"))

    def _group(self, name: str) -> int | None:
        file = self.base / "run" / f"{name}.pid"
        return int(file.read_text(encoding="utf-8").split()[0]) if file.exists() else None

    def freeze(self, name: str) -> None:
        """The service keeps its connections and says nothing any more."""
        with self._signals:
            self._frozen.add(name)
            self._signal(name, signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        """It goes on."""
        with self._signals:
            self._frozen.discard(name)
            self._signal(name, signal.SIGCONT)

    def kill(self, name: str) -> None:
        """SIGKILL a service with all its workers."""
        self._signal(name, signal.SIGKILL)
        pid = self._group(name)
        wait_for(f"the end of {name}", lambda: not Path(f"/proc/{pid}/fd").exists() or _is_zombie(pid), 20)

    def start_again(self) -> None:
        """Start what is not running."""
        self._script("start", START_SECONDS)

    def signal_all(self, number: signal.Signals) -> None:
        """Send a signal to all services but those that are frozen."""
        with self._signals:
            for name in self.names():
                if name not in self._frozen:
                    self._signal(name, number)

    def _signal(self, name: str, number: signal.Signals) -> None:
        group = self._group(name)
        if group is not None:
            try:
                os.killpg(group, number)
            except ProcessLookupError:
                return

    def sql(self, database: str, text: str) -> None:
        """Change a database behind the services' backs."""
        port = int((self.base / "port").read_text(encoding="utf-8")) + 5
        words = ["mariadb", "--no-defaults", "-h", "127.0.0.1", "-P", str(port), "-u", "root", "--password=devcloud"]
        subprocess.run([*words, database, "-e", text], check=True, capture_output=True, timeout=60)

    # -- what is there -------------------------------------------------------------------------------------------

    @property
    def admin(self) -> Any:
        """A connection of the administrator; what is asked by it is not among :meth:`calls`."""
        return self._admin

    @property
    def member(self) -> Any:
        """A connection of the project that the launcher uses."""
        return self._member

    @property
    def project_id(self) -> str:
        """The launcher's project."""
        return self._project_id

    def servers(self) -> list[Any]:
        """The project's servers."""
        return list(self._admin.compute.servers(all_projects=True, project_id=self.project_id))

    def server_ids(self) -> set[str]:
        """Their ids. Cheaper: nova asks neutron nothing for a list without details."""
        return ids(self._admin.compute.servers(details=False, all_projects=True, project_id=self.project_id))

    def revoke_tokens(self) -> None:
        """All tokens of the launcher's user are worth nothing from now on."""
        user = self._admin.identity.find_user(self.entry["auth"]["username"])
        self._admin.identity.update_user(user, password=self.entry["auth"]["password"])

    def quota(self, **limits: int) -> None:
        """Set quotas of nova (instances, cores, ram) or neutron (port, floatingip)."""
        compute = {name: value for name, value in limits.items() if name in WIDE}
        network = {name: value for name, value in limits.items() if name in WIDE_NETWORK}
        if compute:
            self._admin.set_compute_quotas(self.project_id, **compute)
        if network:
            self._admin.set_network_quotas(self.project_id, **network)

    def clean(self) -> None:
        """An empty project with wide quotas, as every row finds it."""
        self.quota(**WIDE, **WIDE_NETWORK)
        self.delete(self.server_ids())
        for ip in self._member.network.ips():
            self._member.network.delete_ip(ip.id, ignore_missing=True)

    def delete(self, servers: Iterable[str]) -> None:
        """Delete servers of the project, and wait until they are gone."""
        going = set(servers)
        for server_id in going:
            self._admin.compute.delete_server(server_id, ignore_missing=True)
        wait_for("the end of servers", lambda: not going & self.server_ids(), pause=1.0)

    def image(self, name: str, properties: Mapping[str, str] | None = None) -> str:
        """The id of an image of that name with a little data in it."""
        found = self._member.image.find_image(name)
        if found is None:
            found = self._member.image.create_image(
                name, data=b"image" * 1000, disk_format="raw", container_format="bare", **(properties or {})
            )
        return str(found.id)

    def deactivate(self, image_id: str) -> None:
        """Nobody but the administrator may use the image any more."""
        self._admin.image.deactivate_image(image_id)

    def reactivate(self, image_id: str) -> None:
        """It can be used again."""
        self._admin.image.reactivate_image(image_id)

    @contextmanager
    def small_network(self, name: str, addresses: int) -> Iterator[None]:
        """A network whose subnet has so few addresses for servers; servers are deleted with it.

        It must not stay: with two networks nova refuses creates that name none. No DHCP agent takes an address here.
        """
        network = self._member.network
        made = network.create_network(name=name)
        try:
            network.create_subnet(
                name=f"{name}-subnet",
                network_id=made.id,
                ip_version=4,
                cidr="10.30.0.0/24",
                is_dhcp_enabled=False,
                allocation_pools=[{"start": "10.30.0.10", "end": f"10.30.0.{9 + addresses}"}],
            )
            yield
        finally:
            self.delete(self.server_ids())
            for port in network.ports(network_id=made.id):
                network.delete_port(port.id, ignore_missing=True)
            network.delete_network(made.id)

    @contextmanager
    def forbidden(self, rule: str, call: str) -> Iterator[None]:
        """A policy refuses *rule* to the launcher's project with 403; other projects notice nothing.

        :param call: the kind of call that the rule governs, for clouds without policies.
        """
        del call
        policy = self.base / "etc" / "nova-policy.yaml"
        before = policy.read_text(encoding="utf-8")
        line = f'"{rule}": "not project_id:{self.project_id}"\n'
        policy.write_text(before + line, encoding="utf-8")
        try:
            # oslo.policy reads the file again at the next call, by its time in whole seconds.
            time.sleep(1.1)
            yield
        finally:
            kept = policy.read_text(encoding="utf-8").replace(line, "")
            policy.write_text(kept, encoding="utf-8")

    @contextmanager
    def without_hosts(self) -> Iterator[None]:
        """No host takes new servers, as while ironic cleans its machines: until the end or :meth:`with_hosts_again`."""
        self._set_hosts("disable_service")
        try:
            yield
        finally:
            self.with_hosts_again()

    def with_hosts_again(self) -> None:
        """Hosts take servers."""
        self._set_hosts("enable_service")

    def _set_hosts(self, method: str) -> None:
        for service in self._admin.compute.services(binary="nova-compute"):
            getattr(self._admin.compute, method)(service)

    def mark(self) -> int:
        """Where nova's log ends now, for :meth:`calls`."""
        log = self.base / "log" / "nova-api.log"
        return log.stat().st_size if log.exists() else 0

    def calls(self, since: int) -> Counter[str]:
        """Calls of the project that nova answered since a mark, by kind and status: ``POST /servers 202``."""
        found: Counter[str] = Counter()
        for kind, status, _seconds in self.timed_calls(since):
            found[f"{kind} {status}"] += 1
        return found

    def timed_calls(self, since: int) -> list[tuple[str, int, float]]:
        """(kind, status, seconds) of each call of the project that nova answered since a mark.

        nova's log names the project of each call, so neutron's own (os-server-external-events) are left out.
        """
        with (self.base / "log" / "nova-api.log").open("rb") as file:
            file.seek(since)
            text = file.read().decode("utf-8", "replace")
        found = []
        for project, method, url, status, seconds in CALL.findall(text):
            if project != self.project_id:
                continue
            path = IDS.sub("/{id}", url.partition("?")[0].partition("/v2.1")[2] or url)
            found.append((f"{method} {path}", int(status), float(seconds)))
        return found


def connection(entry: dict[str, Any]) -> Any:
    """A connection by an entry of clouds.yaml."""
    return openstack.connect(load_yaml_config=False, load_envvars=False, api_timeout=120, **entry)


def _free_block(begin: int) -> int:
    """The first of so many loopback ports in a row that nobody listens on."""
    for first in range(begin, begin + PORTS_TRIED, PORTS):
        try:
            for port in range(first, first + PORTS):
                with socket.socket() as probe:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        return first
    raise CannotRun(f"no {PORTS} free ports in a row between {begin} and {begin + PORTS_TRIED}")


def _is_zombie(pid: int | None) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True
