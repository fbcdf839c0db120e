# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wishes that cannot be fulfilled are told before anything is asked for."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.leases.run import LeaseTurn, run_lease
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.leases.wish_check import capped, refuse_unknown
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import UnknownName
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lease import LeaseOptionError, LeaseSpec
from tests.support.config_texts import ZOOKEEPER, parse

LABELS = "labels: [{name: debian-small}, {name: debian-large}, {name: rocky}]\n"


def store(*offered, leases=()):
    """A tree with one pool and some leases."""
    pools = [SimpleNamespace(supported_labels=list(offered))] if offered else []
    documents = {f"leases/{name}": {"name": name} for name in leases}
    return SimpleNamespace(components=SimpleNamespace(pools=lambda: pools), own=SimpleNamespace(get=documents.get))


def refusal(label, *, text=LABELS, tree=None):
    with pytest.raises(UnknownName) as caught:
        refuse_unknown(LeaseSpec("x", (label, "rocky", label)), parse(ZOOKEEPER + text), tree or store())
    return str(caught.value)


@pytest.mark.parametrize(
    ("most", "expires", "lasts"), [(60, 7200, 60), (7200, 7200, 7200), (0, 7200, 7200), (-1, 7200, 7200), (60, 30, 30)]
)
def test_a_lease_lasts_no_longer_than_any_held_node(most, expires, lasts):
    spec, told = capped(LeaseSpec("x", ("a",), expires=expires), parse(f"{ZOOKEEPER}max-hold-age: {most}\n"))
    assert spec.expires == lasts
    assert list(told) == (
        []
        if lasts == expires
        else ["lease x: expires is 7200 s, but max-hold-age of nodepool.yaml releases a node after 60 s: it lasts 60 s"]
    )


def test_an_unknown_label_is_refused_with_the_names_that_are_near():
    assert refusal("debain-small") == (
        "label 'debain-small' is neither in nodepool.yaml nor offered by a launcher of this ZooKeeper tree; "
        "did you mean debian-small?"
    )
    assert "did you mean debian-small or debian-large?" in refusal("debian-smal")
    assert "did you mean windows-10?" in refusal("windows10", tree=store("windows-10"))
    assert "there are debian-large, debian-small, rocky" in refusal("xyzzy")
    many = "labels: [" + ", ".join(f"{{name: l{number:02}}}" for number in range(12)) + ", {name: rocky}]\n"
    assert refusal("xyzzy", text=many).endswith("l08, l09 and 3 more")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        (LABELS, store("elsewhere")),
        ("", store()),
        ("", store("other")),
        (LABELS, store(leases=["x"])),
    ],
)
def test_what_somebody_else_may_have_is_waited_for(text, tree):
    """A launcher with another file offers it; nobody knows; the lease is there and goes on."""
    refuse_unknown(LeaseSpec("x", ("elsewhere",)), parse(ZOOKEEPER + text), tree)


@pytest.mark.parametrize("preview", [False, True])
def test_a_lease_of_no_node_is_refused(preview):
    """As of a variable that is empty: such a lease would be complete at once, and the playbook would go on."""
    with pytest.raises(LeaseOptionError, match="labels is empty: name the label of each node"):
        run_lease(LeaseTurn(config="nowhere.yaml", spec=LeaseSpec("x")), preview=preview)
