# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One test's world for the launcher: a tree of its own, simulated clouds of its own, a configuration, and cycles."""

from __future__ import annotations

import itertools
import json
import threading
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kazoo.exceptions import NoAuthError

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.store import Store
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.context.launcher_options import (
    LauncherOptions,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.passes.launcher_cycle import run_launcher
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_requestor import Requestor
from tests.support.simcloud_process import SimCloud, default_cloud
from tests.support.zookeeper_server import HOST, ZooKeeperServer

BATCHES = {"plain": 64, "guest": 8, "late": 4}
"""Clouds of one process, by their kind: plain ones have no guests, the servers of the others answer ssh."""
LATE_SECONDS = 3.0
"""How long the guests of a late cloud need after ACTIVE until ssh answers."""
BOOT_SECONDS = 0.15
CYCLE_SECONDS = 60.0
"""A cycle of a test that is not settled by then shows a defect."""
STAY_SECONDS = 600.0
"""A cycle that stays ends when its test says so, however long that takes on a busy machine."""


def cloud_documents(kind: str, first: int) -> dict[str, dict[str, Any]]:
    """A batch of clouds of a kind, numbered from *first*."""
    quick: dict[str, Any] = {"boot": BOOT_SECONDS, "delete": 0.0, "quota_race": 0.02}
    own: dict[str, dict[str, Any]] = {
        "plain": {"security_groups": ["web"]},
        "guest": {"guests": {"mode": "each"}},
        "late": {"guests": {"mode": "shared", "boot_delay": LATE_SECONDS}},
    }
    clouds: dict[str, dict[str, Any]] = {}
    for number in range(first, first + BATCHES[kind]):
        clouds |= default_cloud(f"{kind}-{number}", **quick, **own[kind])
    return clouds


class CloudBank:
    """Gives each test clouds that nobody has used; starts more of them when they are used up."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._sims: dict[str, SimCloud] = {}
        self._given: Counter[str] = Counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc_info: object) -> None:
        self._stack.close()

    def take(self, kind: str = "plain") -> Cloud:
        """A fresh cloud of a kind."""
        number = self._given[kind]
        if number % BATCHES[kind] == 0:
            self._sims[kind] = self._stack.enter_context(SimCloud(cloud_documents(kind, number)))
        self._given[kind] += 1
        return Cloud(self._sims[kind], f"{kind}-{number}")


class Cloud:
    """One simulated cloud, by its control endpoint."""

    def __init__(self, sim: SimCloud, name: str) -> None:
        self._sim = sim
        self.name = name
        document = json.loads(sim.clouds_yaml.read_text("utf-8"))
        self.entry: dict[str, Any] = document["clouds"][name]
        self.password: str = self.entry["auth"]["password"]

    def settings(self, **changes: Any) -> None:
        self._sim.settings(self.name, **changes)

    def quota(self, **limits: int) -> None:
        self._sim.settings(self.name, quota=limits)

    def fault(self, kind: str | None, fault: str, **options: Any) -> int:
        return self._sim.fault(self.name, kind, fault, **options)

    def struck(self, ident: int) -> int:
        """How often a fault has struck."""
        return next(int(rule["struck"]) for rule in self._sim.faults(self.name) if rule["id"] == ident)

    def clear_faults(self) -> None:
        self._sim.clear_faults(self.name)

    def revoke_tokens(self) -> None:
        self._sim.revoke_tokens(self.name)

    def calls(self, kind: str | None = None) -> list[dict[str, Any]]:
        return [call for call in self._sim.calls(self.name) if kind is None or call["kind"] == kind]

    def clear_calls(self) -> None:
        self._sim.clear_calls(self.name)

    def counts(self) -> dict[str, Any]:
        return self._sim.counts(self.name)

    def state(self) -> dict[str, Any]:
        return self._sim.state(self.name)

    def servers(self) -> list[dict[str, Any]]:
        """The servers of the launcher, oldest first."""
        return [server for server in self._sim.servers(self.name) if not server["outsider"]]

    def server(self, node_id: str) -> dict[str, Any]:
        """The only server of a node."""
        (found,) = [server for server in self.servers() if server["name"] == f"np{node_id}"]
        return found

    def outsiders(self, count: int, **options: Any) -> list[str]:
        return self._sim.outsiders(self.name, count, **options)

    def renew_flavor(self, name: str) -> str:
        """The flavor is deleted and made again under another id."""
        return self._sim.renew_flavor(self.name, name)

    def remove_outsiders(self, count: int | None = None) -> None:
        self._sim.remove_outsiders(self.name, count)

    def end_boots(self) -> int:
        """The servers that boot are active now, however long they should take; how many these were."""
        return self._sim.end_boots(self.name)

    def stop_servers(self, name: str = "*") -> int:
        """Servers with such a name are SHUTOFF from now on; how many these were."""
        return self._sim.stop_servers(self.name, name)

    def ssh_port(self) -> int:
        return self._sim.ssh_port(self.name)


def _keys(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name.replace("_", "-"): value for name, value in options.items()}


def label(name: str = "small", **options: Any) -> dict[str, Any]:
    """A pool's label; flavor and image are those of the simulated cloud."""
    chosen = _keys(options)
    image = {} if {"diskimage", "cloud-image"} & set(chosen) else {"cloud-image": "debian-12"}
    flavor = {} if {"flavor-name", "min-ram"} & set(chosen) else {"flavor-name": name}
    return {"name": name, **image, **flavor, **chosen}


def pool(name: str = "main", *labels: dict[str, Any], **options: Any) -> dict[str, Any]:
    """A pool whose nodes are not scanned and get no floating IP, unless the options say so."""
    offered = list(labels or (label("small"), label("medium"), label("large")))
    return {
        "name": name,
        "host-key-checking": False,
        "auto-floating-ip": False,
        "networks": ["private"],
        "labels": offered,
        **_keys(options),
    }


def provider(name: str, *pools: dict[str, Any], **options: Any) -> dict[str, Any]:
    """A provider; its cloud in clouds.yaml has the same name unless the options say otherwise."""
    return {
        "name": name,
        "cloud": name,
        "rate": 0,
        "cloud-images": [{"name": "debian-12", "username": "zuul"}],
        "pools": list(pools or (pool(),)),
        **_keys(options),
    }


class Site:
    """One user's world.

    :ivar cloud: the cloud of provider ``one`` in the usual configuration.
    :ivar requestor: somebody independent who asks for nodes, over bare kazoo.
    """

    def __init__(self, folder: Path, zookeeper: ZooKeeperServer, chroot: str, bank: CloudBank) -> None:
        self.folder = folder
        self.zookeeper = zookeeper
        self.chroot = chroot
        self.bank = bank
        self.config = folder / "nodepool.yaml"
        self.clouds_yaml = folder / "clouds.yaml"
        self.clouds: dict[str, Cloud] = {}
        self.requestor = Requestor(zookeeper, chroot)
        self._entries: dict[str, dict[str, Any]] = {}

    @property
    def cloud(self) -> Cloud:
        return self.clouds["one"]

    def add_cloud(self, name: str = "one", kind: str = "plain", **entry: Any) -> Cloud:
        """A fresh cloud with an entry in clouds.yaml; *entry* adds to what it says there."""
        return self.use_cloud(self.bank.take(kind), name, **entry)

    def use_cloud(self, cloud: Cloud, name: str = "one", **entry: Any) -> Cloud:
        """That cloud, with an entry in clouds.yaml; *entry* adds to what it says there."""
        self.clouds[name] = cloud
        self._entries[name] = {**cloud.entry, "private": True, **entry}
        self.clouds_yaml.write_text(json.dumps({"clouds": self._entries}), encoding="utf-8")
        return cloud

    def configure(
        self, *providers: dict[str, Any], labels: Mapping[str, Mapping[str, Any]] | None = None, **top: Any
    ) -> None:
        """Write nodepool.yaml (JSON is YAML). Labels are those of the pools; *labels* says more of some."""
        chosen = list(providers or (provider("one"),))
        for item in chosen:
            if item["cloud"] not in self.clouds:
                self.add_cloud(item["cloud"])
            self.remember_boot(item["name"])
        offered = [entry["name"] for item in chosen for place in item["pools"] for entry in place["labels"]]
        names = dict.fromkeys([*offered, *(labels or {})])
        document = {
            "zookeeper-servers": [{"host": HOST, "port": self.zookeeper.port, "chroot": self.chroot}],
            "zookeeper-timeout": 10.0,
            "labels": [{"name": name, **dict((labels or {}).get(name, {}))} for name in names],
            "providers": chosen,
            **_keys(top),
        }
        # A program that begins meanwhile must not read half of it.
        fresh = self.config.with_suffix(".new")
        fresh.write_text(json.dumps(document, indent=1), encoding="utf-8")
        fresh.replace(self.config)

    def remember_boot(self, name: str, seconds: float = 2 * BOOT_SECONDS) -> None:
        """What an earlier cycle learned of a provider, so that the first listing comes when the server is up."""
        path = f"/nodepool/stackci/providers/{name}"
        if self.requestor.read(path) is None:
            self.requestor.put(path, {"boot_seconds": [seconds]})

    def options(self, **changes: Any) -> LauncherOptions:
        """What a cycle is asked."""
        values: dict[str, Any] = {
            "config": str(self.config),
            "clouds_config": str(self.clouds_yaml),
            "duration": CYCLE_SECONDS,
            **changes,
        }
        return LauncherOptions(**values)

    def run(self, **changes: Any) -> dict[str, Any]:
        """One cycle until it is settled; it must be settled well before its deadline."""
        result = run_launcher(self.options(**changes))
        if "duration" not in changes:
            assert result["ended"] == "settled", result
        return result

    def stay(self, **changes: Any) -> Cycle:
        """A cycle that stays while the requestor acts: ``with site.stay() as cycle``."""
        return Cycle(self, self.options(**{"until": "deadline", "duration": STAY_SECONDS, **changes}))

    def files(self) -> dict[str, str]:
        """The options of a module that say where the configuration is."""
        return {"config": str(self.config), "clouds_config": str(self.clouds_yaml)}

    def variables(self, **more: Any) -> str:
        """``-e`` of playbooks/launcher.yml."""
        paths = {"nodepool_config": str(self.config), "nodepool_clouds_config": str(self.clouds_yaml)}
        return json.dumps({**paths, **more})

    def close(self) -> None:
        self.requestor.close()


class Cycle:
    """A cycle in a thread of its own. *lines*: what it told people."""

    def __init__(self, site: Site, options: LauncherOptions) -> None:
        self._site = site
        self._options = options
        self._over = threading.Event()
        self._store: Store | None = None
        self._outcome: dict[str, Any] | BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.lines: list[str] = []

    def __enter__(self) -> Cycle:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.end()
        else:
            self._stop()

    @property
    def store(self) -> Store:
        """The cycle's own store: a test breaks its session."""
        eventually(lambda: self._store is not None or self._outcome is not None)
        assert self._store is not None, f"the cycle ended early: {self._outcome!r}"
        return self._store

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def acts(self, name: str = "one") -> bool:
        """True as soon as the cycle acts for a provider."""
        return f"provider {name}: acting" in self.lines

    def end(self) -> dict[str, Any]:
        """Let it end as if it had what it waited for; its result."""
        self._stop()
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        assert self._outcome is not None
        return self._outcome

    def _stop(self) -> None:
        self._over.set()
        for number in itertools.count():
            if not self._thread.is_alive():
                return
            # Something has to change for a waiting cycle to look.
            try:
                self._site.requestor.put("/nodepool/stackci/tests", {"nudge": number})
            except NoAuthError:  # the part of the tree belongs to the launcher's account
                self._site.requestor.put("/nodepool/stackci/lease-locks/tests", {"nudge": number})
            self._thread.join(0.1)
            assert number < 300, "the cycle does not end"

    def _run(self) -> None:
        try:
            self._outcome = run_launcher(self._options, progress=self.lines.append, done=self._done)
        except BaseException as problem:
            self._outcome = problem

    def _done(self, store: Store) -> bool:
        self._store = store
        return self._over.is_set()
