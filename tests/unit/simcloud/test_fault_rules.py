# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fault rules: which call they strike, how often and until when."""

from __future__ import annotations

import random

import pytest

from tests.simcloud.faults import Faults

KIND = "POST /servers"


@pytest.fixture
def faults():
    return Faults(random.Random(1))


def struck(faults, kind=KIND, now=0.0, name=""):
    return [rule.fault for rule in faults.strike(kind, now, name)]


def test_a_count_is_used_up(faults):
    faults.add({"kind": KIND, "fault": "status", "count": 2}, 0.0)
    assert [struck(faults) for _call in range(3)] == [["status"], ["status"], []]
    assert faults.rows()[0]["struck"] == 2


def test_a_rule_is_void_after_its_time(faults):
    faults.add({"kind": KIND, "fault": "hang", "lasts": 10}, 100.0)
    assert struck(faults, now=109.9) == ["hang"]
    assert struck(faults, now=110.0) == []


def test_until_is_a_moment(faults):
    faults.add({"kind": KIND, "fault": "hang", "until": 50}, 100.0)
    assert struck(faults, now=49.0) == ["hang"]
    assert struck(faults, now=51.0) == []


@pytest.mark.parametrize(
    ("glob", "hits"),
    [
        ("POST /servers", True),
        ("POST *", True),
        ("* /servers*", True),
        ("GET /servers", False),
        ("POST /server", False),
    ],
)
def test_kinds_are_globs(faults, glob, hits):
    faults.add({"kind": glob, "fault": "reset"}, 0.0)
    assert bool(struck(faults)) is hits


def test_one_of_each_family_and_every_slow_one(faults):
    for fault in ("slow", "status", "hang", "slow", "stuck_build", "error"):
        faults.add({"kind": KIND, "fault": fault}, 0.0)
    assert struck(faults) == ["slow", "status", "slow", "stuck_build"]


def test_a_probability_strikes_its_share(faults):
    faults.add({"kind": KIND, "fault": "status", "probability": 0.25}, 0.0)
    number = sum(1 for _call in range(2000) if struck(faults))
    assert 400 < number < 600


def test_servers_can_be_chosen_by_name(faults):
    faults.add({"fault": "error", "name": "np*7"}, 0.0)
    assert struck(faults, name="np0007") == ["error"]
    assert struck(faults, name="np0008") == []


def test_faults_of_deletion_have_their_own_kind(faults):
    faults.add({"fault": "lost_delete"}, 0.0)
    assert struck(faults) == []
    assert struck(faults, kind="DELETE /servers/{id}") == ["lost_delete"]


def test_rules_can_be_taken_away(faults):
    rule = faults.add({"kind": KIND, "fault": "hang"}, 0.0)
    assert faults.remove(rule.id)
    assert not faults.remove(rule.id)
    assert struck(faults) == []
    faults.add({"kind": KIND, "fault": "hang"}, 0.0)
    faults.clear()
    assert struck(faults) == []


@pytest.mark.parametrize(
    "document",
    [{"fault": "nonsense"}, {"kind": KIND}, {"fault": "hang", "count": 0}, {"fault": "hang", "probability": 0}],
)
def test_nonsense_is_refused(faults, document):
    with pytest.raises(ValueError, match=r"fault|count|probability"):
        faults.add(document, 0.0)


def test_a_rule_may_be_for_servers_of_one_image(faults):
    faults.add({"kind": KIND, "fault": "unreachable", "image": "image-2"}, 0.0)
    assert [bool(faults.strike(KIND, 0.0, "x", image)) for image in ("image-1", "image-2", "")] == [False, True, False]


def test_nova_counts_no_volumes_when_it_writes_a_server_down(faults):
    with pytest.raises(ValueError, match="must be among cores, instances, ram"):
        faults.add({"kind": KIND, "fault": "error_quota", "resources": ["volumes"]}, 0.0)
    faults.add({"kind": KIND, "fault": "error_quota", "resources": ["cores", "ram"]}, 0.0)
