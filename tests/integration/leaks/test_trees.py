# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two trees (two chroots of one ZooKeeper) whose nodepool.yaml differ in nothing else, in one project of one cloud."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.leaks import by_hand
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.passes.preview import preview
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import TreeExchanged
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, label, pool, provider
from tests.support.leftovers import TREE, sweep, verdicts

POOL = pool("main", label("small"), auto_floating_ip=True)


@pytest.fixture
def trial(site: Site) -> Iterator[Site]:
    """The same site in another chroot."""
    site.add_cloud("one", private=False)
    site.configure(provider("one", POOL))
    folder = site.folder / "trial"
    folder.mkdir()
    other = Site(folder, site.zookeeper, f"{site.chroot}-trial", site.bank)
    other.clouds.update(site.clouds)
    other.clouds_yaml.write_text(site.clouds_yaml.read_text("utf-8"), encoding="utf-8")
    other.configure(provider("one", POOL))
    yield other
    other.close()


def serve(site: Site) -> tuple[str, str, list[str]]:
    """A node that is in use: its id, that of its server, and the warnings of the cycle."""
    request = site.requestor.ask("small")
    warnings = site.run()["warnings"]
    (node_id,) = site.requestor.accept(request)
    return node_id, str(site.requestor.node(node_id)["external_id"]), warnings


def servers(site: Site) -> set[str]:
    return {server["id"] for server in site.cloud.servers()}


def test_a_tree_sweeps_nothing_of_another_unless_somebody_says_that_it_is_gone(site: Site, trial: Site, leftovers):
    """The same ids of nodes, one of them in use; the second tree is swept without any floor."""
    first, server, said = serve(site)
    assert said == []
    (warning,) = preview(trial.options())["warnings"]
    assert warning.startswith("provider one: 1 server has this provider's name") and server in warning
    second, other, said = serve(trial)
    assert (second, said) == (first, [warning])
    somebody = leftovers()
    lost = somebody.floating_ip(somebody.description("0000099999-1-a"))
    before = somebody.left()
    result = sweep(trial)
    assert verdicts(result) == {server: "foreign", lost: "foreign"}
    tree = somebody.tree
    assert {row["site"] for row in result["things"]} == {tree}
    assert {row["reason"] for row in result["things"]} == {f"belongs to another tree ({tree})"}
    assert verdicts(sweep(trial, adopt_unmarked=0.0)) == {server: "foreign", lost: "foreign"}
    assert verdicts(sweep(trial, adopt_sites=("f" * 32,))) == {server: "foreign", lost: "foreign"}
    assert somebody.left() == before
    # Two sightings as ever; then what this person has declared.
    assert verdicts(sweep(trial, adopt_sites=(tree,), wait=0)) == {server: "waiting", lost: "waiting"}
    assert verdicts(sweep(trial, adopt_sites=(tree,), max_deletions=10)) == {server: "deleted", lost: "deleted"}
    eventually(lambda: servers(site) == {other})
    assert json.dumps(result["things"])


def test_what_names_no_tree_is_taken_over_by_hand(site: Site, leftovers):
    """What a Nodepool left behind; a server that names no node belongs to nobody whom one could ask."""
    site.configure()
    somebody = leftovers()
    held = site.requestor.make_node("hold", external_id="other")
    stock, of_held, no_node = (somebody.server(tree="", **more) for more in ({}, {"node_id": held}, {"node_id": ""}))
    listed = {stock: "foreign", of_held: "foreign", no_node: "foreign"}
    result = sweep(site)
    assert verdicts(result) == listed
    reasons = {row["id"]: row["reason"] for row in result["things"]}
    assert reasons[no_node] == "names this provider, but no node"
    assert reasons[stock] == reasons[of_held] and reasons[stock].startswith("names this provider, but no tree")
    assert verdicts(sweep(site, adopt_unmarked=3600.0)) == {**listed, stock: "young"}
    assert verdicts(sweep(site, adopt_unmarked=0.0)) == {**listed, stock: "deleted"}
    eventually(lambda: servers(site) == {of_held, no_node})


def test_a_tree_that_is_exchanged_between_two_looks_ends_the_sweep(site: Site, leftovers, monkeypatch):
    site.configure()
    ghost = leftovers().server()
    nap = by_hand.SweepByHand._nap

    def exchange(self: by_hand.SweepByHand) -> None:
        site.requestor.put(TREE, {"id": "f" * 32})
        nap(self)

    monkeypatch.setattr(by_hand.SweepByHand, "_nap", exchange)
    with pytest.raises(TreeExchanged, match="nothing was deleted"):
        sweep(site, kinds=("server",))
    assert servers(site) == {ghost}
