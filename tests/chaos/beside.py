# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A random run in which a launcher of Nodepool works on the same tree, with machines and a cloud of its own."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from kazoo.exceptions import NoNodeError

from tests.chaos import site
from tests.chaos.beside_rules import judge_beside
from tests.chaos.beside_schedule import STOCK, beside_schedule
from tests.chaos.history import NODES, Event, History, document
from tests.chaos.proxy import Proxy
from tests.chaos.real import CHROOT, PATIENCE, RealRun
from tests.chaos.schedule import HOSTS, PROVIDERS, Action
from tests.chaos.sides import COMPONENTS, OURS, THEIRS
from tests.chaos.stock_host import StockHost
from tests.interop.machines import machines, sshd
from tests.support.fixtures_zookeeper import eventually

CLOUD, MACHINES = "north", "machines"
WHOSE = {**dict.fromkeys(PROVIDERS, OURS), CLOUD: THEIRS, MACHINES: THEIRS}
SHARED = ("both",)
POOLS = f"{COMPONENTS}/pool"


class BesideRun(RealRun):
    """The run of one seed. Strangers do not write to the tree: Nodepool's launcher cannot bear what they write."""

    clouds = (*PROVIDERS, CLOUD)
    host_names = (*HOSTS, "three")
    tls = True
    theirs: list[str]
    """What Nodepool's launcher did wrong to its own."""

    def _actions(self) -> list[Action]:
        own = [action for action in super()._actions() if action.what != "strangers"]
        return sorted([*own, *beside_schedule(self.seed, self.seconds, self.load)], key=lambda action: action.at)

    def _providers(self) -> list[dict[str, Any]]:
        return site.providers(SHARED)

    def _open(self, stack: ExitStack) -> None:
        super()._open(stack)
        tls, port = self.zookeeper.certificates, self.zookeeper.tls_port
        assert tls is not None and port is not None
        proxy = stack.enter_context(Proxy(port))
        self.stock = StockHost(self.folder / "host-stock", proxy, self._their_clouds(), self.note)
        stack.callback(self.stock.end)
        self.stock.configure(tls, CHROOT, [_cloud(), machines(*stack.enter_context(sshd(self.stock.folder)))])
        self.stock.start()
        # Before a launcher has ever registered for them, nobody knows that its labels will be offered.
        eventually(lambda: set(WHOSE) <= self._registered(), PATIENCE)

    def _registered(self) -> set[str]:
        """Let cycles begin; the providers of all registered pools."""
        self._tend()
        found = set()
        with suppress(NoNodeError):
            for name in self._stranger.get_children(POOLS):
                found.add(str((document(self._stranger.get(f"{POOLS}/{name}")[0]) or {}).get("provider_name")))
        return found

    def _their_clouds(self) -> Path:
        """clouds.yaml for Nodepool's launcher, whose servers have no floating IP."""
        entry = json.loads(self.sim.clouds_yaml.read_text("utf-8"))["clouds"][CLOUD]
        path = self.folder / "their-clouds.yaml"
        path.write_text(json.dumps({"clouds": {CLOUD: {**entry, "private": True}}}), encoding="utf-8")
        return path

    def _tend(self) -> None:
        super()._tend()
        self.stock.tend()

    def _do(self, action: Action) -> None:
        if action.options.get("host") == STOCK:
            self.note(f"do {action}")
            self.strikes += action.what not in ("start", "thaw", "heal")
            self.stock.strike(action.what)
            return
        since = time.time()
        super()._do(action)
        if action.what == "zookeeper":
            self.stock.jolted(since)

    def _mend(self) -> None:
        self.stock.proxy.heal()
        self.stock.start()
        super()._mend()

    def _finish(self) -> list[str]:
        self.stock.end()
        return [*super()._finish(), *self.stock.wrong]

    def _unfinished(self, client: Any) -> tuple[set[str], str]:
        nodes, left = super()._unfinished(client)
        if not left:
            # Nodepool's launcher looks for servers without a node once a minute.
            found = [document(client.get(f"{NODES}/{name}")[0]) or {} for name in nodes]
            known = {str(node.get("external_id")) for node in found if node.get("provider") == CLOUD}
            lost = {server for cloud, server in self.view.remains().servers if cloud == CLOUD} ^ known
            left = f"servers or nodes of Nodepool's launcher without the other: {sorted(lost)}" if lost else ""
        return nodes, left

    def _history(self) -> list[Event]:
        return sorted([*super()._history(), *self.stock.lapses()], key=lambda event: event.at)

    def _judged(self, history: History) -> list[str]:
        beside = History(history.events, history.remains, cloudless=frozenset({MACHINES}), providers=WHOSE)
        wrong, self.theirs = judge_beside(beside)
        for text in self.theirs:
            self.note(f"Nodepool's launcher to its own: {text}")
        return wrong

    def _figures(self, events: list[Event]) -> dict[str, int]:
        more = {"broken": self.requestors.broken, "Nodepool's own": len(self.theirs), "its starts": self.stock.starts}
        return {**super()._figures(events), **more}


def _cloud() -> dict[str, Any]:
    """Its provider of the driver openstack."""
    pool = {
        "name": "main",
        "max-servers": 8,
        "host-key-checking": False,
        "auto-floating-ip": False,
        "networks": ["private"],
        "labels": [site.label(one, "small") for one in ("theirs", *SHARED)],
    }
    return {
        "name": CLOUD,
        "cloud": CLOUD,
        "rate": 0.01,
        "boot-timeout": 20,
        "launch-timeout": 40,
        "clean-floating-ips": False,
        "port-cleanup-interval": 0,
        "cloud-images": [{"name": site.IMAGE, "username": "zuul"}],
        "pools": [pool],
    }
