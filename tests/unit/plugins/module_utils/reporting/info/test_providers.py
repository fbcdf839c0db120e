# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Providers, labels and leases as rows."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.labels import label_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.lease_rows import lease_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.providers import provider_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.last_state import with_age
from ansible_collections.stackci.nodepool.plugins.modules import label_info, lease_info, provider_info
from tests.support.documented import differences
from tests.support.effort import examples
from tests.support.populated_tree import HELD, PENDING, STOCK, WEST, documents, locks
from tests.support.tree_reading import NOW, populated, reading_of

CONFIG = parse_config(
    json.dumps(
        {
            "zookeeper-servers": [{"host": "localhost"}],
            "labels": [{"name": "small", "min-ready": 2}],
            "diskimages": [{"name": "debian"}],
            "providers": [
                {
                    "name": "west",
                    "cloud": "west-cloud",
                    "diskimages": [{"name": "debian"}],
                    "pools": [
                        {
                            "name": "main",
                            "max-servers": 4,
                            "max-cores": 8,
                            "labels": [{"name": "small", "diskimage": "debian", "min-ram": 2048}],
                        }
                    ],
                }
            ],
        }
    )
)


def providers(reading=None):
    return {row["name"]: row for row in provider_rows(CONFIG, reading or populated(), NOW)}


def labels(reading=None):
    return {row["label"]: row for row in label_rows(CONFIG, reading or populated(), NOW)}


def leases(reading=None):
    return {row["name"]: row for row in lease_rows(reading or populated(), NOW)}


def test_a_provider_with_what_is_used_of_what():
    west = providers()["west"]
    assert (west["configured"], west["cloud"], west["acting"], west["acted_for_by"]) == (
        True,
        "west-cloud",
        True,
        ["launcher1"],
    )
    assert west["health"] == {"state": "trouble", "text": "provider west: 503", "age": 40.0, "owner": None}
    assert (west["reading_age"], west["reading_age_text"], west["boot_seconds"]) == (12.0, "00:00:00:12", 25.0)
    assert west["nodes"] == {"building": 1, "in-use": 1, "ready": 1}
    assert west["resources"] == [
        {"resource": "instances", "used": 3, "others": 3, "limit": 10, "left": 4},
        {"resource": "cores", "used": 6, "others": 6, "limit": 20, "left": 8},
        {"resource": "ram", "used": 12288, "others": 0, "limit": 40960, "left": 28672},
    ]
    assert west["breakers"] == [
        {"image": "debian", "flavor": "small", "ends_in": 45.0, "failures": 5, "text": "no valid host"}
    ]
    assert [row["server"] for row in west["stuck"]] == ["s-9"]


def test_a_pool_with_its_limits_and_what_is_frozen():
    (main,) = providers()["west"]["pools"]
    assert (main["id"], main["registered"], main["hostname"], main["paused"]) == (WEST, True, "launcher1", True)
    assert main["resources"][:2] == [
        {"resource": "instances", "used": 3, "others": 0, "limit": 4, "left": 1},
        {"resource": "cores", "used": 6, "others": 0, "limit": 8, "left": 2},
    ]
    assert main["freezes"] == [{"resource": "instances", "ends_in": 30.0, "refusals": 1, "text": "Quota exceeded"}]


def test_what_a_clock_that_was_ahead_has_stored_is_not_in_force():
    whole = documents(NOW)
    whole[f"/nodepool/stackci/freezes/{WEST}"]["instances"]["until"] = NOW + 10_000
    whole["/nodepool/stackci/breakers/west"]["debian/small"]["until"] = NOW + 10_000
    (west,) = (row for row in provider_rows(CONFIG, reading_of(whole), NOW) if row["name"] == "west")
    assert west["breakers"] == west["pools"][0]["freezes"] == []


def test_a_breaker_that_many_failures_keep_open_is_shown_until_the_next_try():
    whole = documents(NOW)
    lately = [NOW - 110.0 + 10.0 * number for number in range(6)]
    whole["/nodepool/stackci/breakers/west"]["debian/small"].update(until=NOW - 50.0, recent=lately)
    (west,) = (row for row in provider_rows(CONFIG, reading_of(whole), NOW) if row["name"] == "west")
    assert [(row["image"], row["ends_in"]) for row in west["breakers"]] == [("debian", 10.0)]


def test_a_provider_that_no_launcher_acts_for_and_one_of_another_launcher():
    found = providers()
    assert list(found) == ["east", "north", "west"]
    east, north = found["east"], found["north"]
    assert (east["configured"], east["acting"], east["acted_for_by"], east["health"]) == (False, False, [], None)
    assert (north["acted_for_by"], north["pools"][0]["id"], north["pools"][0]["labels"]) == (["host"], STOCK, ["arm"])
    assert north["pools"][0]["version"] == "11.0.0"


def test_a_label_with_pools_nodes_and_what_is_asked_for():
    found = labels()
    assert list(found) == ["arm", "big", "huge", "small"]
    small = found["small"]
    assert (small["pools"], small["pools_absent"]) == (["west/main"], ["east/main"])
    assert small["nodes"] == {"building": 1, "hold": 1, "in-use": 1, "ready": 1}
    assert (small["free"], small["min_ready"], small["min_ready_missing"]) == (1, 2, 1)
    assert (small["wanted"], small["requests"], small["oldest_request_age"]) == (4, 3, 400.0)
    assert (found["arm"]["configured"], found["arm"]["min_ready"]) == (False, None)


def test_leases_with_their_nodes_and_requests():
    debug, odd = leases()["debug"], leases()["odd"]
    assert (debug["wanted"], debug["held"], debug["complete"], debug["expires_in"]) == (2, 0, False, 0.0)
    assert [(node["id"], node["state"]) for node in debug["nodes"]] == [(HELD, "hold"), ("0000000999", "gone")]
    assert debug["requests"] == [{"id": PENDING, "state": "pending"}]
    assert odd["problems"] == ["'sets' is a number, not a list"]


def test_a_node_counts_as_held_only_when_it_is_held_for_the_lease():
    whole = documents(NOW)
    whole[f"/nodepool/nodes/{HELD}"] |= {"hold_job": "lease debug", "state_time": NOW - 60.0}
    assert leases(reading_of(whole))["debug"]["held"] == 1


def left_of(lease: dict[str, Any], max_hold_age: float = 0.0, now: float = NOW, **nodes: dict[str, Any]) -> Any:
    """What is told to be left of a lease with these nodes and no others, and how many of them are held."""
    whole = documents(NOW)
    whole["/nodepool/stackci/leases/debug"] |= {"sets": [{"request": None, "nodes": list(nodes)}], **lease}
    for node_id, document in nodes.items():
        whole[f"/nodepool/nodes/{node_id}"] = {"type": ["small"], "provider": "west", "state": "hold", **document}
    (row,) = (row for row in lease_rows(reading_of(whole), now, max_hold_age) if row["name"] == "debug")
    return row["expires_in"], row["held"]


def test_what_is_left_of_a_lease_is_true():
    mine = {"hold_job": "lease debug", "state_time": NOW - 5.0}
    assert left_of({}, n1={**mine, "hold_expiration": 15}) == (10.0, 1), "its nodes decide, not what was asked for"
    assert left_of({}, n1={**mine, "hold_expiration": 15}, now=NOW + 60.0) == (0.0, 0), "never below zero"
    assert left_of({}, n1={**mine, "hold_expiration": 900}, n2={**mine, "hold_expiration": 90}) == (85.0, 2)
    assert left_of({}, n1={**mine, "hold_expiration": 900}, max_hold_age=60.0) == (55.0, 1)
    assert left_of({}, n1={**mine, "hold_expiration": 0}) == (None, 1), "without a limit nothing ends it"
    assert left_of({}, n1={**mine, "hold_expiration": 15, "state_time": NOW + 9000.0}) == (15.0, 1)
    assert left_of({}, n1={**mine, "state": "used", "hold_expiration": 15}) == (0.0, 0)
    asked = {"sets": [{"request": PENDING, "nodes": []}]}
    whole = documents(NOW)
    whole["/nodepool/stackci/leases/debug"] |= asked
    whole[f"/nodepool/requests/{PENDING}"]["requestor_data"] = {"expires_at": NOW + 44.0}
    assert leases(reading_of(whole))["debug"]["expires_in"] == 44.0
    assert left_of({"sets": []}) == (6200.0, 0)


def test_the_documentation_names_what_is_returned():
    for module, result in (
        (provider_info, {"providers": list(providers().values()), "unusable": None}),
        (label_info, {"labels": list(labels().values()), "unusable": None}),
        (lease_info, {"leases": list(leases().values())}),
    ):
        assert differences(module.RETURN, with_age(None, None, result), check=False) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
PATHS = sorted(
    path for path, document in documents(NOW).items() if isinstance(document, dict) and "/images/" not in path
)


@settings(max_examples=examples(150), deadline=None)
@given(st.sampled_from(PATHS), st.data())
def test_whatever_others_wrote_there_are_rows_as_documented(path, data):
    whole = documents(NOW)
    key = data.draw(st.sampled_from(sorted(whole[path])))
    whole[path] = data.draw(st.one_of(st.just({**whole[path], key: data.draw(JSON)}), JSON))
    reading = reading_of(whole)
    for module, result in (
        (provider_info, {"providers": list(providers(reading).values()), "unusable": None}),
        (label_info, {"labels": list(labels(reading).values()), "unusable": None}),
        (lease_info, {"leases": list(leases(reading).values())}),
    ):
        assert differences(module.RETURN, with_age(None, None, json.loads(json.dumps(result))), check=False) == []


def registered(hostname, host, *wants):
    return json.dumps({"hostname": hostname, "host": host, "wants": list(wants)}).encode()


def test_who_stands_by_is_shown_while_a_launcher_acts():
    folder = "/nodepool/stackci/live-launchers"
    tree = documents(NOW) | {
        f"{folder}/a0": registered("a", "a:/run", "west"),
        f"{folder}/a1": registered("a", "a:/run", "west"),
        f"{folder}/b0": registered("b", "b:/run", "west", "east"),
        f"{folder}/c0": registered("c", "c:/run", "east"),
        f"{folder}/d0": b"nonsense",
    }
    tree["/nodepool/stackci/providers/west"] |= {"host": "a:/run"}
    shown = providers(reading_of(tree, locks()))
    assert shown["west"]["standing_by"] == ["b"]
    assert shown["east"]["standing_by"] == [], "no launcher acts for it"
