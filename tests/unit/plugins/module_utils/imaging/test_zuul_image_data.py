# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.zuul_image_data import (
    read_zuul_image_data,
    zuul_counts,
    zuul_image_data,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.build_verdict import (
    HAND,
    REVOKED,
    BuildVerdict,
    FallBack,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError
from ansible_collections.stackci.nodepool.plugins.module_utils.model.zuul.zuul_names import ZuulProject
from tests.support.config_texts import parse

OLD, NEW = "a" * 32, "b" * 32
PROJECT = ZuulProject("opendev.org/org/config", "org", "main")
CONFIG = """
zookeeper-servers: [{host: localhost}]
labels: [{name: small}]
diskimages: [{name: debian-12}]
providers:
  - name: west
    cloud: cloud
    region-name: RegionOne
    diskimages: [{name: debian-12}]
    pools: [{name: main, labels: [{name: small, diskimage: debian-12, min-ram: 1}]}]
  - name: east
    cloud: other
    diskimages: [{name: debian-12}]
    pools:
      - {name: a, labels: [{name: small, diskimage: debian-12, min-ram: 1}]}
      - {name: b, labels: [{name: small, diskimage: debian-12, min-ram: 1}]}
  - {name: bare, cloud: third}
"""


@pytest.fixture
def config():
    return parse(CONFIG)


def build(ident, state_time=100.0, formats="qcow2,raw"):
    document = {"state": "ready", "state_time": state_time, "builder": "b", "formats": formats}
    return {f"/nodepool/images/debian-12/builds/{ident}": json.dumps(document)}


def upload(ident, provider="west", number=1, **more):
    document = {"state": "ready", "state_time": 200.0, "external_id": f"{provider}-{number}", "format": "qcow2", **more}
    where = f"/nodepool/images/debian-12/builds/{ident}/providers/{provider}/images/{number:010d}"
    return {where: json.dumps(document)}


def test_uploads_are_not_given_to_the_provider_of_another_cloud_that_has_the_same_name_in_zuul():
    clash = parse(CONFIG.replace("name: west\n", "name: east-a\n"))
    with pytest.raises(ConfigError, match="the provider east-a of Zuul: rename one of the pools"):
        zuul_image_data({**build(OLD), **upload(OLD)}, clash, PROJECT)


def test_every_ready_upload_is_there_with_the_keys_that_zuul_reads(config):
    data = build(NEW) | upload(NEW) | upload(NEW, "east", format="raw") | {"/nodepool/images/debian-12/pause": ""}
    document, left_out = zuul_image_data(data, config, PROJECT)
    assert left_out == []
    east, west = document["uploads"]
    raw, qcow2 = document["artifacts"]
    assert (qcow2["format"], raw["format"]) == ("qcow2", "raw")
    assert west["artifact_uuid"] == qcow2["uuid"] and east["artifact_uuid"] == raw["uuid"]
    assert west["canonical_name"] == qcow2["canonical_name"] == "opendev.org%2Forg%2Fconfig/debian-12"
    assert west["endpoint_name"] == "cloud/cloud-RegionOne" and east["endpoint_name"] == "other/other-None"
    assert west["providers"] == ["opendev.org%2Forg%2Fconfig/west"]
    assert east["providers"] == ["opendev.org%2Forg%2Fconfig/east-a", "opendev.org%2Forg%2Fconfig/east-b"]
    assert (west["external_id"], west["_state"], west["validated"]) == ("west-1", "ready", True)
    assert qcow2["build_uuid"] == NEW and qcow2["url"] is None
    assert zuul_counts(document) == {"images": 1, "builds": 1, "uploads": 2, "paused": 0}


def test_an_upload_of_an_older_build_is_older_whenever_it_was_uploaded(config):
    data = build(OLD, 100.0) | build(NEW, 150.0) | upload(OLD, state_time=400.0) | upload(NEW, state_time=200.0)
    document, _left_out = zuul_image_data(data, config, PROJECT)
    newest = max(document["uploads"], key=lambda one: one["timestamp"])
    artifacts = {one["uuid"]: one["build_uuid"] for one in document["artifacts"]}
    assert artifacts[newest["artifact_uuid"]] == NEW


def test_ids_are_the_same_every_time_and_differ_between_uploads(config):
    data = build(NEW) | upload(NEW) | upload(NEW, number=2) | upload(NEW, "east")
    first, again = (zuul_image_data(data, config, PROJECT)[0] for _unused in range(2))
    assert first == again
    idents = [one["uuid"] for part in first.values() for one in part]
    assert len(set(idents)) == len(idents) == 4 and all(len(ident) == 32 for ident in idents)


def test_what_zuul_could_not_launch_from_is_left_out(config):
    unready = build(NEW) | upload(NEW, state="deleting") | upload(NEW, number=2, state="uploading")
    assert zuul_image_data(unready, config, PROJECT) == ({"artifacts": [], "uploads": []}, [])
    odd = build(NEW) | upload(NEW, external_id=None) | upload(NEW, "gone") | upload(NEW, "bare")
    document, left_out = zuul_image_data(odd, config, PROJECT)
    assert document["uploads"] == []
    assert [text.split(" is skipped: ")[1] for text in left_out] == [
        "its provider has no pool, so that Zuul gets no provider for it",
        "nodepool.yaml has no such provider of the driver openstack",
        "it has no external_id",
    ]


def test_zuul_gets_no_build_that_this_collection_does_not_use(config):
    data = build(OLD) | build(NEW, 150.0)
    for ident in (OLD, NEW):
        data |= upload(ident) | upload(ident, "east")
    verdicts = {
        "debian-12": {
            OLD: BuildVerdict(fallen_back={"east": FallBack("launches fail")}),
            NEW: BuildVerdict().given(REVOKED, "no network", HAND, 300.0, 400.0),
        }
    }
    document, left_out = zuul_image_data(data, config, PROJECT, verdicts, now=350.0)
    assert [one["external_id"] for one in document["uploads"]] == ["west-1", "east-1", "west-1"]
    (told,) = left_out
    assert f"{OLD}/providers/east" in told and "not used at east by decision of the launcher: launches fail" in told
    document, left_out = zuul_image_data(data, config, PROJECT, verdicts, now=400.0)
    assert [one["external_id"] for one in document["uploads"]] == ["west-1"]
    assert len(left_out) == 3 and all("revoked by hand: no network" in text for text in left_out[1:])
    assert all("delete the upload in Zuul, too" in text for text in left_out)


def test_records_of_old_builders_have_no_format_and_no_time(config):
    data = build(NEW, state_time=None, formats="raw") | upload(NEW, format=None)
    (artifact,), (one,) = zuul_image_data(data, config, PROJECT)[0].values()
    assert artifact["format"] == "raw" and one["timestamp"] == 200.0


def test_a_file_of_another_form_is_not_taken_for_zuuls():
    for text in ("{", "[]", '{"/nodepool/images": "x"}', '{"artifacts": [], "uploads": {}}', "[" * 100000):
        assert read_zuul_image_data(text) is None
    assert read_zuul_image_data('{"artifacts": [], "uploads": [{}]}') == {"artifacts": [], "uploads": [{}]}
