# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a cycle tells of failures and of what it could not keep ready."""

from __future__ import annotations

import re

from ansible_collections.stackci.nodepool.plugins.module_utils.model.lines import Line, Trouble, about
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.summary import launcher_summary
from tests.support.virtual_cloud import Fate
from tests.support.world import World, label, one_provider, provider_document, site


def test_a_failed_request_is_told_with_its_reason_and_attempts_once():
    with World(one_provider()) as world:
        world.clouds["east"].fate = lambda machine: Fate("ERROR", "Image 1 is unacceptable", 1.0)
        cycle = world.start()
        request = world.request("small")
        assert world.run(600, until=lambda: world.state(request) == "failed")
        (told,) = [line for _when, line in cycle.lines if line.startswith(f"request {request}: failed")]
        assert isinstance(told, Trouble) and told.count("is unacceptable") == 1 and "(3 attempts)" in told
        assert "[owner: image]" in told and cycle.account.failed[request][0]["owner"] == "image"
        (node,) = cycle.account.launched
        assert f"node {node}: launching small in east/main" in " ".join(line for _when, line in cycle.lines)


def test_why_min_ready_is_not_kept_does_not_depend_on_the_order_of_pools():
    def told(*names: str) -> list[str]:
        pools = [{"name": name, "labels": [label("small")], "max-servers": 1} for name in names]
        with World(site(provider_document("east", *pools), min_ready={"small": 5})) as world:
            cycle = world.start(duration=100.0)
            world.run(200, until=lambda: cycle.ended)
            return list(launcher_summary(cycle.result)["waits"])

    (text,) = told("a", "b")
    assert text.startswith("label small: 3 nodes short of min-ready: ")
    assert "0 left in east/a" in text and "0 left in east/b" in text
    assert told("b", "a") == [text]


def test_trouble_of_a_provider_is_said_when_it_begins_and_when_it_is_over():
    with World(one_provider()) as world:
        cycle = world.start()
        world.run(5)
        fault = world.fault("east", until=world.agenda.now + 60)
        request = world.request("small")
        assert world.run(300, until=lambda: world.state(request) == "fulfilled")
        said = [line for _when, line in cycle.lines if line.startswith("provider east: ")]
        assert fault.until < world.agenda.now
        assert any(isinstance(line, Trouble) and "503" in line for line in said)
        assert said[-1] == "provider east: its API works again"


def test_what_each_pool_says_of_a_request_that_waits_is_stored_with_since_when():
    pools = [{"name": name, "labels": [label("small")], "max-servers": most} for name, most in (("a", 2), ("b", 1))]
    with World(site(provider_document("east", *pools))) as world:
        world.start()
        served = world.request("small", "small")
        assert world.run(300, until=lambda: world.state(served) == "fulfilled")
        request = world.request("small", "small")
        assert world.run(60, until=lambda: bool(world.store.own.get(f"waits/{request}")))
        first = world.store.own.get(f"waits/{request}")
        assert first["code"] == "no-room" and first["since"] == first["at"]
        said = [(item["pool"], item["code"]) for item in first["pools"]]
        assert said == [("east/a", "no-room"), ("east/b", "too-large-for-pool")]
        world.run(90)
        world.request("small")
        assert world.run(300, until=lambda: world.store.own.get(f"waits/{request}")["at"] > first["at"])
        assert world.store.own.get(f"waits/{request}")["since"] == first["since"]


def test_limits_usage_and_health_are_stored_with_the_provider():
    def stored(key):
        return (world.store.own.get("providers/east") or {}).get(key)

    with World(one_provider()) as world:
        cycle = world.start()
        request = world.request("small")
        assert world.run(300, until=lambda: world.state(request) == "fulfilled")
        assert world.run(300, until=lambda: stored("reading"))
        assert stored("health") == {"state": "ok"}
        assert set(stored("reading")) == {"at", "limits", "others"} and stored("reading")["at"] <= world.agenda.now
        world.fault("east", until=world.agenda.now + 60)
        world.request("small")
        assert world.run(50, until=lambda: stored("health")["state"] == "trouble")
        assert "503" in stored("health")["text"] and stored("health")["since"] <= world.agenda.now
        assert world.run(300, until=lambda: stored("health") == {"state": "ok"})
        reading = stored("reading")
        cycle.kill()
        world.start()
        assert world.run(60, until=lambda: stored("reading") is not None and not world.store.own.get("drain/east"))
        assert stored("reading")["at"] >= reading["at"]


def test_every_line_of_a_life_names_provider_request_node_and_the_requestors_event():
    with World(one_provider()) as world:
        fates = iter([Fate("ERROR", "libvirt exploded", 1.0)])
        world.clouds["east"].fate = lambda machine: next(fates, Fate())
        cycle = world.start()
        request = world.request("small", event_id="4c1f")
        assert world.run(600, until=lambda: world.state(request) == "fulfilled")
        (node,) = world.take(request)
        assert world.state(request) is None
        world.give_back([node])
        assert world.run(600, until=lambda: not world.nodes())
        told = [line for _when, line in cycle.lines if line.startswith(("node ", "request "))]
        kinds = ("accepted", "launching", "libvirt exploded", "ready after", "fulfilled", "deleting", "gone")
        assert [kind for kind in kinds if not any(kind in line for line in told)] == []
        for line in told:
            named = {key: about(line).get(key) for key in ("provider", "pool", "request", "node", "event_id")}
            wanted = {"provider": "east", "pool": "main", "request": request, "node": node, "event_id": "4c1f"}
            assert named == wanted, line


def test_the_line_of_a_request_that_waits_names_its_event_and_where():
    with World(one_provider(max_servers=1)) as world:
        cycle = world.start()
        first = world.request("small")
        assert world.run(60, until=lambda: world.state(first) == "fulfilled")
        waiting = world.request("small", event_id="5d2e")
        assert world.run(60, until=lambda: any("waits" in line for _when, line in cycle.lines))
        (line,) = [line for _when, line in cycle.lines if line.startswith(f"request {waiting} waits")]
        assert about(line) == {"request": waiting, "event_id": "5d2e", "provider": "east", "pool": "main"}


def test_a_server_that_does_not_answer_is_told_once_before_its_launch_fails():
    with World(one_provider()) as world:
        fates = [Fate(reachable=False)]
        world.clouds["east"].fate = lambda machine: fates.pop() if fates else Fate()
        cycle = world.start()
        request = world.request("small")
        assert world.run(600, until=lambda: world.state(request) == "fulfilled")
        ((when, line),) = [told for told in cycle.lines if "has not answered for" in told[1]]
        # Nobody reads a list meanwhile: the line says how old its news are.
        assert when < world.fulfilled[request] and re.search(r"was ACTIVE \d+ .*s ago, but 198\.51\.0\.", line), line
        assert isinstance(line, Line) and line.about["request"] == request
