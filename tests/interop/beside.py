# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Both kinds of launchers at work on one tree: their configurations, and who has written what."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.chaos.beside_rules import Nodes, Requests
from tests.chaos.checker import violations
from tests.chaos.history import CREATE, SET, Change, History, Remains, document
from tests.chaos.rule import Violation
from tests.chaos.sides import COMPONENTS, sides
from tests.chaos.transaction_log import TransactionLog
from tests.interop.lab import World
from tests.interop.stock import Daemon, Stock
from tests.support.ansible_run import ModuleProcess
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import label, pool, provider

OURS = {"one", "two"}
THEIRS = {"theirs", "machines", "cluster"}
PATIENCE = 300.0
"""Nodepool looks for lost requests once a minute."""
SHOWN = ("state", "provider", "allocated_to", "nodes", "declined_by")


def own_provider(name: str, *labels: str, **more: Any) -> dict[str, Any]:
    """A provider of the simulated cloud *one*, with one pool."""
    offered = [label(one, flavor_name=one if one in ("small", "medium") else "small") for one in labels]
    return provider(name, pool("main", *offered), cloud="one", **more)


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
def both(world: World, stock: Stock, **options: Any) -> Iterator[tuple[Ours, Daemon]]:
    """Both launchers at work."""
    with stock.launcher("--no-webapp") as theirs, Ours(world, **options) as ours:
        yield ours, theirs


# -- what is there ---------------------------------------------------------------------------------------------------


def provider_of(world: World, request: str) -> set[str]:
    """The providers of a request's nodes."""
    requestor = world.site.requestor
    return {str(requestor.node(one)["provider"]) for one in requestor.nodes_of(request)}


def registered(world: World, name: str) -> bool:
    """True while a launcher serves that provider."""
    root = "/nodepool/components/pool"
    found = [world.site.requestor.read(f"{root}/{one}") or {} for one in world.site.requestor.children(root)]
    return any(one.get("provider_name") == name and one.get("state") == "running" for one in found)


def all_at_work(world: World, *names: str) -> None:
    """Wait until these providers are served."""
    eventually(lambda: all(registered(world, name) for name in names), PATIENCE)


def wait_for_all(world: World, asked: dict[str, str]) -> None:
    """Wait until all requests are fulfilled; the message names what is left."""
    requestor = world.site.requestor
    try:
        eventually(lambda: all(requestor.state(one) == "fulfilled" for one in asked.values()), PATIENCE)
    except AssertionError:
        left = {name: requestor.state(one) for name, one in asked.items() if requestor.state(one) != "fulfilled"}
        raise AssertionError(f"not served: {left}") from None


def judge(world: World, *may_fail: str) -> None:
    """Nobody has touched what is the other's, and no request has failed, except those."""
    crossed, failed = trespasses(world), failures(world)
    assert not crossed, crossed
    assert list(failed) == list(may_fail), failed


def ready_and_free(world: World, name: str) -> int:
    """How many ready nodes with that label anybody may get."""
    nodes = world.site.requestor.nodes().values()
    return sum(1 for one in nodes if one["type"] == [name] and one["state"] == "ready" and not one["allocated_to"])


# -- who has written what --------------------------------------------------------------------------------------------


def trespasses(world: World) -> list[str]:
    """What one side has done to what is the other's, by ZooKeeper's own log.

    Nodepool's launcher writes to its requests without their locks after it was stopped: only our writes to these count.
    """
    changes = _changes(world)
    whose = sides(changes)
    providers = {**dict.fromkeys(OURS, "ours"), **dict.fromkeys(THEIRS, "theirs")}
    found = violations(History(changes, Remains(), providers=providers), (Nodes, Requests))
    return [str(one) for one in found if one.rule == Nodes.name or _is_ours(one, whose)]


def failures(world: World) -> dict[str, list[str]]:
    """Request → its labels, of each request that has failed although a pool that offers them had not declined it.

    What a launcher of Nodepool declines for itself is its own business: it does so when it wakes up after its session
    has ended, and its nodes have failed thereby. If nobody else has the label, the request has failed with that.
    """
    changes = _changes(world)
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
    changes = _changes(world)
    whose, nodes, told = sides(changes), set[str](), []
    for change in changes:
        record = _document(change.data)
        if record.get("allocated_to") == request:
            nodes.add(change.path)
        if change.path in nodes or change.path == f"/nodepool/requests/{request}":
            shown = {key: record[key] for key in SHOWN if key in record}
            side = whose.get(change.session, "a requestor")
            told.append(f"{change.at:.3f} {side}: {change.kind} {change.path} {shown}")
    return told


def _is_ours(one: Violation, whose: Mapping[int, str]) -> bool:
    return isinstance(one.event, Change) and whose.get(one.event.session) == "ours"


def _changes(world: World) -> list[Change]:
    return TransactionLog(world.site.zookeeper.directory / "data", world.site.chroot).changes()


def _document(data: bytes) -> dict[str, Any]:
    return document(data) or {}
