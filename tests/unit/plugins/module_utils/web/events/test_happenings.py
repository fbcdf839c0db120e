# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is worth an event, and that each is told once."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lease import hold_job
from ansible_collections.stackci.nodepool.plugins.module_utils.web.events.happenings import (
    ENDINGS,
    TYPES,
    Happening,
    Limits,
    Teller,
    happenings,
)
from tests.support import busy_tree, populated_tree
from tests.support.tree_reading import NOW, reading_of

CONFIG = parse_config(busy_tree.config())
REQUEST = "200-0000000007"
LIMITS = Limits()


def found(documents, locks=(), *, config=CONFIG, limits=LIMITS, now=NOW, told=()):
    return happenings(config, reading_of(documents, locks), now, limits, told)


def of(kind, documents, **how):
    return {subject: item for (one, subject), item in found(documents, **how).items() if one == kind}


def request(state="requested", age=400.0, **more):
    return {
        f"{paths.REQUESTS}/{REQUEST}": {
            "state": state,
            "state_time": NOW - age,
            "created_time": NOW - age,
            "node_types": ["small"],
            "requestor": "zuul",
            **more,
        }
    }


def test_a_busy_site_has_events_of_its_ill_and_its_full_provider():
    kinds = found(busy_tree.documents(NOW), busy_tree.locks())
    ill = next(item for key, item in kinds.items() if key == ("provider_in_trouble", busy_tree.ILL))
    assert "503" in ill.text and ill.about["provider"] == busy_tree.ILL
    frozen = next(item for (kind, _subject), item in kinds.items() if kind == "resource_frozen")
    assert frozen.about["pool"] == f"{busy_tree.FULL}/main" and "Quota exceeded" in frozen.about["reason"]
    assert any(kind == "deletion_stuck" for kind, _subject in kinds)
    failed = next(item for (kind, _subject), item in kinds.items() if kind == "build_failed")
    assert "404" in failed.text


@pytest.mark.parametrize(("age", "state", "expected"), [
    (299.0, "requested", []), (301.0, "requested", [REQUEST]), (301.0, "pending", [REQUEST]), (301.0, "fulfilled", []),
])  # fmt: skip
def test_a_request_that_waits_too_long_is_told_with_the_reason(age, state, expected):
    wait = {"code": "quota", "text": "1 instance needed, 0 left in east/main", "at": NOW}
    documents = {**request(state, age), f"{paths.OWN}/waits/{REQUEST}": wait}
    items = of("request_waits", documents)
    assert list(items) == expected
    for item in items.values():
        assert item.about["reason"] == wait["text"] and item.about["labels"] == ["small"]


def test_a_failed_request_has_the_owner_and_the_reason():
    wait = {"code": "attempts", "text": "3 attempts failed in west", "owner": "image", "at": NOW}
    documents = {**populated_tree.documents(NOW), **request("failed"), f"{paths.OWN}/waits/{REQUEST}": wait}
    items = of("request_failed", documents)
    assert "does not offer label small" in items[populated_tree.FAILED].text
    assert items[REQUEST].about["owner"] == "image"
    assert items[REQUEST].text == f"request {REQUEST} (small) failed: 3 attempts failed in west"


def test_what_was_told_is_not_explained_again():
    documents = populated_tree.documents(NOW)
    told = {("request_failed", populated_tree.FAILED)}
    (item,) = of("request_failed", documents, told=told).values()
    assert item.about == {}


def test_a_provider_whose_limit_is_nearly_used_up_is_told():
    node = {"state": "in-use", "type": ["small"], "provider": "cloud-fra", "pool": "main", "resources": {"cores": 8}}
    provider = {"reading": {"at": NOW, "limits": {"cores": 20, "instances": 100}, "others": {"cores": 10}}}
    documents = {f"{paths.NODES}/0000000001": node, f"{paths.OWN}/providers/cloud-fra": provider}
    (item,) = of("quota_low", documents).values()
    assert item.subject == "cloud-fra/cores" and (item.about["left"], item.about["limit"]) == (2, 20)
    assert of("quota_low", documents, limits=Limits(quota=0.05)) == {}


@pytest.mark.parametrize(("state", "since", "kind"), [
    ("rejected", 0.0, "build_rejected"), ("revoked", 0.0, "build_rejected"), ("held", 0.0, "build_held"),
    ("approved", 0.0, ""), ("revoked", NOW + 60, ""),
])  # fmt: skip
def test_a_build_that_is_not_used_is_told_when_that_applies(state, since, kind):
    verdict = {"state": state, "reason": "the test of ssh failed", "by": "gate", "at": NOW, "since": since}
    kinds = found({f"{paths.OWN}/image-verdicts/debian-12": {"0a1b2c3d": verdict}})
    items = [item for (one, _subject), item in kinds.items() if one.startswith("build_")]
    assert [item.type for item in items] == ([kind] if kind else [])
    assert all("the test of ssh failed" in item.text and item.about["build"] == "0a1b2c3d" for item in items)


def test_verdicts_that_cannot_be_read_are_none():
    assert of("build_rejected", {f"{paths.OWN}/image-verdicts/debian-12": {"x": 7}}) == {}


@pytest.mark.parametrize(("age", "count"), [(599.0, 0), (601.0, 1)])
def test_a_leak_is_told_when_the_sweep_has_not_ended_it(age, count):
    seen = {"server/abc": {"first": NOW - age, "tries": 2, "answer": "409"}}
    assert len(of("leak_found", {f"{paths.OWN}/sightings/cloud-fra": {"seen": seen}})) == count


@pytest.mark.parametrize(("left", "count"), [(1000, 0), (600, 1)])
def test_a_lease_that_ends_soon_names_its_holder_and_its_nodes(left, count):
    lease = {"name": "mine", "owner": "alice", "labels": ["small"], "sets": [{"nodes": ["0000000001"]}]}
    node = {
        "state": "hold", "state_time": NOW - 100, "hold_expiration": 100 + left, "hold_job": hold_job("mine"),
        "type": ["small"], "provider": "cloud-fra",
    }  # fmt: skip
    items = of("lease_ends_soon", {f"{paths.OWN}/leases/mine": lease, f"{paths.NODES}/0000000001": node})
    assert len(items) == count
    for item in items.values():
        assert (item.about["holder"], item.about["nodes"]) == ("alice", ["0000000001"])


# -- news ------------------------------------------------------------------------------------------------------------


def current(*items):
    return {item.key: item for item in items}


ABOUT = {"provider": "east", "reason": "503"}
ILL = Happening("provider_in_trouble", "east", "provider east is in trouble: 503", ABOUT)
FAILED = Happening("request_failed", "1", "request 1 failed: x", {"request": "1", "owner": "label"})
WAITS = Happening("request_waits", "2", "request 2 waits", {"request": "2"})


def types(events):
    return [event["type"] for event in events]


def test_at_first_what_lasts_is_told_and_not_what_has_failed_before():
    teller = Teller()
    assert types(teller.news(current(ILL, FAILED, WAITS), NOW)) == ["provider_in_trouble", "request_waits"]
    assert teller.news(current(ILL, FAILED, WAITS), NOW + 1) == []


def test_what_is_new_is_told_once_with_its_fields():
    teller = Teller()
    teller.news({}, NOW)
    (event,) = teller.news(current(FAILED), NOW)
    assert (event["owner"], event["text"]) == ("label", "request 1 failed: x")
    assert event["at"] == "2026-11-20T18:12:12Z"
    assert teller.news(current(FAILED), NOW) == []


def test_the_end_is_told_when_it_has_been_over_for_a_while():
    teller = Teller(settle=60.0)
    teller.news(current(ILL), NOW)
    assert teller.news({}, NOW + 10) == []
    assert teller.news(current(ILL), NOW + 20) == [], "it was over for a moment only"
    assert teller.news({}, NOW + 30) == []
    assert teller.news({}, NOW + 80) == []
    (event,) = teller.news({}, NOW + 90)
    assert (event["type"], event["provider"]) == ("provider_well", "east")
    assert "reason" not in event
    assert types(teller.news(current(ILL), NOW + 100)) == ["provider_in_trouble"]


def test_what_happens_again_is_told_again():
    teller = Teller()
    teller.news(current(WAITS), NOW)
    teller.news({}, NOW + 1)
    assert types(teller.news(current(WAITS), NOW + 2)) == ["request_waits"]


def test_a_restart_that_remembers_repeats_nothing_and_leaves_nothing_out():
    before = Teller()
    before.news(current(ILL), NOW)
    after = Teller(before.told, settle=0.0)
    assert types(after.news(current(ILL, FAILED), NOW)) == ["request_failed"]
    (event,) = after.news(current(FAILED), NOW)
    assert (event["type"], event["provider"]) == ("provider_well", "east"), "the fields are known again"


def test_what_ended_while_nobody_listened_is_told_with_its_fields():
    before = Teller()
    before.news(current(ILL, FAILED), NOW)
    assert before.told == {ILL.key: {"provider": "east"}, FAILED.key: {}}
    (event,) = Teller(before.told, settle=0.0).news(current(FAILED), NOW)
    assert (event["type"], event["provider"]) == ("provider_well", "east")
    assert "reason" not in event


def test_before_the_tree_was_read_nothing_counts_as_known():
    teller = Teller()
    lost = Happening("zookeeper_lost", "ZooKeeper", "ZooKeeper cannot be reached: x")
    assert types(teller.news(current(lost), NOW, whole=False)) == ["zookeeper_lost"]
    assert types(teller.news(current(FAILED), NOW)) == []


def test_foreign_text_is_printable_and_empty_fields_are_left_out():
    teller = Teller()
    teller.news({}, NOW)
    item = Happening("request_failed", "1", "bad\x1b[31m\ntext", {"reason": "a\nb", "labels": ["x\x00"], "owner": None})
    (event,) = teller.news(current(item), NOW)
    assert event["text"].isprintable() and event["reason"] == "a b"
    assert event["labels"][0].isprintable() and "owner" not in event


def test_each_type_has_a_name_of_its_own():
    assert len(set(TYPES)) == len(TYPES)
    assert not set(ENDINGS) & set(ENDINGS.values())
