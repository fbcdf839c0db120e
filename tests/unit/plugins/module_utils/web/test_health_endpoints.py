# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""/health is the process alone; /ready tells whether nodes and images are really seen to, and why not."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import (
    Diskimage,
    NodepoolConfig,
    Pool,
    Provider,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.web.health_endpoints import (
    BUILDER_PAUSE,
    BUILDER_SILENCE,
    POOL_SILENCE,
    SILENCE,
    reasons,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.web.picture import Contact
from tests.support.tree_reading import NOW, reading_of
from tests.support.web_case import SETTINGS, WebCase

CONNECTED = Contact(True, 0.0)
LOCK = "/nodepool/stackci/providers/west/lock/0123456789abcdef__lock__0000000000"
REGISTERED = "/nodepool/components/pool/launcher10000000001"
KNOWN = "/nodepool/stackci/pools/west-main"
NOTE = "/nodepool/stackci/image-builders/b-1"
COUNTED = "/nodepool/stackci/counters/builder1-uploads"
BUILDER = "/nodepool/components/builder/builder10000000001"


def config(*, image: bool = False) -> NodepoolConfig:
    """One provider that has a pool, one that has none, and perhaps a diskimage."""
    providers = {
        "west": Provider(name="west", cloud="west", pools={"main": Pool(name="main")}),
        "empty": Provider(name="empty", cloud="empty"),
    }
    images = {"debian": Diskimage(name="debian")} if image else {}
    return NodepoolConfig("nodepool.yaml", SETTINGS, providers=providers, diskimages=images)


def at_work(silent: float = 60.0) -> dict[str, Any]:
    """A launcher of ours acts for west."""
    return {
        REGISTERED: {"kind": "pool", "id": "west-main", "provider_name": "west"},
        KNOWN: {"provider_name": "west", "name": "main", "last_seen": NOW - silent},
        "/nodepool/stackci/providers/west": {"cloud": "west"},
    }


def beats(cycle: str, *providers: str, number: int = 1) -> dict[str, Any]:
    """The heartbeat of a cycle, which reading_of writes at NOW."""
    fields = {"cycle": cycle, "at": NOW, "providers": list(providers)}
    return {f"/nodepool/stackci/heartbeats/host000000000{number}": fields}


def codes(
    documents: dict[str, Any], *, image: bool = False, contact: Contact = CONNECTED, passed: float = 0.0
) -> list[tuple[str, str]]:
    """What is found when *passed* seconds have passed since everything was written."""
    found = reasons(config(image=image), reading_of(documents, [LOCK]), contact, NOW + passed)
    assert all(reason.text for reason in found)
    return [(reason.code, reason.subject) for reason in found]


def test_a_launcher_at_work_is_enough_where_there_are_no_images():
    assert codes(at_work()) == []


def test_a_provider_for_which_no_launcher_acts():
    documents = at_work()
    del documents[REGISTERED]
    assert codes(documents) == [("no-launcher", "west")]


def test_a_launcher_that_is_connected_and_does_nothing():
    documents = {**at_work(), **beats("launcher", "west")}
    assert codes(documents, passed=SILENCE - 1) == []
    assert codes(documents, passed=SILENCE + 1) == [("launcher-silent", "west")]


def test_the_heartbeat_of_the_launcher_that_acts_for_the_provider_counts_and_no_other():
    silent = {**at_work(), **beats("launcher", "west")}
    assert codes({**silent, **beats("launcher", number=2)}, passed=SILENCE + 1) == [("launcher-silent", "west")]
    standby = {**at_work(silent=-SILENCE - 1), **beats("launcher"), **beats("uploads", "west", number=2)}
    assert codes(standby, passed=SILENCE + 1) == []


def test_a_launcher_that_writes_no_heartbeats_renews_the_record_of_its_pools():
    assert codes(at_work(POOL_SILENCE - 1)) == []
    assert codes(at_work(POOL_SILENCE + 1)) == [("launcher-silent", "west")]


@pytest.mark.parametrize("cycle", ["builds", "uploads"])
def test_a_builder_that_is_connected_and_does_nothing(cycle):
    documents = {**at_work(silent=-BUILDER_SILENCE), BUILDER: {"kind": "builder"}, **beats(cycle)}
    assert codes(documents, image=True, passed=BUILDER_SILENCE - 1) == []
    assert codes(documents, image=True, passed=BUILDER_SILENCE + 1) == [("builder-silent", "")]
    assert codes(documents, passed=BUILDER_SILENCE + 1) == []


def test_another_launcher_stores_no_heartbeat_and_its_registration_is_enough():
    documents = at_work()
    del documents[KNOWN]
    assert codes(documents) == []


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, [("no-builder", "")]),
        ({BUILDER: {"kind": "builder"}}, []),
        ({NOTE: {"builder_id": "b-1", "seen": NOW - 30}}, []),
        ({NOTE: {"builder_id": "b-1", "seen": NOW - BUILDER_PAUSE - 1}}, [("builder-silent", "")]),
        ({NOTE: {"builder_id": "b-1", "seen": "nonsense"}}, [("builder-silent", "")]),
        ({NOTE: {"builder_id": "b-1", "seen": NOW - 99999}, COUNTED: {"cycle": "uploads"}}, []),
        ({COUNTED: {"cycle": "launcher"}}, [("no-builder", "")]),
    ],
)
def test_where_there_are_diskimages_a_builder_is_needed(more, told):
    assert codes({**at_work(), **more}, image=True) == told


@pytest.mark.parametrize(("age", "words"), [(None, "never"), (42.0, "42 s")])
def test_without_zookeeper_that_is_the_only_reason(age, words):
    (found,) = reasons(config(image=True), reading_of({}), Contact(False, age, "refused"), NOW)
    assert found.code == "zookeeper"
    assert words in found.text
    assert "refused" in found.text


def test_health_is_the_process_alone():
    case = WebCase({})
    case.lose()
    answer = case.get("/health")
    assert (answer.status_code, answer.text, answer.mimetype) == (200, "OK\n", "text/plain")


def test_ready_is_ok_as_nodepool_says_it():
    case = WebCase(at_work(), [LOCK], config=config())
    answer = case.get("/ready")
    assert (answer.status_code, answer.text, answer.mimetype) == (200, "OK", "text/plain")
    assert case.get("/ready", Accept="application/json").json == {"ready": True, "reasons": []}


def test_not_ready_is_503_with_the_reasons_in_both_forms():
    case = WebCase({}, config=config())
    answer = case.get("/ready")
    assert answer.status_code == 503
    assert answer.text == "provider west: no launcher serves it\n"
    told = case.get("/ready", Accept="application/json")
    assert told.status_code == 503
    assert [reason["code"] for reason in told.json["reasons"]] == ["no-launcher"]


def test_ready_follows_zookeeper():
    case = WebCase(at_work(), [LOCK], config=config())
    case.lose()
    case.now += 5
    assert case.get("/ready").status_code == 503
    assert "ZooKeeper" in case.get("/ready").text
    case.session.turn("connected")
    assert case.get("/ready").status_code == 200


def test_a_configuration_with_another_provider_needs_a_launcher_for_that_one():
    case = WebCase(at_work(), [LOCK], config=config())
    more = Provider(name="east", cloud="east", pools={"main": Pool(name="main")})
    before = config()
    case.picture.configure(NodepoolConfig("nodepool.yaml", SETTINGS, providers={**before.providers, "east": more}))
    assert "provider east" in case.get("/ready").text
