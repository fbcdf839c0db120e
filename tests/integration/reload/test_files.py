# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real files are edited while a cycle runs against real HTTP and a real ZooKeeper."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.integration.reload.conftest import Looks
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Cycle, Site, label, pool, provider


def pools(site: Site) -> dict[str, list[str]]:
    """Registered pools and their labels."""
    root = "/nodepool/components/pool"
    documents = [site.requestor.read(f"{root}/{name}") for name in site.requestor.children(root)]
    return {f"{one['provider_name']}/{one['name']}": one["supported_labels"] for one in documents if one}


def taken(site: Site, expected: dict[str, list[str]]) -> None:
    eventually(lambda: pools(site) == expected)


def said(cycle: Cycle, text: str) -> list[str]:
    return [line for line in cycle.lines if text in line]


def two(**more: Any) -> dict[str, Any]:
    return provider("two", pool("main", label("medium")), **more)


def replace(site: Site, *providers: dict[str, Any]) -> None:
    """As configuration management does it: a new file is moved over the old one."""
    old = site.config.read_text("utf-8")
    site.configure(*providers)
    fresh = site.config.with_suffix(".new")
    fresh.write_text(site.config.read_text("utf-8"), "utf-8")
    site.config.write_text(old, "utf-8")
    os.replace(fresh, site.config)


@pytest.mark.parametrize("write", [Site.configure, replace])
@pytest.mark.parametrize("removed", [False, True], ids=["there all the time", "away for a while"])
def test_a_changed_label_is_taken_however_the_file_is_written(site: Site, looks: Looks, write: Any, removed: bool):
    site.configure(provider("one", pool("main", label("small"))))
    with site.stay() as cycle:
        taken(site, {"one/main": ["small"]})
        if removed:
            aside = site.config.rename(site.config.with_suffix(".aside"))
            looks.happen()
            aside.rename(site.config)
        write(site, provider("one", pool("main", label("small"), label("large"))))
        taken(site, {"one/main": ["large", "small"]})
        site.requestor.wait_for(site.requestor.ask("large"))
    result = cycle.end()
    assert result["config_problems"] == []


def test_a_file_that_stays_away_changes_nothing_and_is_named(site: Site):
    site.configure()
    with site.stay() as cycle:
        eventually(cycle.acts)
        site.config.unlink()
        eventually(lambda: said(cycle, "no longer exists"))
        site.requestor.wait_for(site.requestor.ask("small"))
    assert cycle.end()["config_problems"] == [
        f"{site.config}: no longer exists, what was read from it stays in use: restore the file"
    ]


def test_a_broken_file_leaves_the_old_in_force_until_it_is_mended(site: Site, looks: Looks):
    site.configure(provider("one", pool("main", label("small"))))
    with site.stay() as cycle:
        eventually(cycle.acts)
        site.configure(provider("one", pool("main", label("small", flavor_name=7, key_name=8)), rate="often"))
        eventually(lambda: said(cycle, "stays in use"))
        site.requestor.wait_for(site.requestor.ask("small"))
        looks.happen(10)
        assert len(said(cycle, "stays in use")) == 1
        assert len(said(cycle, ".rate")) == 1
        site.configure(provider("one", pool("main", label("small"), label("medium"))))
        taken(site, {"one/main": ["medium", "small"]})
    assert cycle.end()["config_problems"] == []


def test_all_problems_of_a_file_that_stays_broken_are_returned(site: Site):
    site.configure(provider("one", pool("main", label("small"))))
    with site.stay() as cycle:
        eventually(cycle.acts)
        site.configure(provider("one", pool("main", label("small", flavor_name=7)), rate="often"))
        eventually(lambda: said(cycle, "stays in use"))
    problems = cycle.end()["config_problems"]
    assert len(problems) == 2
    assert any("rate" in problem for problem in problems)
    assert any("flavor-name" in problem for problem in problems)


def test_a_half_written_file_is_not_taken(site: Site, looks: Looks):
    """The first half is a valid configuration without the second provider: its nodes must not be given up."""
    site.configure(provider("one"))
    half = site.config.read_text("utf-8")
    site.configure(provider("one"), two())
    whole = site.config.read_text("utf-8")
    with site.stay() as cycle:
        eventually(lambda: len(pools(site)) == 2)
        # Each look finds a little more than the one before.
        writings = [*(half + " " * number for number in range(10)), whole + " "]
        looks.before = lambda: site.config.write_text(writings.pop(0), "utf-8") if writings else None
        eventually(lambda: said(cycle, "read again"))
        assert writings == []
        assert not said(cycle, "no longer in the configuration")
        assert len(pools(site)) == 2


def test_an_added_provider_is_acted_for(site: Site):
    site.configure()
    with site.stay() as cycle:
        eventually(cycle.acts)
        site.configure(provider("one"), provider("two", pool("main", label("special", flavor_name="small"))))
        eventually(lambda: cycle.acts("two"))
        site.requestor.wait_for(site.requestor.ask("special"))
    assert sorted(cycle.end()["acted_for"]) == ["one", "two"]


def test_a_removed_provider_is_drained_by_this_cycle_and_the_next(site: Site):
    site.configure(provider("one"), two(pools=[pool("main", label("small"))]))
    requestor = site.requestor
    with site.stay():
        eventually(lambda: len(pools(site)) == 2)
        idle_request = requestor.ask("small", provider="two")
        requestor.wait_for(idle_request)
        used_request = requestor.ask("small", provider="two")
        requestor.wait_for(used_request)
        (used,) = requestor.accept(used_request)
        (idle,) = requestor.nodes_of(idle_request)
        requestor.cancel(idle_request)
        site.configure(provider("one"))
        eventually(lambda: set(pools(site)) == {"one/main"})
        requestor.wait_gone([idle])
        assert requestor.node(used)["state"] == "in-use"
        assert len(site.clouds["two"].servers()) == 1
        assert requestor.children("/nodepool/stackci/drain") == ["two"]
    with site.stay() as cycle:
        eventually(lambda: cycle.acts("two"))
        assert requestor.node(used)["state"] == "in-use"
        requestor.give_back(used)
        requestor.wait_gone([used])
        eventually(lambda: not site.clouds["two"].servers())
        eventually(lambda: said(cycle, "provider two: nothing is left"))
    assert requestor.children("/nodepool/stackci/drain") == []


def test_a_pool_set_to_zero_and_a_label_that_left_give_up_their_idle_nodes(site: Site):
    site.configure(provider("one", pool("main", label("small"), label("medium")), pool("other", label("large"))))
    requestor = site.requestor
    with site.stay():
        kept = requestor.nodes_of(_idle(site, "small"))
        gone = [*requestor.nodes_of(_idle(site, "medium")), *requestor.nodes_of(_idle(site, "large"))]
        for request in requestor.children("/nodepool/requests"):
            requestor.cancel(request)
        site.configure(provider("one", pool("main", label("small")), pool("other", label("large"), max_servers=0)))
        requestor.wait_gone(gone)
        assert requestor.node(kept[0])["state"] == "ready"
        eventually(lambda: requestor.state(requestor.ask("large")) is not None)
        eventually(lambda: requestor.state(requestor.children("/nodepool/requests")[0]) == "failed")


def _idle(site: Site, name: str) -> str:
    request = site.requestor.ask(name)
    site.requestor.wait_for(request)
    return request
