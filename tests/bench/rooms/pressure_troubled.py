# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One kind of trouble after the other at APIs of neighbours: what it costs a healthy provider, and how soon it is over.

Each neighbour has trouble with one endpoint, all with the same at once.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.stop import ENDED
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.passes.launcher_cycle import LONGEST_WAIT
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.passes.launcher_pass import END_WAIT
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.machine import SETTLE_SECONDS
from ansible_collections.stackci.nodepool.plugins.module_utils.model.api_timeouts import ApiTimeouts
from tests.bench.figures import Findings
from tests.bench.launcher import BenchError, LauncherRun
from tests.bench.resolver import NAME, Resolver
from tests.bench.world import Scene, World, until

WELL = "well"
ENDPOINTS: dict[str, str] = {
    "token": "POST /auth/tokens",
    "servers": "GET /servers/detail",
    "create": "POST /servers",
    "delete": "DELETE /servers/{id}",
    "floatingips": "POST /floatingips",
}
"""Provider → the endpoint that is in trouble there: those which each node needs. The others are asked now and then;
tests/integration/pressure breaks each of them in turn."""
PATIENCE = ApiTimeouts(4.0)
POLL = LONGEST_WAIT
BOOT = 1.0
SERVING = 3.0
"""Seconds from the first good answer to the node on a busy machine: create, boot, look, floating IP."""
EVERY = 0.125
"""Seconds between two requests to the healthy provider."""
PAIRS, QUICK_PAIRS = 5, 3
PART = 8
"""Requests of which a median is taken. They are spread over the whole row: the list of servers is read about once a
second, and neighbours in the row see the same reading."""
LEAD = 6
"""Requests before those that count."""
FRESH = "fresh"
"""A request that comes when the trouble is over, where creates had it."""
LONGEST = 60.0
JUST_SENT = 0.3
"""Seconds in which an answer may not have been seen yet."""
TOLD = 1.0
"""Seconds for a wish to be seen and everything to be given back."""


@dataclass(frozen=True)
class Trouble:
    """One kind of it.

    :param options: of the simulated cloud's fault; of several, each strikes its share of the calls.
    :param timeout: seconds that a call in it lasts at most, and what an API asks to be left alone for.
    :param unclear: whether a create that was answered so may have been done.
    """

    name: str
    fault: str
    options: tuple[Mapping[str, Any], ...] = ({},)
    timeout: float = PATIENCE.silence
    unclear: bool = True


AWAY = "503, Retry-After 2"
TROUBLES: tuple[Trouble, ...] = (
    Trouble("hangs", "hang"),
    Trouble("answers in drops", "drip", ({"interval": 0.4},), PATIENCE.call),
    Trouble("is slow", "slow", ({"seconds": 0.8 * PATIENCE.silence},)),
    Trouble("500 and 502", "status", ({"status": 500, "probability": 0.5}, {"status": 502})),
    Trouble(AWAY, "status", ({"status": 503, "retry_after": 2},)),
    Trouble("429, Retry-After 3", "status", ({"status": 429, "retry_after": 3},), unclear=False),
    Trouble("answers garbage", "garbage"),
    Trouble("resets the connection", "reset"),
)
QUICK = ("hangs", AWAY)


@dataclass(frozen=True)
class Street(Scene):
    """A provider with a label of its own for each endpoint, and one that stays well."""

    providers: tuple[str, ...] = (*ENDPOINTS, WELL)
    quota: int = 100
    small: float = 0.0
    latency: Mapping[str, float] = field(default_factory=dict)
    boot: float = BOOT
    delete: float = 0.2
    guests: bool = False

    def clouds(self) -> dict[str, dict[str, Any]]:
        """The clouds' configuration."""
        networks = [{"name": "private"}, {"name": "public", "external": True}]
        return {name: {**cloud, "networks": networks} for name, cloud in super().clouds().items()}

    def nodepool_yaml(self, zookeeper_port: int, ssh_port: Callable[[str], int]) -> str:
        """The launcher's configuration."""

        def provider(name: str) -> dict[str, Any]:
            label = {"name": name, "cloud-image": "debian-12", "flavor-name": "small"}
            pool = {"name": "main", "networks": ["private"], "host-key-checking": False, "labels": [label]}
            pool["auto-floating-ip"] = name == "floatingips"
            return {"name": name, "cloud": name, "rate": 0, "cloud-images": [{"name": "debian-12"}], "pools": [pool]}

        document = {
            "zookeeper-servers": [{"host": "127.0.0.1", "port": zookeeper_port}],
            "labels": [{"name": name} for name in self.providers],
            "providers": [provider(name) for name in self.providers],
        }
        # JSON is YAML too.
        return json.dumps(document, indent=1)


class Round:
    """A trouble from its beginning to its end, seen by the healthy provider and by those that have it.

    :ivar worse: by how many percent the healthy one was slower than just before.
    :ivar late: provider (or FRESH) → seconds from the end of the trouble until what it was asked for was there.
    """

    def __init__(self, world: World, launcher: LauncherRun, pairs: int) -> None:
        self._world = world
        self._launcher = launcher
        self._pairs = pairs
        self.worse = math.nan
        self.calm: list[float] = []
        self.beside: list[float] = []
        self.late: dict[str, float] = {}

    def run(
        self, begin: Callable[[], None], end: Callable[[], None], asked: Iterable[str], struck: Callable[[], bool]
    ) -> Round:
        """*begin* makes the trouble, *end* takes it away; *struck* is True when somebody has felt it everywhere."""
        requestor = self._world.requestor
        used = requestor.ask(1, ["delete"])
        self.calm = self._pace()
        held = _accepted(self._world, self._launcher, used)
        begin()
        began = time.monotonic()
        for node in held:
            requestor.give_back(node)
        requests = {name: requestor.ask(1, [name])[0] for name in asked}
        self.beside = self._pace()
        if not until(struck, LONGEST):
            raise BenchError(f"the trouble is not felt: {self._launcher.tail()}")
        # A call that hangs has been given up once, and what follows from that is under way.
        time.sleep(max(0.0, began + 1.5 * PATIENCE.silence - time.monotonic()))
        end()
        cured = time.time()
        if "create" in requests:
            # Whoever comes now does not wait for what becomes of a create in doubt.
            requests[FRESH] = requestor.ask(1, ["create"])[0]
        self.late = self._await(requests, held, cured)
        pairs = zip(self._parts(self.calm), self._parts(self.beside), strict=True)
        ratios = [after / before for before, after in pairs]
        self.worse = 100 * (median(ratios) - 1)
        return self

    def _parts(self, seconds: list[float]) -> list[float]:
        return [median(seconds[place :: self._pairs]) for place in range(self._pairs)]

    def document(self) -> dict[str, Any]:
        """For the JSON file."""
        calm, beside = ([round(value, 3) for value in values] for values in (self.calm, self.beside))
        return {"worse": self.worse, "calm": calm, "beside": beside, "late": self.late}

    def _await(self, requests: Mapping[str, str], held: Iterable[str], cured: float) -> dict[str, float]:
        requestor = self._world.requestor
        if not requestor.await_fulfilled(requests.values(), LONGEST):
            missing = [name for name, request in requests.items() if request not in requestor.fulfilled]
            raise BenchError(f"not served {LONGEST:g} s after the trouble: {missing}: {self._launcher.tail()}")
        if not requestor.await_gone(held, LONGEST):
            raise BenchError(f"not deleted {LONGEST:g} s after the trouble: {self._launcher.tail()}")
        for request in requests.values():
            for node in requestor.accept(request) if request in requestor.fulfilled else ():
                requestor.give_back(node)
        ends = {name: requestor.fulfilled.get(request, math.nan) for name, request in requests.items()}
        ends["delete"] = max(requestor.gone[node] for node in held)
        return {name: max(0.0, at - cured) for name, at in ends.items()}

    def _pace(self) -> list[float]:
        """Seconds that each of a row of requests to the healthy provider takes."""
        requestor, number = self._world.requestor, LEAD + self._pairs * PART
        requests: list[str] = []
        waiting: list[str] = []
        began = time.monotonic()
        while waiting or len(requests) < number:
            if len(requests) < number and time.monotonic() >= began + EVERY * len(requests):
                waiting += requestor.ask(1, [WELL])
                requests.append(waiting[-1])
            for request in [name for name in waiting if name in requestor.fulfilled]:
                waiting.remove(request)
                for node in requestor.accept(request):
                    requestor.give_back(node)
            if time.monotonic() > began + LONGEST:
                raise BenchError(f"the healthy provider serves nobody: {self._launcher.tail()}")
            time.sleep(0.02)
        return [requestor.fulfilled[request] - requestor.submitted[request] for request in requests[LEAD:]]


class Troubled:
    """A room."""

    name = "pressure-troubled"
    title = f"an endpoint in trouble at each of {len(ENDPOINTS)} providers (api_timeout {PATIENCE.silence:g} s)"

    def run(self, quick: bool) -> Findings:
        """Measure."""
        findings = Findings()
        pairs = QUICK_PAIRS if quick else PAIRS
        with World(Street()) as world:
            resolver = Resolver(world.folder)
            _use_name(world, "token")
            with _launcher(world, 900.0, resolver) as launcher:
                first = [name for label in world.scene.providers for name in world.requestor.ask(1, [label])]
                _accepted(world, launcher, first)
                for trouble in TROUBLES:
                    if not quick or trouble.name in QUICK:
                        self._fault(findings, world, Round(world, launcher, pairs), trouble)
                if not quick:
                    self._name(findings, world, Round(world, launcher, pairs), resolver)
                    self._tokens(findings, world, Round(world, launcher, pairs))
                self._password(findings, world, Round(world, launcher, pairs))
                self._stop(findings, world, launcher)
            if not quick:
                self._deadline(findings, world, resolver)
            worse = median(its["worse"] for its in findings.details.values())
            findings.add("the healthy provider, median of all these", worse, "% worse", at_most=10.0)
            findings.add("failed requests", len(world.requestor.failed), "", at_most=0)
        findings.notes.append(
            f"% worse: median of {pairs} pairs of medians of {PART} requests, before and in the trouble; whatever"
            " else this machine does at that moment is in it"
        )
        findings.notes.append(
            f"over → served: a time-out ({PATIENCE.silence:g} s, {PATIENCE.call:g} s for drops), a poll ({POLL:g} s)"
            f" and {SERVING:g} s for the launch itself; a create in doubt is looked for {SETTLE_SECONDS:g} s longer"
        )
        return findings

    def _fault(self, findings: Findings, world: World, its: Round, trouble: Trouble) -> None:
        cloud, began = world.cloud, time.time()
        rules: list[tuple[str, int]] = []

        def begin() -> None:
            for name, kind in ENDPOINTS.items():
                rules.extend((name, cloud.fault(name, kind, trouble.fault, **each)) for each in trouble.options)
            cloud.revoke_tokens("token")

        def struck() -> bool:
            return {name for name, rule in rules if _struck(world, name, rule)} == set(ENDPOINTS)

        def end() -> None:
            for name in ENDPOINTS:
                cloud.clear_faults(name)

        its.run(begin, end, [name for name in ENDPOINTS if name != "delete"], struck)
        _add(findings, trouble.name, its)
        settle = SETTLE_SECONDS if trouble.unclear else 0.0
        within = trouble.timeout + POLL + SERVING
        findings.add(
            "  over → served by all but the following", _worst(its, {"create", "delete", FRESH}), at_most=within
        )
        findings.add("  over → a new request is served", its.late[FRESH], at_most=within)
        findings.add("  over → a create in doubt is served", its.late["create"], at_most=within + settle)
        findings.add("  over → a node is deleted", its.late["delete"], at_most=within)
        asked_for = max(float(each.get("retry_after", 0.0)) for each in trouble.options)
        if asked_for:
            early = sum(_early(world, name, began, asked_for) for name in ENDPOINTS)
            findings.add("  calls before Retry-After was over", early, "", at_most=0)

    def _name(self, findings: Findings, world: World, its: Round, resolver: Resolver) -> None:
        def begin() -> None:
            before = resolver.hung
            resolver.hang()
            # Whoever has a connection needs no look-up.
            world.cloud.fault("token", ENDPOINTS["token"], "reset", count=1)
            world.cloud.revoke_tokens("token")
            felt.append(before)

        felt: list[int] = []
        try:
            its.run(begin, resolver.heal, ["token"], lambda: resolver.hung > felt[0])
        finally:
            resolver.heal()
            world.cloud.clear_faults("token")
        _add(findings, "a look-up of its name hangs", its)
        within = PATIENCE.silence + POLL + SERVING
        findings.add("  over → served", its.late["token"], at_most=within)

    def _tokens(self, findings: Findings, world: World, its: Round) -> None:
        """They last for a moment only: nothing is slower for it, so nobody is served late once it is over."""
        cloud = world.cloud
        before = sum(_logins(world, name) for name in ENDPOINTS)

        def begin() -> None:
            for name in ENDPOINTS:
                cloud.settings(name, token_life=1)
                cloud.revoke_tokens(name)

        def end() -> None:
            for name in ENDPOINTS:
                cloud.settings(name, token_life=3600)

        its.run(begin, end, [name for name in ENDPOINTS if name != "delete"], lambda: True)
        _add(findings, "tokens end in the middle", its)
        findings.add("  over → served", _worst(its, set()), at_most=POLL)
        logins = sum(_logins(world, name) for name in ENDPOINTS) - before
        findings.add("  logins", logins, "", at_least=len(ENDPOINTS))

    def _password(self, findings: Findings, world: World, its: Round) -> None:
        cloud, path = world.cloud, world.cloud.clouds_yaml
        refused = cloud.counts("servers")["by_status"].get(ENDPOINTS["token"], {}).get("401", 0)

        def begin() -> None:
            cloud.settings("servers", password="another")
            cloud.revoke_tokens("servers")

        def end() -> None:
            document = json.loads(path.read_text(encoding="utf-8"))
            document["clouds"]["servers"]["auth"]["password"] = "another"
            _replace(path, document)

        def struck() -> bool:
            now = cloud.counts("servers")["by_status"].get(ENDPOINTS["token"], {}).get("401", 0)
            return bool(now > refused)

        its.run(begin, end, ["servers"], struck)
        _add(findings, "credentials are changed", its)
        within = PATIENCE.silence + POLL + SERVING
        findings.add("  clouds.yaml has the new ones → served", its.late["servers"], at_most=within)

    def _stop(self, findings: Findings, world: World, launcher: LauncherRun) -> None:
        """The wish to end while every API but one hangs."""
        _hang(world)
        heartbeat = json.loads(_heart(world).read_text(encoding="utf-8"))
        began = time.monotonic()
        _control(world).write_text("stop\n", encoding="utf-8")
        if not until(lambda: not Path(f"/proc/{heartbeat['pid']}").exists(), LONGEST, 0.02):
            raise BenchError(f"the module does not end: {launcher.tail()}")
        findings.add("all APIs hang: wish to end → it has ended", time.monotonic() - began, at_most=END_WAIT + TOLD)
        result = launcher.finish()
        findings.add("  ended otherwise than by the wish", int(result["ended"] != "stopped"), "", at_most=0)
        wrong = [name for name in ENDPOINTS if result["health"][name]["state"] == "trouble"]
        findings.add("  providers whose health says so", len(wrong), "", at_least=len(ENDPOINTS))
        well = result["health"][WELL]["state"] == "ok"
        findings.add("  and the other's that it is well", int(well), "", at_least=1)
        _control(world).unlink()
        for name in ENDPOINTS:
            world.cloud.clear_faults(name)

    def _deadline(self, findings: Findings, world: World, resolver: Resolver) -> None:
        duration = 4 * PATIENCE.silence
        with _launcher(world, duration, resolver) as launcher:
            _hang(world)
            if not until(lambda: _is_over(world), LONGEST):
                raise BenchError(f"the module does not end: {launcher.tail()}")
            result = launcher.finish()
        findings.add("all APIs hang: deadline → it has ended", result["seconds"] - duration, at_most=END_WAIT + TOLD)


def _launcher(world: World, duration: float, resolver: Resolver) -> LauncherRun:
    return LauncherRun(
        world,
        duration,
        more_environment=resolver.environment,
        launcher_api_timeout=PATIENCE.silence,
        launcher_control_file=str(_control(world)),
        launcher_heartbeat_file=str(_heart(world)),
    )


def _control(world: World) -> Path:
    return world.folder / "control"


def _heart(world: World) -> Path:
    return world.folder / "heart"


def _is_over(world: World) -> bool:
    return bool(json.loads(_heart(world).read_text(encoding="utf-8"))["state"] == ENDED)


def _hang(world: World) -> None:
    """From now on no API but that of the healthy one answers, and there is work for each; it has begun."""
    rules = {name: world.cloud.fault(name, "*", "hang") for name in ENDPOINTS}
    for name in ENDPOINTS:
        world.requestor.ask(3, [name])
    if not until(lambda: all(_struck(world, name, rule) for name, rule in rules.items()), LONGEST):
        raise BenchError("not every provider has asked its API for anything")
    # Long enough for the health of each to tell.
    time.sleep(PATIENCE.suspect + 1.0)


def _struck(world: World, name: str, rule: int) -> int:
    return sum(int(row["struck"]) for row in world.cloud.faults(name) if row["id"] == rule)


def _early(world: World, name: str, since: float, seconds: float) -> int:
    """Calls that a provider began although its API had asked to be left alone; those just sent are none."""
    calls = [call for call in world.cloud.calls(name) if call["start"] >= since]
    asked = [call["end"] for call in calls if call["fault"] and call["end"] is not None]
    return sum(any(at + JUST_SENT < call["start"] < at + seconds - JUST_SENT for at in asked) for call in calls)


def _logins(world: World, name: str) -> int:
    return int(world.cloud.counts(name)["by_kind"].get(ENDPOINTS["token"], 0))


def _use_name(world: World, cloud: str) -> None:
    """Have clouds.yaml lead to the identity service of a cloud by the name that can hang."""
    path = world.cloud.clouds_yaml
    document = json.loads(path.read_text(encoding="utf-8"))
    auth = document["clouds"][cloud]["auth"]
    auth["auth_url"] = auth["auth_url"].replace("127.0.0.1", NAME)
    _replace(path, document)


def _replace(path: Path, document: Any) -> None:
    """The launcher never sees half a file."""
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(document), encoding="utf-8")
    fresh.replace(path)


def _worst(its: Round, without: set[str]) -> float:
    return max(seconds for name, seconds in its.late.items() if name not in without)


def _add(findings: Findings, name: str, its: Round) -> None:
    findings.add(f"{name}: the healthy provider", its.worse, "% worse", at_most=10.0)
    findings.details[name] = its.document()


def _accepted(world: World, launcher: LauncherRun, requests: list[str]) -> list[str]:
    """The nodes of requests that a healthy provider serves; they are in use now."""
    requestor = world.requestor
    if not requestor.await_fulfilled(requests, LONGEST):
        raise BenchError(f"not served although all are well: {launcher.tail()}")
    return [node for request in requests for node in requestor.accept(request)]
