# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Export and import of image data; STOCK is what the ``nodepool`` command of Nodepool 11.0.0 wrote of the same tree."""

from __future__ import annotations

import json
import stat

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients import text_file
from ansible_collections.stackci.nodepool.plugins.modules import image_data
from tests.support.ansible_run import run_module
from tests.support.documented import differences
from tests.support.populated_site import PopulatedSite
from tests.support.populated_tree import BUILD, UPLOAD

BUILDS = "/nodepool/images/debian/builds"
STOCK = (
    '{"/nodepool/images/debian/pause": "", "/nodepool/images/debian/builds/62ee55d4b3414869b6b292a38d9f6cf0":'
    ' "{\\"state\\": \\"ready\\", \\"state_time\\": 1795376925.4028375, \\"builder\\": \\"builder1\\",'
    ' \\"builder_id\\": \\"b-1\\", \\"formats\\": \\"qcow2,raw\\"}", "/nodepool/images/debian/builds/'
    '62ee55d4b3414869b6b292a38d9f6cf0/providers/west/images/0000000001":'
    ' "{\\"state\\": \\"ready\\", \\"state_time\\": 1795377025.4028375,'
    ' \\"external_id\\": \\"i-1\\", \\"external_name\\": \\"debian-1\\"}"}'
)


@pytest.fixture
def site(tmp_path, zk_chroot, zk_client):
    return PopulatedSite(tmp_path, zk_chroot, zk_client)


@pytest.fixture
def file(site):
    path = site.folder / "images.json"
    site.given = {"path": str(path)}
    return path


def shown(result):
    return {name: value for name, value in result.items() if name not in ("failed", "invocation", "warnings")}


def test_what_nodepool_exported_is_imported_and_exported_again(site, file):
    file.write_text(STOCK)
    planned = site.run("image_data", check=True, diff=True, state="imported", **site.given)
    assert planned["changed"] and planned["diff"]["before"] == "" and UPLOAD in planned["diff"]["after"]
    assert site.tree() == {}
    done = site.run("image_data", run_module, state="imported", **site.given)
    assert (done["failed"], done["changed"]) == (False, True)
    assert differences(image_data.RETURN, shown(done), check=False) == []
    assert done["counts"] == {"images": 1, "builds": 1, "uploads": 1, "paused": 1}
    assert {path: site.client.get(path)[0].decode() for path in json.loads(STOCK)} == json.loads(STOCK)
    assert site.run("image_data", state="imported", **site.given)["changed"] is False
    # the next upload gets a higher number
    assert int(site.client.create(f"{UPLOAD[:-10]}", b"{}", sequence=True)[-10:]) > 1
    assert not site.client.exists(f"{UPLOAD[:-10]}counting")
    again = site.folder / "again.json"
    site.client.delete(f"{UPLOAD[:-10]}{max(site.client.get_children(UPLOAD[:-11]))}")
    assert site.run("image_data", run_module, state="exported", path=str(again))["changed"]
    assert json.loads(again.read_text()) == json.loads(STOCK)


def test_a_large_export_is_imported(site, file):
    assert len(STOCK) < text_file.LARGEST_FILE
    file.write_text(STOCK + " " * text_file.LARGEST_FILE)
    assert site.run("image_data", state="imported", **site.given)["changed"]


def test_an_export_is_private_whole_and_made_once(site, file):
    site.fill()
    site.put(f"{BUILDS}/{'b' * 32}", b"{ not json")
    site.put("/nodepool/images/debian/builds/lock/x__lock__0000000000", b"")
    before = site.tree()
    assert site.run("image_data", check=True, state="exported", **site.given)["changed"] and not file.exists()
    done = site.run("image_data", diff=True, state="exported", **site.given)
    assert done["left_out"] == [f"{BUILDS}/{'b' * 32} is skipped: it is not JSON"] and done["warnings"]
    assert done["diff"]["before"] == "" and BUILD in done["diff"]["after"]
    assert sorted(json.loads(file.read_text())) == sorted(json.loads(STOCK))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert site.run("image_data", state="exported", **site.given)["changed"] is False
    file.chmod(0o644)
    assert site.run("image_data", state="exported", **site.given)["changed"] is True
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert site.tree() == before


def test_an_empty_tree_does_not_replace_a_good_export(site, file):
    file.write_text(STOCK)
    refused = site.run("image_data", state="exported", **site.given)
    assert refused["failed"] and "ZooKeeper has no image" in refused["msg"]
    assert file.read_text() == STOCK
    assert site.run("image_data", state="exported", force=True, **site.given)["changed"]
    assert file.read_text() == "{}"


def test_an_import_does_not_disturb_builders_and_other_records(site, file):
    site.fill()
    mine = f"{BUILDS}/{'c' * 32}"
    file.write_text(STOCK)
    refused = site.run("image_data", state="imported", **site.given)  # the times differ
    assert refused["failed"] and "has records that" in refused["msg"] and f"{BUILDS}/{BUILD}" in refused["msg"]
    site.run("image_data", state="exported", **site.given)
    site.put(mine, b'{"state": "ready"}')
    assert not site.run("image_data", state="imported", **site.given)["changed"], "all of it is there already"
    site.client.delete("/nodepool/images/debian/pause")
    refused = site.run("image_data", check=True, state="imported", **site.given)
    assert refused["failed"] and mine in refused["msg"]
    site.put("/nodepool/components/builder/host0000000009", b"{}")
    refused = site.run("image_data", state="imported", **site.given)
    assert "a builder is running: host0000000009. Stop all builders first" in refused["msg"]
    assert not site.client.exists("/nodepool/images/debian/pause")
    file.write_text(STOCK)
    assert site.run("image_data", state="imported", force=True, **site.given)["changed"]
    assert site.client.get(UPLOAD)[0].decode() == json.loads(STOCK)[UPLOAD]
    assert site.client.exists(mine) and site.client.exists("/nodepool/images/debian/pause")


def test_a_file_that_cannot_be_used_is_told_in_a_sentence(site, file):
    for content, problem in ((STOCK + "}", "is not JSON"), ('{"/zuul": "x"}', "'/zuul' is not the path of a build")):
        file.write_text(content)
        refused = site.run("image_data", state="imported", force=True, **site.given)
        assert refused["failed"] and problem in refused["msg"] and "exception" not in refused
    assert site.tree() == {}
    file.unlink()
    assert "does not exist" in site.run("image_data", state="imported", **site.given)["msg"]
    where = str(site.folder / "none" / "x.json")
    assert "cannot be written" in site.run("image_data", state="exported", path=where)["msg"]


FOR_ZUUL = {"form": "zuul", "zuul_project": "opendev.org/org/config", "zuul_tenant": "org"}


def test_the_uploads_are_exported_for_zuul_and_a_good_export_is_kept(site, file):
    site.fill()
    assert site.run("image_data", check=True, state="exported", **FOR_ZUUL, **site.given)["changed"]
    assert not file.exists()
    done = site.run("image_data", run_module, diff=True, state="exported", **FOR_ZUUL, **site.given)
    assert differences(image_data.RETURN, shown(done), check=False) == []
    assert done["counts"] == {"images": 1, "builds": 1, "uploads": 1, "paused": 0}
    document = json.loads(file.read_text())
    assert [(one["build_uuid"], one["format"]) for one in document["artifacts"]] == [(BUILD, "qcow2")]
    assert [one["external_id"] for one in document["uploads"]] == ["i-1"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert site.run("image_data", state="exported", **FOR_ZUUL, **site.given)["changed"] is False
    site.run("dib_image", image="debian", build_id=BUILD, state="revoked", reason="no python")
    refused = site.run("image_data", state="exported", **FOR_ZUUL, **site.given)
    assert refused["failed"] and "no upload is ready for Zuul" in refused["msg"]
    emptied = site.run("image_data", check=True, state="exported", force=True, **FOR_ZUUL, **site.given)
    (text,) = emptied["left_out"]
    assert "revoked by hand: no python. If Zuul has it already, delete the upload in Zuul, too" in text
    site.client.delete(UPLOAD)
    refused = site.run("image_data", state="exported", **FOR_ZUUL, **site.given)
    assert refused["failed"] and "no upload is ready for Zuul" in refused["msg"]
    assert json.loads(file.read_text()) == document
    assert site.run("image_data", state="exported", force=True, **FOR_ZUUL, **site.given)["changed"]


def test_options_for_zuul_that_cannot_be_used_are_told_together(site, file):
    given = {**FOR_ZUUL, "zuul_project": "config", "zuul_tenant": ""}
    refused = site.run("image_data", state="imported", **given, **site.given)
    assert refused["failed"] and not file.exists()
    for part in ("form=zuul is for state=exported", "zuul_tenant is missing", "host name and project"):
        assert part in refused["msg"]
