# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images that no record knows, in a simulated cloud."""

from __future__ import annotations

import time
import uuid

from ansible_collections.stackci.nodepool.plugins.modules import alien_image_info
from tests.support.ansible_run import run_module
from tests.support.documented import differences
from tests.support.launcher_case import Site, provider
from tests.support.leftovers import Leftovers


def aliens(site: Site, **options):
    given = {"config": str(site.config), "clouds_config": str(site.clouds_yaml), **options}
    return run_module("alien_image_info", given, site.folder).result


def test_what_no_record_knows_is_listed_and_stays(site: Site, leftovers):
    site.configure(provider("one"), provider("two"))
    somebody: Leftovers = leftovers()
    known, deleting = somebody.image("one", "a" * 32), somebody.image("one", "a" * 32, upload="0000000002")
    lost, foreign = somebody.image("one", "c" * 32), somebody.image("other", "d" * 32)
    snapshot = somebody.image("one", "c" * 32, instance_uuid=str(uuid.uuid4()))
    root = f"/nodepool/images/debian/builds/{'a' * 32}"
    site.requestor.put(root, {"state": "ready", "state_time": time.time()})
    for number, state, external_id in (("0000000001", "ready", known), ("0000000002", "deleting", deleting)):
        upload = {"state": state, "state_time": time.time(), "external_id": external_id}
        site.requestor.put(f"{root}/providers/one/images/{number}", upload)
    site.requestor.put("/nodepool/stackci/site", {"id": somebody.tree})
    before, tree = somebody.left(), site.requestor.tree()
    for cloud in site.clouds.values():
        cloud.clear_calls()
    result = aliens(site)
    assert (result["failed"], result["changed"], result["left_out"]) == (False, False, {})
    shown = {name: value for name, value in result.items() if name not in ("failed", "invocation", "warnings")}
    assert differences(alien_image_info.RETURN, shown, check=False) == []
    rows = {row["image_id"]: row for row in result["images"]}
    assert rows.keys() == {lost, foreign, snapshot}
    assert {(row["provider"], row["this_tree"]) for row in rows.values()} == {("one", True)}
    assert [rows[ident]["snapshot"] for ident in (lost, snapshot)] == [False, True]
    assert (rows[lost]["build_id"], rows[lost]["uploaded_for"]) == ("c" * 32, "one")
    assert rows[foreign]["uploaded_for"] == "other"
    assert all(row["name"].startswith("leftover-") for row in rows.values())
    for cloud in site.clouds.values():
        assert len([call for call in cloud.calls() if "/images" in call["path"]]) == 1
    assert somebody.left() == before and site.requestor.tree() == tree


def test_a_provider_that_cannot_be_asked_is_left_out(site: Site, leftovers):
    site.configure(provider("one"), provider("two"))
    lost = leftovers().image("one", "c" * 32)
    site.clouds["two"].fault("GET /images", "status", status=503)
    result = aliens(site)
    assert [row["image_id"] for row in result["images"]] == [lost]
    assert list(result["left_out"]) == ["two"] and "two" in str(result["warnings"])
    assert aliens(site, providers=["one"])["left_out"] == {}
    assert "'three' is not a provider in" in aliens(site, providers=["three"])["msg"]
