# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""APIs that hang, drip, break or talk nonsense, one endpoint at a time, and a healthy provider beside them.

How soon all that is got over is measured by the benchmark, and by the virtual clock of ``test_bad_endpoints.py``.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.launching import machine
from ansible_collections.stackci.nodepool.plugins.module_utils.model.api_timeouts import ApiTimeouts
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, label, pool, provider

API_TIMEOUT = 1.0
FOR_EVER = 10_000.0
PATIENCE = ApiTimeouts(API_TIMEOUT)

KINDS = {
    "token": "POST /auth/tokens",
    "servers": "GET /servers/detail",
    "create": "POST /servers",
    "delete": "DELETE /servers/{id}",
    "limits": "GET /limits",
    "flavors": "GET /flavors/detail",
    "images": "GET /images*",
    "networks": "GET /networks*",
    "ports": "GET /ports*",
    "floatingips": "POST /floatingips",
    "quotas": "GET /quotas*",
}
FAULTS: dict[str, tuple[str, dict[str, Any]]] = {
    "hang": ("hang", {}),
    "drip": ("drip", {"interval": 0.4}),
    "500": ("status", {"status": 500}),
    "503": ("status", {"status": 503}),
    "429": ("status", {"status": 429, "retry_after": 1}),
    "garbage": ("garbage", {}),
    "reset": ("reset", {}),
}


@pytest.fixture(autouse=True)
def short_settling(monkeypatch: pytest.MonkeyPatch) -> None:
    """A create without an answer is looked for during one second."""
    monkeypatch.setattr(machine, "SETTLE_SECONDS", 1.0)


def strike(site: Site, kind: str, fault: str, name: str = "one") -> int:
    """Have one endpoint of a provider's cloud fail from now on."""
    how, options = FAULTS[fault]
    return site.clouds[name].fault(KINDS[kind], how, **options)


def left_over(site: Site) -> dict[str, list[str]]:
    """Cloud → ids of nodes with a server too many or a server missing."""
    nodes = [(node["provider"], f"np{node_id}") for node_id, node in site.requestor.nodes().items()]
    found = {}
    for name, cloud in site.clouds.items():
        there = sorted(str(server["name"]) for server in cloud.servers())
        if there != sorted(server for where, server in nodes if where == name):
            found[name] = there
    return found


@pytest.mark.long
@pytest.mark.timeout(100)
@pytest.mark.parametrize("fault", FAULTS)
def test_any_single_bad_endpoint_delays_only_and_is_got_over_by_itself(site: Site, fault: str):
    """A provider for each kind of endpoint, each with that endpoint broken, and one that is well beside them."""
    names = [*KINDS, "well"]
    for name in names:
        site.add_cloud(name, private=False)
        site.remember_boot(name)
    site.configure(
        *(provider(name, pool("main", label(name, flavor_name="small"), auto_floating_ip=True)) for name in names)
    )
    requestor = site.requestor
    with site.stay(api_timeout=API_TIMEOUT, providers=("delete",)) as cycle:
        used = requestor.ask("delete")
        requestor.wait_for(used)
        nodes = requestor.accept(used)
    rules = {kind: strike(site, kind, fault, kind) for kind in KINDS}
    requestor.give_back(*nodes)
    with site.stay(api_timeout=API_TIMEOUT) as cycle:
        began = time.monotonic()
        requests = {name: requestor.ask(name, name) for name in names}
        requestor.wait_for(requests["well"], seconds=5)
        eventually(lambda: not [kind for kind, rule in rules.items() if not site.clouds[kind].struck(rule)], 20)
        eventually(lambda: time.monotonic() - began >= 2.5 * API_TIMEOUT)
        assert cycle.running
        assert [name for name in names if requestor.state(requests[name]) == "failed"] == []
        for kind in KINDS:
            site.clouds[kind].clear_faults()
        for request in requests.values():
            requestor.wait_for(request, seconds=40)
        requestor.wait_gone(nodes)
        last = [requestor.ask(name) for name in names]
        for request in last:
            requestor.wait_for(request, seconds=20)
        eventually(lambda: left_over(site) == {}, 20)
        result = cycle.end()
    assert result["requests"]["failed"] == [] and result["nodes"]["failed"] == []
    # The part of the limits that neutron did not tell is asked for with the next reading of the limits, which nobody
    # needs here: its trouble is told for CALM seconds more. A fact that made no sense is asked for again after a pause
    # that grows to a minute.
    told_longer = {"quotas", "limits"} if fault == "garbage" else {"quotas"}
    assert {name for name, health in result["health"].items() if health["state"] != "ok"} <= told_longer


@pytest.mark.parametrize("kind", ["token", "servers", "limits", "create"])
def test_health_says_what_is_wrong_and_the_cycle_ends_although_it_hangs(site: Site, kind: str):
    site.configure()
    strike(site, kind, "hang")
    request = site.requestor.ask("small")
    # A create without an answer is waited for at the end, but not until its call is over.
    result = site.run(duration=4.0, until="deadline", api_timeout=FOR_EVER if kind == "create" else API_TIMEOUT)
    assert result["ended"] == "deadline"
    health = result["health"]["one"]
    if kind == "create":
        # Everything else is answered: then it may only be slow.
        assert health["state"] == "ok"
        return
    assert health["state"] == "trouble" and health["seconds"] > 0
    wanted = {"token": "", "servers": "GET /servers/detail", "limits": "GET /limits"}[kind]
    assert wanted in health["text"], health
    assert site.requestor.state(request) in ("requested", "pending")
    (waiting,) = result["requests"]["waiting"]
    assert waiting["reason"]["code"] in ("provider-trouble", "facts-unread")


@pytest.mark.long
@pytest.mark.parametrize("kind", ["token", "servers", "create", "limits", "networks"])
def test_what_either_provider_can_serve_does_not_stay_with_the_silent_one(site: Site, kind: str):
    """It has the better priority, so it would get everything; what it has taken is taken back."""
    site.add_cloud("one", private=kind != "networks")
    site.configure(provider("one", pool("main", priority=1, auto_floating_ip=kind == "networks")), provider("two"))
    strike(site, kind, "hang")
    requestor = site.requestor
    with site.stay(api_timeout=API_TIMEOUT) as cycle:
        first = [requestor.ask("small") for _unused in range(6)]
        for request in first:
            requestor.wait_for(request, seconds=15)
        later = [requestor.ask("small") for _unused in range(4)]
        for request in later:
            requestor.wait_for(request, seconds=10)
        asked = [node for name in [*first, *later] for node in requestor.nodes_of(name)]
        assert {requestor.node(node)["provider"] for node in asked} == {"two"}
        # It is used again when it answers.
        site.clouds["one"].clear_faults()

        def served_by() -> str:
            request = requestor.ask("small")
            requestor.wait_for(request, seconds=15)
            time.sleep(0.2)
            return str(requestor.node(requestor.nodes_of(request)[0])["provider"])

        eventually(lambda: served_by() == "one")
        result = cycle.end()
    assert result["requests"]["failed"] == []


def test_a_healthy_provider_does_not_wait_for_a_silent_one(site: Site):
    """By how much it is slower beside one is measured by the benchmark."""
    site.configure(
        provider("one", pool("main", label("bad", flavor_name="small"))),
        provider("two", pool("main", label("good", flavor_name="small"))),
    )
    requestor = site.requestor
    with site.stay(api_timeout=API_TIMEOUT):
        requestor.wait_for(requestor.ask("bad"))
        rule = site.clouds["one"].fault("*", "hang")
        stuck = [requestor.ask("bad") for _unused in range(3)]
        eventually(lambda: site.clouds["one"].struck(rule))
        for _unused in range(3):
            requests = [requestor.ask("good") for _unused in range(3)]
            for request in requests:
                requestor.wait_for(request)
            nodes = [node for request in requests for node in requestor.accept(request)]
            requestor.give_back(*nodes)
            requestor.wait_gone(nodes)
        assert {requestor.state(request) for request in stuck} <= {"requested", "pending"}
        site.clouds["one"].clear_faults()
        for request in stuck:
            requestor.wait_for(request, seconds=30)


def test_an_api_that_asks_to_be_left_alone_is(site: Site):
    """Retry-After is kept by every kind of call."""
    site.configure()
    with site.stay(api_timeout=API_TIMEOUT):
        site.requestor.wait_for(site.requestor.ask("small"))
        rule = site.cloud.fault("POST /servers", "status", status=429, retry_after=4, count=1)
        request = site.requestor.ask("small")
        eventually(lambda: site.cloud.struck(rule))
        limited = next(call for call in site.cloud.calls("POST /servers") if call["status"] == 429)["end"]
        site.requestor.wait_for(request, seconds=20)
        early = [call["kind"] for call in site.cloud.calls() if limited + 0.3 < call["start"] < limited + 3.9]
    assert early == []


@pytest.mark.long
def test_tokens_that_expire_and_that_are_revoked_in_the_middle(site: Site):
    """Nothing is refused for it, no launch begins anew."""
    site.configure()
    site.cloud.settings(token_life=2, boot=0.5)
    requestor = site.requestor

    def logins() -> int:
        return len(site.cloud.calls("POST /auth/tokens"))

    with site.stay(api_timeout=API_TIMEOUT) as cycle:
        requests: list[str] = []
        while len(requests) < 4 or logins() < 3:
            assert len(requests) < 100, "the tokens do not end"
            requests.append(requestor.ask("small"))
            requestor.wait_for(requests[-1])
            if len(requests) % 2:
                site.cloud.revoke_tokens()
            requestor.give_back(*requestor.accept(requests[-1]))
        result = cycle.end()
    assert result["nodes"]["failed"] == [] and result["requests"]["failed"] == []


class Names:
    """One name whose look-up hangs. *hung* tells of each that has begun; *healed* ends them."""

    NAME = "cloud.invalid"

    def __init__(self) -> None:
        self.healed, self.hung = threading.Event(), threading.Semaphore(0)
        self._look_up = socket.getaddrinfo

    def getaddrinfo(self, host: Any, *args: Any, **options: Any) -> Any:
        """Instead of that of the module socket."""
        if host == self.NAME:
            self.hung.release()
            self.healed.wait()
            host = "127.0.0.1"
        return self._look_up(host, *args, **options)

    def use(self, site: Site) -> None:
        """Have clouds.yaml lead to the first cloud by the name."""
        document = json.loads(site.clouds_yaml.read_text("utf-8"))
        auth = document["clouds"]["one"]["auth"]
        auth["auth_url"] = auth["auth_url"].replace("127.0.0.1", self.NAME)
        site.clouds_yaml.write_text(json.dumps(document), encoding="utf-8")


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[Names]:
    made = Names()
    monkeypatch.setattr(socket, "getaddrinfo", made.getaddrinfo)
    yield made
    made.healed.set()


@pytest.mark.timeout(100)
def test_a_name_that_is_not_looked_up_to_the_end(site: Site, names: Names):
    """No time-out of ours ends a look-up: its thread is given up, nobody else waits for it, and it is got over."""
    site.configure(
        provider("one", pool("main", label("bad", flavor_name="small"))),
        provider("two", pool("main", label("good", flavor_name="small"))),
    )
    names.use(site)
    requestor = site.requestor
    with site.stay(api_timeout=API_TIMEOUT) as cycle:
        stuck = requestor.ask("bad")
        assert names.hung.acquire(timeout=20)
        began = time.monotonic()
        while time.monotonic() < began + PATIENCE.job + 1.0:
            requestor.wait_for(requestor.ask("good"), seconds=5)
        assert cycle.running and requestor.state(stuck) == "requested"
        assert "one" in requestor.wait_until_waiting(stuck, "provider-trouble")["text"]
        names.healed.set()
        requestor.wait_for(stuck, seconds=30)
        # A fact that nobody waits for may still be asked for when the node is ready.
        eventually(lambda: "provider one: its API works again" in cycle.lines, 30)
        result = cycle.end()
    assert result["requests"]["failed"] == [] and result["health"]["one"]["state"] == "ok"


def test_the_end_does_not_wait_for_a_name(site: Site, names: Names):
    site.configure()
    names.use(site)
    with site.stay(api_timeout=API_TIMEOUT) as cycle:
        site.requestor.ask("small")
        assert names.hung.acquire(timeout=20)
        result = cycle.end()
        assert not names.healed.is_set()
    assert result["requests"]["failed"] == []


def test_a_cycle_ends_although_all_calls_hang_at_once(site: Site):
    site.configure()
    requestor = site.requestor
    # No call ends by itself before the test would be stopped.
    with site.stay(api_timeout=FOR_EVER) as cycle:
        requestor.wait_for(requestor.ask("small"))
        hanging = site.cloud.fault("*", "hang")
        for _unused in range(20):
            requestor.ask("small")
        eventually(lambda: site.cloud.struck(hanging), 20)
        result = cycle.end()
    assert result["requests"]["failed"] == []
