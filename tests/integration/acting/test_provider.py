# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The provider module, with records in a real ZooKeeper."""

from __future__ import annotations

import json

import pytest

from ansible_collections.stackci.nodepool.plugins.modules import provider
from tests.support.ansible_run import run_module
from tests.support.documented import differences
from tests.support.populated_site import PopulatedSite
from tests.support.populated_tree import BUILD, EAST, WEST

BUILDS = f"/nodepool/images/debian/builds/{BUILD}"


@pytest.fixture
def site(tmp_path, zk_chroot, zk_client):
    site = PopulatedSite(tmp_path, zk_chroot, zk_client)
    site.fill()
    return site


def documented(result):
    shown = {name: value for name, value in result.items() if name not in ("failed", "invocation", "warnings")}
    return differences(provider.RETURN, shown, check=False)


def of(name, tree):
    """The paths that tell of a provider by their names or documents; requests are their requestors'."""

    def tells(data):
        try:
            document = json.loads(data)
        except ValueError:
            return False
        return isinstance(document, dict) and name in (document.get("provider"), document.get("provider_name"))

    found = (path for path, data in tree.items() if f"/{name}" in path or tells(data))
    return sorted(path for path in found if not path.startswith("/nodepool/requests/"))


def test_what_is_alive_is_not_erased(site):
    before = site.tree()
    refused = site.run("provider", name="west")
    assert refused["failed"] and not refused["changed"] and refused["erased"] == []
    assert "still in nodepool.yaml" in refused["msg"] and "nodes 0000000001 (ready), 0000000002" in refused["msg"]
    left = refused["left"]
    assert (left["configuration"], left["launchers"], left["deletions"]) == (["nodepool.yaml"], ["launcher1"], ["s-9"])
    assert (left["uploads"], left["launches"]) == ([f"debian {BUILD}/0000000001 (ready)"], [])
    assert [refused["configured"][key] for key in ("pools", "diskimages")] == [["main"], ["debian"]]
    assert site.run("provider", name="east", check=True)["failed"], "a node of it is held"
    assert site.tree() == before


def test_by_force_all_of_it_goes_and_nothing_else(site):
    site.put(f"{BUILDS}/providers/east/images/0000000001", b'{"state": "ready", "external_id": "x"}')
    before = site.tree()
    planned = site.run("provider", name="west", force=True, check=True, diff=True)
    assert planned["changed"] and "/nodepool/nodes/0000000001\n" in planned["diff"]["before"]
    assert planned["diff"]["after"] == "" and site.tree() == before
    done = site.run("provider", run_module, name="west", force=True)
    assert (done["failed"], done["changed"]) == (False, True) and documented(done) == []
    assert sum("is erased despite this" in str(warning) for warning in done["warnings"]) == 5
    after = site.tree()
    left = of("west", after)
    assert left == ["/nodepool/components/pool/launcher10000000001"], "only its launcher can remove that"
    assert f"/nodepool/stackci/freezes/{WEST}" not in after and f"/nodepool/stackci/pools/{EAST}" in after
    assert of("east", after) == of("east", before)
    gone = before.keys() - after.keys()
    assert all(any(path == erased or path.startswith(f"{erased}/") for erased in done["erased"]) for path in gone)
    assert not site.run("provider", name="west", force=True)["changed"]


def test_leftovers_of_a_provider_that_is_gone_need_no_force(site):
    site.document["providers"] = []
    site.document["labels"] = []
    site.put(f"{BUILDS}/providers/south/images/0000000001", b'{"state": "failed"}')
    site.put("/nodepool/stackci/breakers/south", b"{}")
    done = site.run("provider", name="south")
    assert done["changed"] and not any(done["left"].values()) and done["configured"] is None
    assert sorted(done["erased"]) == [f"{BUILDS}/providers/south", "/nodepool/stackci/breakers/south"]
    assert of("south", site.tree()) == []
    before = site.tree()
    assert site.run("provider", name="south")["changed"] is False
    assert site.tree() == before


def test_a_mistyped_provider_is_told_with_the_nearest_name(site):
    done = site.run("provider", name="wset")
    assert (done["failed"], done["changed"]) == (False, False)
    assert "has a provider 'wset': nothing is erased; did you mean west?" in str(done["warnings"])
