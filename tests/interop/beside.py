# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Both kinds of launchers at work on one tree: their configurations, machines with sshd, and who has written what."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.chaos.history import CREATE, DELETE, SET, Change
from tests.chaos.transaction_log import TransactionLog
from tests.interop.lab import World
from tests.interop.stock import Daemon, Stock
from tests.simcloud.guests.manager import PRIVILEGE_SEPARATION
from tests.support.ansible_run import ModuleProcess
from tests.support.launcher_case import label, pool, provider

OURS = {"one", "two"}
THEIRS = {"theirs", "machines"}
SHOWN = ("state", "provider", "allocated_to", "nodes", "declined_by")
MACHINES = ("127.0.0.2", "127.0.0.3")
NODES, COMPONENTS, LIVE = "/nodepool/nodes", "/nodepool/components", "/nodepool/stackci/live-launchers"


def own_provider(name: str, *labels: str, **more: Any) -> dict[str, Any]:
    """A provider of the simulated cloud *one*, with one pool."""
    offered = [label(one, flavor_name=one if one in ("small", "medium") else "small") for one in labels]
    return provider(name, pool("main", *offered), cloud="one", **more)


def machines(port: int, host_key: str, name: str = "machine") -> dict[str, Any]:
    """A provider of Nodepool's driver static, whose machines have that label."""
    nodes = [
        {"name": one, "labels": [name], "connection-port": port, "host-key": host_key, "username": "zuul"}
        for one in MACHINES
    ]
    return {"name": "machines", "driver": "static", "pools": [{"name": "main", "nodes": nodes}]}


def configure(world: World, *stock: dict[str, Any], min_ready: Mapping[str, int] | None = None, **top: Any) -> Stock:
    """Write both configurations; returns Nodepool's programs with theirs."""
    site = world.site
    site.configure(own_provider("one", "small", "both"), own_provider("two", "medium"), **top)
    return stock_for(world, *stock, min_ready=min_ready)


def stock_for(world: World, *providers: dict[str, Any], min_ready: Mapping[str, int] | None = None) -> Stock:
    """Write Nodepool's own configuration."""
    document = json.loads(world.site.config.read_text("utf-8"))
    names = {str(item["name"]) for one in providers for place in one["pools"] for item in place.get("labels", ())}
    found = [node for one in providers for place in one["pools"] for node in place.get("nodes", ())]
    names |= {name for node in found for name in node["labels"]}
    document["labels"] = [{"name": name, "min-ready": (min_ready or {}).get(name, 0)} for name in sorted(names)]
    document["providers"] = list(providers)
    path = world.site.folder / "stock.yaml"
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return world.stock.beside(path)


class Ours:
    """Our launcher's module as a process, which can be killed, stopped and started again."""

    def __init__(self, world: World, **options: Any) -> None:
        self._world = world
        folder = world.site.folder / "sessions"
        folder.mkdir(mode=0o700, exist_ok=True)
        files = world.site.files()
        self._options = {**files, "until": "deadline", "duration": 3000, "state_dir": str(folder), **options}
        self._process: ModuleProcess | None = None

    def __enter__(self) -> Ours:
        self.start()
        return self

    def __exit__(self, *_exc_info: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start a cycle."""
        self._process = ModuleProcess("node_launch", self._options, self._world.site.folder)

    def signal(self, number: int) -> None:
        """Send a signal."""
        assert self._process is not None
        os.kill(self._process.pid, number)

    def kill(self) -> None:
        """SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate(30)
            self._process = None


@contextmanager
def sshd(folder: Path) -> Iterator[tuple[int, str]]:
    """An sshd on all loopback addresses: its port, and its public host key as Nodepool's host-key has it."""
    PRIVILEGE_SEPARATION.mkdir(mode=0o755, parents=True, exist_ok=True)
    key = folder / "host_key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True, timeout=60)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = int(taken.getsockname()[1])
    program = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    assert program is not None, "there is no sshd"
    settings = {"ListenAddress": "0.0.0.0", "PidFile": "none", "UsePAM": "no", "StrictModes": "no", "UseDNS": "no"}
    words = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    command = [program, "-D", "-e", "-f", "/dev/null", "-p", str(port), "-h", str(key), *words]
    with (folder / "sshd.log").open("ab") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    try:
        yield port, " ".join(key.with_suffix(".pub").read_text("utf-8").split()[:2])
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)


@contextmanager
def both(world: World, stock: Stock, **options: Any) -> Iterator[tuple[Ours, Daemon]]:
    """Both launchers at work."""
    with stock.launcher("--no-webapp") as theirs, Ours(world, **options) as ours:
        yield ours, theirs


# -- who has written what --------------------------------------------------------------------------------------------


def trespasses(world: World) -> list[str]:
    """What one side has done to nodes of the other one, by ZooKeeper's own log.

    Nodepool's clean-up of lost requests and of min-ready takes allocations from nodes of every provider, and changes
    nothing else of them: that is not counted.
    """
    changes = list(TransactionLog(world.site.zookeeper.directory / "data", world.site.chroot).changes())
    sides = _sides(changes)
    records: dict[str, dict[str, Any]] = {}
    found = []
    for change in changes:
        node = change.path.removeprefix(f"{NODES}/")
        if not change.path.startswith(f"{NODES}/") or "/" in node:
            continue
        before, after = records.get(node, {}), _document(change.data) if change.kind != DELETE else {}
        side, place = sides.get(change.session, ""), before.get("provider")
        foreign = place in (THEIRS if side == "ours" else OURS if side == "theirs" else ())
        if foreign and change.kind in (SET, DELETE) and not _only_freed(before, after):
            found.append(f"{side}: {change.kind} of {place}'s node {node}: {_changed(before, after)}")
        if change.kind == DELETE:
            records.pop(node, None)
        else:
            records[node] = after
    return found


def failures(world: World) -> dict[str, list[str]]:
    """Request → its labels, of each request that has failed although a pool that offers them had not declined it.

    What a launcher of Nodepool declines for itself is its own business: it does so when it wakes up after its session
    has ended, and its nodes have failed thereby. If nobody else has the label, the request has failed with that.
    """
    changes = list(TransactionLog(world.site.zookeeper.directory / "data", world.site.chroot).changes())
    offered: dict[str, set[str]] = {}
    for change in changes:
        if change.path.startswith(f"{COMPONENTS}/pool/") and change.kind in (CREATE, SET):
            pool = _document(change.data)
            offered[str(pool.get("id"))] = set(pool.get("supported_labels") or ())
    failed: dict[str, list[str]] = {}
    for change in changes:
        if change.path.startswith("/nodepool/requests/") and change.kind in (CREATE, SET):
            record = _document(change.data)
            if record.get("state") == "failed" and record.get("requestor") != "NodePool:min-ready":
                labels, declined = set(record["node_types"]), set(record["declined_by"])
                able = {ident for ident, names in offered.items() if labels <= names}
                ours = {ident for ident in able if ident.startswith("stackci-")}
                if not (able - ours) & declined or not ours <= declined:
                    failed[change.path.rpartition("/")[2]] = record["node_types"]
    return failed


def story(world: World, request: str) -> list[str]:
    """What happened to a request and to the nodes that it has ever had, and who did it."""
    changes = list(TransactionLog(world.site.zookeeper.directory / "data", world.site.chroot).changes())
    sides, nodes, told = _sides(changes), set[str](), []
    for change in changes:
        record = _document(change.data)
        if record.get("allocated_to") == request:
            nodes.add(change.path)
        if change.path in nodes or change.path == f"/nodepool/requests/{request}":
            shown = {key: record[key] for key in SHOWN if key in record}
            told.append(
                f"{change.at:.3f} {sides.get(change.session, 'a requestor')}: {change.kind} {change.path} {shown}"
            )
    return told


def _sides(changes: list[Change]) -> dict[int, str]:
    """Session → whose it is, by its registration. Requestors have none."""
    wrote: dict[int, set[str]] = defaultdict(set)
    for change in changes:
        if change.path.startswith(f"{LIVE}/") and change.kind == CREATE:
            wrote[change.session].add("ours")
        elif change.path.startswith(f"{COMPONENTS}/launcher/") and change.kind == CREATE:
            ours = _document(change.data).get("version") == "stackci.nodepool"
            wrote[change.session].add("ours" if ours else "theirs")
    return {session: "ours" if "ours" in kinds else "theirs" for session, kinds in wrote.items()}


def _only_freed(before: dict[str, Any], after: dict[str, Any]) -> bool:
    return bool(after) and after.get("allocated_to") is None and _changed(before, after) <= {"allocated_to"}


def _changed(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    ignored = {"state_time"} if before.get("state") == after.get("state") else set()
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)} - ignored


def _document(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
