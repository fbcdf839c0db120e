# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodepool's driver kubernetes beside our launcher, on a simulated cluster."""

from __future__ import annotations

import json

from tests.interop.beside import (
    OURS,
    PATIENCE,
    all_at_work,
    both,
    configure,
    judge,
    provider_of,
    registered,
    wait_for_all,
)
from tests.interop.kubernetes import KubernetesApi, cluster_provider
from tests.interop.lab import Lab, World, row
from tests.support.fixtures_zookeeper import eventually

NEVER = 1e9


@row("beside-kubernetes", "Nodepool's launcher makes namespaces and pods of a simulated cluster, ours servers")
def beside_kubernetes(lab: Lab) -> str:
    """Each request is served by who can; a kill loses nothing of ours; tokens of the cluster are shown to nobody."""
    world = lab.world()
    api = lab.stack.enter_context(KubernetesApi(world.site.folder))
    api.write_kubeconfig(world.site.folder)
    stock = configure(world, cluster_provider())
    requestor, cluster = world.site.requestor, api.cluster
    with both(world, stock) as (_ours, theirs):
        all_at_work(world, *OURS, "cluster")
        kinds = (("namespace",), ("pod",), ("pod", "namespace"), ("small",), ("both", "small"))
        asked = {" ".join(labels): requestor.ask(*labels) for labels in kinds}
        nobody = requestor.ask("pod", "small")
        wait_for_all(world, asked)
        requestor.wait_for(nobody, "failed", PATIENCE)
        where = {name: provider_of(world, request) for name, request in asked.items()}
        theirs_too = {name: {"cluster"} for name in ("namespace", "pod", "pod namespace")}
        assert where == {**theirs_too, "small": {"one"}, "both small": {"one"}}, where
        used = [node for one in asked.values() for node in requestor.accept(one)]
        _judge_shown(world, cluster.tokens)
        # It is killed while one node of a set is ready and the other one is being made.
        cluster.run_after = NEVER
        again = requestor.ask("namespace", "pod")
        ready = str(eventually(lambda: _ready(world, again), PATIENCE))
        theirs.kill()
        ours = requestor.ask("medium")
        requestor.wait_for(ours, "fulfilled", PATIENCE)
        eventually(lambda: not registered(world, "cluster"), PATIENCE)
        # The launcher does the same by itself ten minutes later.
        world.site.module("leak_cleanup", clouds_config=str(world.site.clouds_yaml), min_age=0, wait=1)
        freed = requestor.node(ready)
        assert (requestor.state(again), freed["allocated_to"]) == ("requested", None), freed
        access = freed["connection_port"]
        assert isinstance(access, dict) and access["token"] in cluster.tokens, (
            "the access to the namespace is overwritten"
        )
        cluster.run_after = 0.0
        theirs.start()
        requestor.wait_for(again, "fulfilled", PATIENCE)
        used += [*requestor.accept(ours), *requestor.accept(again)]
        requestor.give_back(*used)
        requestor.wait_gone(used, PATIENCE)
        eventually(lambda: not cluster.namespaces(), PATIENCE)
        eventually(lambda: world.site.cloud.servers() == [], PATIENCE)
    judge(world, nobody)
    return f"{len(asked) + 2} requests served through a kill; {len(cluster.tokens)} tokens, none of them shown by ours"


def _ready(world: World, request: str) -> str | None:
    """The ready node of a request."""
    nodes = world.site.requestor.nodes().items()
    return next((name for name, one in nodes if (one["allocated_to"], one["state"]) == (request, "ready")), None)


def _judge_shown(world: World, tokens: set[str]) -> None:
    """Our views show these nodes, and no token: Nodepool keeps it where others have the port."""
    rows = world.show("node_info", detail=True)["nodes"]
    own = [one for one in rows if one["provider"] == "cluster"]
    assert {name for one in own for name in one["labels"]} == {"namespace", "pod"}, rows
    wrong = [one for one in own if one["problems"] or one["port"] is not None]
    assert not wrong, wrong
    stored = json.dumps(list(world.site.requestor.nodes().values()))
    assert tokens and all(token in stored for token in tokens), "the records have no tokens"
    shown = json.dumps([rows, world.show("usage_info"), world.show("request_info")])
    leaked = [token for token in tokens if token in shown]
    assert not leaked, f"{len(leaked)} tokens are shown"
