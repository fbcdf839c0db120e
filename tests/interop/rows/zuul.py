# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Zuul 14.3.0's own client as the requestor of our launcher."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.interop.lab import ZUUL, Lab, World, row
from tests.interop.zuul_client import ZuulClient
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import label, pool, provider

SMALL = ("small",)


@contextmanager
def at_work(lab: Lab, **options: Any) -> Iterator[tuple[World, ZuulClient]]:
    """Our launcher acts for one pool, Zuul is connected."""
    world = lab.world()
    main = pool("main", label("small"), label("medium"), node_attributes={"executor-zone": "west"}, **options)
    world.site.configure(provider("one", main))
    with world.site.stay() as cycle, ZuulClient(lab, world) as zuul:
        eventually(cycle.acts, 120)
        yield world, zuul


def served(zuul: ZuulClient, *labels: str) -> tuple[str, list[str]]:
    """A request that is served and accepted; its nodes."""
    request = zuul.do("ask", labels=list(labels or SMALL))
    zuul.wait(request)
    return request, zuul.do("accept", request=request)


@row("zuul-life", "request of two nodes, fulfilled event, nodeset info, accept, in use, return", ZUUL)
def zuul_life(lab: Lab) -> str:
    """One job."""
    with at_work(lab) as (world, zuul):
        assert zuul.do("labels") == ["medium", "small"]
        request = zuul.do("ask", labels=["small", "medium"])
        zuul.wait(request)
        info = zuul.do("info", request=request)
        assert (info["provider"], info["zone"], len(info["nodes"])) == ("one", "west", 2), info
        nodes = zuul.do("accept", request=request)
        assert nodes == info["nodes"]
        seen = zuul.do("seen", request=request)
        assert [one["label"] for one in seen] == ["small", "medium"], seen
        assert all(one["interface_ip"] and one["username"] == "zuul" and one["az"] for one in seen), seen
        assert {one["state"] for one in world.site.requestor.nodes().values()} == {"in-use"}
        eventually(lambda: zuul.do("mine") == nodes, 60)
        assert world.site.requestor.request(request) is None
        zuul.do("give_back", request=request)
        world.site.requestor.wait_gone(nodes, 120)
    assert world.site.cloud.servers() == []
    return "served, told, locked, used, returned; servers are gone"


@row("zuul-hold", "autohold: held and unlocked; autohold-delete, and an expired hold", ZUUL)
def zuul_hold(lab: Lab) -> str:
    """Two failed jobs."""
    with at_work(lab) as (world, zuul):
        first, (kept,) = served(zuul)
        hold = zuul.do("hold", request=first)
        second, (short,) = served(zuul)
        zuul.do("hold", request=second, expiration=1)
        world.site.requestor.wait_gone([short], 120)
        document = world.site.requestor.node(kept)
        assert (document["state"], document["comment"]) == ("hold", "to look at"), document
        assert document["hold_job"] == "tenant-one example.org/project tox .*", document
        assert not world.site.requestor.is_locked(kept)
        assert [server["name"] for server in world.site.cloud.servers()] == [f"np{kept}"]
        zuul.do("end_hold", ident=hold)
        world.site.requestor.wait_gone([kept], 120)
    return "the one that expired was deleted by the launcher, the other one after autohold-delete"


@row("zuul-priority", "relative_priority is revised while the request waits, and the launcher heeds it", ZUUL)
def zuul_priority(lab: Lab) -> str:
    """Two requests wait for one place."""
    with at_work(lab, max_servers=1) as (world, zuul):
        first, _nodes = served(zuul)
        early = zuul.do("ask", labels=["small"], relative_priority=1)
        late = zuul.do("ask", labels=["small"], relative_priority=2)
        for request in (early, late):
            eventually(lambda request=request: zuul.do("state", request=request) == "requested", 60)  # type: ignore[misc]
        assert zuul.do("revise", request=late, relative_priority=0) == 0
        zuul.do("give_back", request=first)
        zuul.wait(late)
        assert zuul.do("state", request=early) == "requested"
        zuul.do("accept", request=late)
        zuul.do("give_back", request=late)
        zuul.wait(early)
        zuul.do("cancel", request=early)
        eventually(lambda: world.site.requestor.request(early) is None, 60)
    return "the later request with the lower relative_priority was served first"


@row("zuul-cancel", "cancel of a waiting request, of one whose node boots, and of a fulfilled one", ZUUL)
def zuul_cancel(lab: Lab) -> str:
    """Three cancelled requests."""
    with at_work(lab, max_servers=1) as (world, zuul):
        world.site.cloud.settings(boot=3.0)
        booting = zuul.do("ask", labels=["small"])
        eventually(world.site.cloud.servers, 120)
        waiting = zuul.do("ask", labels=["small"])
        zuul.do("cancel", request=waiting)
        zuul.do("cancel", request=booting)
        fulfilled = zuul.do("ask", labels=["small"])
        zuul.wait(fulfilled)
        (node,) = zuul.do("info", request=fulfilled)["nodes"]
        zuul.do("cancel", request=fulfilled)
        eventually(lambda: world.site.requestor.node(node)["allocated_to"] is None, 120)
        request, again = served(zuul)
        assert again == [node], "the free node was not given to the next request"
        zuul.do("give_back", request=request)
        world.site.requestor.wait_gone(again, 120)
        assert world.site.requestor.children("/nodepool/requests") == []
    assert world.site.cloud.servers() == []
    return "nothing is left; the node of the fulfilled one served the next request"


@row("zuul-failed", "a label that no pool offers: Zuul is told that the request has failed", ZUUL)
def zuul_failed(lab: Lab) -> str:
    """An impossible request."""
    with at_work(lab) as (world, zuul):
        request = zuul.do("ask", labels=["no-such-label"])
        zuul.wait(request, "failed")
        zuul.do("cancel", request=request)
        eventually(lambda: world.site.requestor.request(request) is None, 60)
    return "failed, told, deleted"


@row("zuul-disconnect", "Zuul dies with a node in use and a request on its way; another scheduler takes over", ZUUL)
def zuul_disconnect(lab: Lab) -> str:
    """kill -9."""
    with at_work(lab) as (world, zuul):
        _request, (used,) = served(zuul)
        world.site.cloud.settings(boot=3.0)
        open_request = zuul.do("ask", labels=["small"])
        zuul.kill()
        world.site.requestor.wait_gone([used], 180)
        with ZuulClient(lab, world, zuul.system_id) as other:
            other.wait(open_request)
            other.do("cancel", request=open_request)
            eventually(lambda: world.site.requestor.request(open_request) is None, 60)
    return "the node in use was taken back when the session had ended; the other scheduler was told of the request"
