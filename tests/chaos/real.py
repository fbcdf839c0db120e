# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A random run with real modules, a real ZooKeeper and simulated clouds over HTTP, from a seed."""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError

from tests.chaos import hostile, site
from tests.chaos.builders import BuilderHost, unfinished
from tests.chaos.checker import judge
from tests.chaos.history import NODES, Change, Configured, Event, History, Remains, Typo, document
from tests.chaos.hosts import LauncherHost
from tests.chaos.proxy import Proxy
from tests.chaos.requestors import Requestors
from tests.chaos.schedule import BUILDERS, HOSTS, PROVIDERS, UPLOAD_FILE, Action, schedule
from tests.chaos.transaction_log import TransactionLog
from tests.support.ansible_run import run_alone
from tests.support.fixtures_zookeeper import end
from tests.support.zookeeper_server import ZooKeeperServer

CHROOT = "/chaos"
STILL = 600.0
"""Seconds for which nothing may change on a site that is well and has not come to rest; a freeze or a breaker waits at
most 180 s for its next attempt."""
MOST_NODES = 300
"""Nodes that may be made before it comes to rest besides those that were asked for; more means that it never does."""
TICK = 0.05
PATIENCE = 300.0
"""Seconds for what begins or ends at once on a machine with nothing else to do."""


@dataclass
class Outcome:
    """What came of a run."""

    seed: int
    wrong: list[str]
    figures: dict[str, int] = field(default_factory=dict)


class RealRun:
    """The run of one seed.

    :param folder: everything that it leaves is there: its log, what the modules said, ZooKeeper's data.
    :param load: see :func:`schedule`.
    """

    clouds: Sequence[str] = PROVIDERS
    host_names: Sequence[str] = HOSTS
    tls = False

    def __init__(self, seed: int, seconds: float, folder: Path, load: float = 1.0) -> None:
        self.seed = seed
        self.seconds = seconds
        self.load = load
        self.folder = folder
        self.strikes = 0
        self._configured: list[Configured] = []
        self._typos: list[Typo] = []
        self._wanted: list[dict[str, Any]] = []
        self._mistyped = False
        self._chance = random.Random(seed)
        self._planted: dict[str, float] = {}
        """Path of what a stranger has written → until when it stays there."""
        self._past: set[str] = set()
        self._newest: dict[str, str] = {}
        folder.mkdir(parents=True, exist_ok=True)
        self._log_file = (folder / "actions.log").open("w", encoding="utf-8", buffering=1)

    def note(self, text: str) -> None:
        """Write down what is about to happen."""
        self._log_file.write(f"{time.time():.3f} {text}\n")

    def run(self) -> Outcome:
        """Carry the run out and judge it."""
        with self._log_file, ExitStack() as stack:
            self._open(stack)
            self._play(self._actions())
            self._mend()
            wrong = self._settle()
            swept = self._sweep() if not wrong else 0
            wrong += self._finish()
            remains = self.view.remains()
            events = self._history()
            wrong += self._judged(History(events, remains, planted=frozenset(self._past)))
            for text in wrong:
                self.note(f"WRONG {text}")
        return Outcome(self.seed, wrong, {**self._figures(events), "swept": swept})

    def _actions(self) -> list[Action]:
        return schedule(self.seed, self.seconds, self.load, self.host_names)

    def _providers(self) -> list[dict[str, Any]]:
        return site.providers()

    def _judged(self, history: History) -> list[str]:
        return judge(history)

    def _open(self, stack: ExitStack) -> None:
        data = self.folder / "zookeeper"
        self.zookeeper = ZooKeeperServer(tick_ms=500, tls=self.tls, data_dir=data, start_timeout=PATIENCE)
        stack.enter_context(self.zookeeper)
        client = self._client("")
        client.ensure_path(CHROOT)
        end(client)
        self.sim = stack.enter_context(site.new_clouds(self.folder / "clouds", self.clouds))
        self.view = site.CloudView(self.sim, self.clouds)
        stack.callback(self.view.close)
        self.view.plant()
        self.hosts: dict[str, LauncherHost] = {}
        for name in self.host_names:
            proxy = stack.enter_context(Proxy(self.zookeeper.port))
            folder = self.folder / f"host-{name}"
            self.hosts[name] = LauncherHost(name, folder, proxy, self.sim.clouds_yaml, self.seed, self.note)
            stack.callback(self.hosts[name].end)
        self.builders: dict[str, BuilderHost] = {}
        for name in BUILDERS:
            proxy = stack.enter_context(Proxy(self.zookeeper.port))
            folder = self.folder / f"builder-{name}"
            self.builders[name] = BuilderHost(name, folder, proxy, self.sim.clouds_yaml, self.seed, self.note)
            self.builders[name].configure(CHROOT)
            stack.callback(self.builders[name].end)
        self._stranger = self._client()
        stack.callback(end, self._stranger)
        self._configure(self._providers())
        self.requestors = stack.enter_context(Requestors(self.zookeeper.hosts + CHROOT, self.note))

    def _client(self, chroot: str = CHROOT) -> KazooClient:
        client = KazooClient(self.zookeeper.hosts + chroot, timeout=20.0)
        client.start(PATIENCE)
        return client

    # -- what happens --------------------------------------------------------------------------------------------

    def _play(self, actions: list[Action]) -> None:
        began = time.monotonic()
        waiting = list(reversed(actions))
        while waiting or time.monotonic() - began < self.seconds:
            self._tend()
            while waiting and waiting[-1].at <= time.monotonic() - began:
                self._do(waiting.pop())
            time.sleep(TICK)

    def _tend(self) -> None:
        for host in (*self.hosts.values(), *self.builders.values()):
            host.tend()
        self._remove_planted()

    def _do(self, action: Action) -> None:
        self.note(f"do {action}")
        options = dict(action.options)
        deeds: dict[str, Callable[[dict[str, Any]], None]] = {
            "ask": self.requestors.ask,
            "fault": self._fault,
            "zookeeper": self._restart_zookeeper,
            "configure": self._change_configuration,
            "strangers": self._strangers,
            "typo": self._mistype,
            "typo-over": self._correct,
            "build": self._build,
            "kill-builder": self._kill_builder,
        }
        if action.what in deeds:
            deeds[action.what](options)
        elif "host" in options:
            self._strike(action.what, self.hosts[options["host"]])
        else:
            self._cloud(action.what, options["cloud"], int(options.get("number", 1)))

    def _fault(self, options: dict[str, Any]) -> None:
        cloud, calls, fault = options.pop("cloud"), options.pop("calls"), options.pop("fault")
        self.sim.fault(cloud, calls, fault, **options)

    def _strike(self, what: str, host: LauncherHost) -> None:
        self.strikes += what not in ("thaw", "heal")
        signals = {"kill": signal.SIGKILL, "stop": signal.SIGTERM, "freeze": signal.SIGSTOP, "thaw": signal.SIGCONT}
        if what in signals:
            host.strike(signals[what])
        else:
            getattr(host.proxy, what)()

    def _restart_zookeeper(self, options: dict[str, Any]) -> None:
        self.strikes += 1
        if options["kill"]:
            self.zookeeper.kill()
        else:
            self.zookeeper.stop()
        time.sleep(options["down"])
        self.zookeeper.start()

    def _cloud(self, what: str, cloud: str, number: int) -> None:
        sim = self.sim
        match what:
            case "limits":
                sim.settings(cloud, quota={"instances": number})
            case "limits-over":
                sim.settings(cloud, quota={"instances": site.QUOTA["instances"]})
            case "others":
                sim.outsiders(cloud, number)
            case "others-over":
                sim.remove_outsiders(cloud, number)
            case "cells":
                sim.settings(cloud, cells_down=True)
            case "cells-over":
                sim.settings(cloud, cells_down=False)
            case "latency":
                sim.settings(cloud, latency=number / 4)
            case "latency-over":
                sim.settings(cloud, latency=0.0)
            case "tokens":
                sim.revoke_tokens(cloud)
            case "image" | "image-over":
                self._change_image(cloud, gone=what == "image")
            case _:
                raise ValueError(what)

    def _change_image(self, cloud: str, *, gone: bool) -> None:
        """By the same API that fails: tried once while there is trouble, until it works at the end."""
        try:
            self.view.replace_image(cloud, gone=gone)
        except Exception as problem:  # the SDK raises whatever its libraries raise
            self.note(f"{cloud}: the image cannot be changed: {problem}")

    def _change_configuration(self, options: dict[str, Any]) -> None:
        if options["change"] == "broken" and not self._mistyped:
            for host in self.hosts.values():
                site.write(host.config, "providers: [")
        elif options["change"] != "broken":
            self._configure(site.changed(self._providers(), options["change"], options["provider"]))

    def _mistype(self, options: dict[str, Any]) -> None:
        """A typo lasts longer than cycles: those that begin meanwhile have nothing but what was valid before."""
        self.strikes += 1
        self._typos.append(Typo(time.time(), time.time() + options["lasts"]))
        self._mistyped = True
        for host in self.hosts.values():
            site.write(host.config, "providers: [\n  - name: east\n    pools: [: ]")

    def _correct(self, _options: dict[str, Any]) -> None:
        self._mistyped = False
        self._configure(self._wanted)

    def _strangers(self, options: dict[str, Any]) -> None:
        """Documents near ZooKeeper's limit, and with values of odd types."""
        self.strikes += 1
        for _turn in range(options["number"]):
            kind = self._chance.choice(["node", "request"])
            data = hostile.made(self._chance, kind, options["provider"], time.time())
            try:
                path = self._stranger.create(hostile.folder_of(kind), data, sequence=True, makepath=True)
            except KazooException as problem:
                self.note(f"a stranger cannot write {len(data)} bytes: {problem!r}")
                continue
            self.note(f"a stranger writes {path}, {len(data)} bytes: {data[:300]!r}")
            self._planted[path] = time.monotonic() + options["lasts"]

    def _remove_planted(self, *, all_of_them: bool = False) -> None:
        for path, until in list(self._planted.items()):
            if all_of_them or time.monotonic() >= until:
                try:
                    self._stranger.delete(path, recursive=True)
                except NoNodeError:
                    pass
                except KazooException:
                    continue
                self._past.add(path)
                del self._planted[path]

    def _build(self, options: dict[str, Any]) -> None:
        builder, image = self.builders[options["builder"]], options["image"]
        if options.get("hangs"):
            self.sim.fault(options["hangs"], UPLOAD_FILE, "hang", count=1, at=1 << 20)
        try:
            self._newest[image] = builder.build(self._stranger, image)
        except KazooException as problem:
            self.note(f"builder {builder.name}: no build: {problem!r}")

    def _kill_builder(self, options: dict[str, Any]) -> None:
        self.strikes += 1
        self.builders[options["builder"]].strike(signal.SIGKILL)

    def _configure(self, items: list[dict[str, Any]]) -> None:
        self._wanted = items
        if self._mistyped:
            return
        self._configured.append(site.offers(items, time.time()))
        for host in self.hosts.values():
            site.write(host.config, site.dumped(items, host.proxy.port, CHROOT))

    # -- the end -------------------------------------------------------------------------------------------------

    def _mend(self) -> None:
        self.note("everything is well from now on")
        self.requestors.quiet = True
        if not self.zookeeper.running:
            self.zookeeper.start()
        for host in self.hosts.values():
            host.proxy.heal()
            host.strike(signal.SIGCONT)
        self.sim.clear_faults()
        for cloud in PROVIDERS:
            self.sim.settings(cloud, quota=site.QUOTA, latency=0.0, cells_down=False)
            self.sim.remove_outsiders(cloud)
            self.view.replace_image(cloud, gone=False)
        self._mistyped = False
        self._configure(self._providers())
        self._remove_planted(all_of_them=True)
        for builder in self.builders.values():
            for image in builder.images:  # a former failure does not delay a new build
                self._build({"builder": builder.name, "image": image})

    def _settle(self) -> list[str]:
        """Wait until every request has ended and every node is ready and free, as long as anything changes."""
        before: tuple[object, ...] = ()
        seen: set[str] = set()
        limit = 0.0
        # What was asked for during the load and waits is no sign of unrest.
        most = MOST_NODES + sum(len(options["labels"]) for options in list(self.requestors.open.values()))
        client = self._client()
        try:
            while True:
                self._tend()
                if self.requestors.idle():
                    self.requestors.forget_unknown()
                nodes, left = self._unfinished(client)
                left = left or unfinished(client, self._newest, self.view.uploaded())
                if self.requestors.idle() and not left:
                    return []
                waiting = sorted(self.requestors.open)
                now = (tuple(waiting), self.requestors.busy, left)
                seen |= nodes
                if now != before:
                    before, limit = now, time.monotonic() + STILL
                texts = [f"requests {waiting}" if waiting else "", f"{self.requestors.busy} in use or held", left]
                told = ", ".join(filter(None, texts))
                if time.monotonic() > limit:
                    return [f"settled: end: nothing has changed for {STILL:g} s: {told}"]
                if len(seen) > most:
                    return [f"settled: end: still at work after {len(seen)} nodes: {told}"]
                time.sleep(0.5)
        finally:
            end(client)

    def _unfinished(self, client: Any) -> tuple[set[str], str]:
        """The names of all nodes, and what of them is not as it is at rest."""
        nodes = {}
        try:
            for name in client.get_children(NODES):
                nodes[name] = document(client.get(f"{NODES}/{name}")[0]) or {}
        except KazooException as problem:
            return set(nodes), repr(problem)
        wrong = {
            name: (node.get("state"), node.get("allocated_to"))
            for name, node in nodes.items()
            if node.get("state") != "ready" or node.get("allocated_to")
        }
        # min-ready is kept, or a launch may begin after the look.
        small = [name for name, node in nodes.items() if node.get("type") == ["small"]]
        return set(nodes), f"nodes {wrong}" if wrong else "" if small else "no small node is ready"

    def _finish(self) -> list[str]:
        """End all hosts; what was wrong with their processes."""
        wrong = []
        for host in (*self.hosts.values(), *self.builders.values()):
            host.end()
            wrong += host.wrong
        return wrong

    def _sweep(self) -> int:
        """What a lost answer left is proven to be ours and removed, as the launcher does after ten minutes."""
        if not self._is_left(self.view.remains()):
            return 0
        self.note("leak_cleanup")
        host = self.hosts[self.host_names[0]]
        options = {"config": str(host.config), "clouds_config": str(self.sim.clouds_yaml), "min_age": 0, "wait": 1}
        ran = run_alone("leak_cleanup", options, self.folder, timeout=PATIENCE)
        self.note(f"leak_cleanup: {json.dumps(ran.result)[:2000]}")
        limit = time.monotonic() + PATIENCE
        while self._is_left(self.view.remains()) and time.monotonic() < limit:
            time.sleep(0.5)
        return len([row for row in ran.result.get("things", []) if row.get("verdict") in ("leaked", "deleted")])

    def _is_left(self, remains: Remains) -> bool:
        client = self._client()
        nodes = [document(client.get(f"{NODES}/{name}")[0]) or {} for name in client.get_children(NODES)]
        end(client)
        known = {(node.get("provider"), node.get("external_id")) for node in nodes}
        addressed = {(cloud, server) for (cloud, _ident), server in remains.addresses.items()}
        return bool((remains.servers | addressed) - known)

    def _history(self) -> list[Event]:
        changes: list[Event] = list(TransactionLog(self.folder / "zookeeper" / "data", CHROOT).changes())
        # ZooKeeper's order is kept where two changes have the same millisecond.
        return sorted([*self._configured, *self._typos, *changes, *self.view.events()], key=lambda event: event.at)

    def _figures(self, events: list[Event]) -> dict[str, int]:
        nodes = {event.path for event in events if isinstance(event, Change) and event.path.startswith(f"{NODES}/")}
        return {
            "asked": self.requestors.asked,
            "served": self.requestors.served,
            "failed": self.requestors.failed,
            "nodes": len([path for path in nodes if path.count("/") == 3]),
            "strikes": self.strikes,
            "cycles": sum(host.cycles for host in (*self.hosts.values(), *self.builders.values())),
            "strangers": len(self._past),
            "changes": len(events),
        }
