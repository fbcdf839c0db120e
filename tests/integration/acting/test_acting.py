# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules by which an operator acts on a tree, with records in a real ZooKeeper."""

from __future__ import annotations

import importlib
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.ansible_run import MODULES, run_alone, run_module
from tests.support.documented import differences
from tests.support.populated_tree import (
    BUILDING,
    HELD,
    IN_USE,
    NOT_JSON,
    ODD,
    PENDING,
    READY,
    WAITING,
    WEST,
    populate,
)
from tests.support.zookeeper_server import HOST, free_port

NODES, REQUESTS = "/nodepool/nodes", "/nodepool/requests"
FREEZE, BREAKER = f"/nodepool/stackci/freezes/{WEST}", "/nodepool/stackci/breakers/west"
NODE = {"hold_job": "t1 project unit", "allocated_to": None, "provider": "west", "pool": "main", "type": ["small"]}
OPTIONS: dict[str, dict[str, Any]] = {
    "node": {"ids": [READY], "state": "held", "comment": "look", "hold_expiration": 60},
    "request": {"ids": [WAITING, PENDING], "state": "absent"},
    "throttle": {"provider": "west", "kind": "freeze"},
}
"""Module → options with which it changes something in the populated tree."""


class Site:
    """A configuration that leads to a tree."""

    def __init__(self, folder, settings) -> None:
        self.folder, server = folder, settings.servers[0]
        self.chroot, self.port = server.chroot, server.port

    def run(self, module: str, runner: Callable[..., Any] = run_alone, **options: Any) -> Any:
        servers = [{"host": HOST, "port": self.port, "chroot": self.chroot}]
        document = {"zookeeper-servers": servers, "labels": [], "providers": [], "max-hold-age": 7200}
        (self.folder / "nodepool.yaml").write_text(json.dumps(document), "utf-8")
        check = options.pop("check", False)
        return runner(module, {"config": "nodepool.yaml", **options}, self.folder, check=check, diff=True).result


@pytest.fixture
def site(tmp_path, zk_chroot):
    return Site(tmp_path, zk_chroot)


@pytest.fixture
def full(site, zk_client):
    populate(lambda path, data: put(zk_client, path, data), time.time())
    for path, key, seconds in ((FREEZE, "instances", 170), (BREAKER, "debian/small", 850)):  # a machine may be slow
        known = document(zk_client, path)
        put(zk_client, path, json.dumps({**known, key: {**known[key], "until": time.time() + seconds}}).encode())
    for _unused in range(20):  # as if ZooKeeper had numbered the requests
        zk_client.delete(zk_client.create(f"{REQUESTS}/900-", sequence=True))
    return site


def put(client, path, data):
    """Make a znode, or fill one that was made as a parent."""
    if client.exists(path):
        client.set(path, data)
    else:
        client.create(path, data, makepath=True)


def tree(client, path="/"):
    """Every znode with its data, without locks."""
    found = {path: client.get(path)[0]}
    for name in client.get_children(path):
        if name != "lock":
            found |= tree(client, f"{path.rstrip('/')}/{name}")
    return found


def document(client, path):
    return json.loads(client.get(path)[0])


@pytest.mark.parametrize("module", OPTIONS)
def test_check_mode_says_what_is_then_done_once(module, full, zk_client):
    options, before = OPTIONS[module], tree(zk_client)
    seen = full.run(module, check=True, **options)
    assert (seen["failed"], seen["changed"]) == (False, True)
    assert tree(zk_client) == before
    done = full.run(module, run_module, **options)
    assert (done["failed"], done["changed"]) == (False, True)
    assert done["diff"] == seen["diff"]
    block = importlib.import_module(f"{MODULES}.{module}").RETURN
    shown = {name: value for name, value in done.items() if name not in ("failed", "invocation", "warnings", "diff")}
    assert differences(block, shown, check=False) == []
    after = tree(zk_client)
    changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    assert len(changed) == (2 if module == "request" else 1), changed
    again = full.run(module, **options)
    assert (again["failed"], again["changed"]) == (False, False)
    assert tree(zk_client) == after


@pytest.mark.parametrize("module", OPTIONS)
def test_where_there_is_no_tree_one_line_says_so(module, site, zk_client):
    options = {**OPTIONS[module], **({"ids": [READY]} if "ids" in OPTIONS[module] else {})}

    def said():
        result = site.run(module, **options)
        assert result["failed"] and "exception" not in result
        assert "\n" not in result["msg"]
        return result["msg"]

    assert "the tree is empty: there is no /nodepool in chroot" in said()
    zk_client.create(NODES, makepath=True)
    assert "there is no" in said() or "there are none" in said()
    site.chroot = "/nowhere/at/all"
    assert "has no chroot /nowhere/at/all: correct chroot" in said()
    assert not zk_client.exists("/nowhere")
    site.port = free_port()
    assert said().startswith("no connection to ZooKeeper within")


def test_a_hold_and_its_end_in_nodepools_own_fields(full, zk_client):
    known = document(zk_client, f"{NODES}/{READY}")
    put(zk_client, f"{NODES}/{READY}", json.dumps({**known, "theirs": [1]}).encode())
    for wrong in (-1, 10**12, 10**25):
        assert (
            "give seconds, 4000000000 at most" in full.run("node", id=READY, state="held", hold_expiration=wrong)["msg"]
        )
    held = full.run("node", id=READY, state="held", comment="look", hold_job="t p j r", hold_expiration=9000)
    assert "ends the hold after 7200 s" in str(held["warnings"])
    stored = document(zk_client, f"{NODES}/{READY}")
    fields = ("state", "comment", "hold_job", "hold_expiration", "theirs", "external_id")
    assert [stored[name] for name in fields] == ["hold", "look", "t p j r", 9000, [1], known["external_id"]]
    assert 8900 < held["nodes"][0]["expires_in"] <= 9000
    released = full.run("node", id=READY, state="released")
    assert released["nodes"][0]["state_before"] == "hold"
    assert document(zk_client, f"{NODES}/{READY}")["state"] == "used"
    assert zk_client.get_children(f"{NODES}/{READY}/lock") == []


def test_what_is_refused_is_said_and_the_rest_is_done(full, zk_client):
    result = full.run("node", ids=[IN_USE, BUILDING, ODD, NOT_JSON, READY], state="absent")
    assert result["failed"] and result["changed"]
    told = {row["id"]: row["refusal"] for row in result["nodes"]}
    assert told[READY] is None and document(zk_client, f"{NODES}/{READY}")["state"] == "deleting"
    assert f"node {IN_USE} is locked: it is used by zuul (example.org/project)" in told[IN_USE]
    assert f"it is being launched by the launcher {WEST} for request {PENDING}" in told[BUILDING]
    assert all(text in result["msg"] for text in told.values() if text)
    for damaged in (ODD, NOT_JSON):
        assert told[damaged] is None and zk_client.exists(f"{NODES}/{damaged}") is None
        assert f"node {damaged}: a record that cannot be used; its resources in a cloud" in str(result["warnings"])
    assert not full.run("node", ids=[ODD, NOT_JSON], state="absent")["changed"]
    for wrong in ({"comment": "x"}, {"timeout": -1}):
        assert full.run("node", id=READY, state="released", **wrong)["failed"]


def test_unknown_names_are_told_with_the_nearest(full):
    assert f"did you mean {HELD}?" in full.run("node", id="3", state="absent")["msg"]
    assert f"did you mean {WAITING}?" in full.run("request", id="11", state="absent")["msg"]
    assert "did you mean west?" in full.run("throttle", provider="wets", kind="freeze")["msg"]
    wrong = full.run("throttle", provider="west", kind="breaker", pools=["main"])
    assert wrong["msg"] == "pools cannot be combined with kind=breaker"


def test_an_id_that_was_given_out_is_gone_and_no_other(site, zk_client):
    zk_client.create(NODES, makepath=True)
    made = [
        zk_client.create(f"{NODES}/", json.dumps({**NODE, "state": "used"}).encode(), sequence=True)
        for _unused in "abc"
    ]
    for path in made[1:]:
        zk_client.delete(path)
    gone, never = made[2].rpartition("/")[2], f"{int(made[2][-10:]) + 1:010d}"
    done = site.run("node", id=gone, state="absent")
    assert (done["failed"], done["changed"], done["nodes"][0]["state"]) == (False, False, None)
    assert "ZooKeeper has no node" in site.run("node", id=never, state="absent")["msg"]
    assert "ZooKeeper has no node" in site.run("node", id=gone, state="held")["msg"]


def test_a_node_is_held_as_soon_as_its_user_is_done(full, zk_client):
    """The requestor gives its lock back only when the module has queued for it."""
    lock = f"{NODES}/{IN_USE}/lock"
    options = {"id": IN_USE, "state": "held", "comment": "look", "wait": True, "timeout": 60}
    seen = full.run("node", check=True, **options)
    assert (seen["failed"], seen["changed"], seen["nodes"][0]["state"]) == (False, True, "hold")

    def give_back():
        (users,) = zk_client.get_children(lock)
        deadline = time.monotonic() + 60
        while len(zk_client.get_children(lock)) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        known = document(zk_client, f"{NODES}/{IN_USE}")
        zk_client.set(f"{NODES}/{IN_USE}", json.dumps({**known, "state": "used"}).encode())
        zk_client.delete(f"{lock}/{users}")

    requestor = threading.Thread(target=give_back)
    requestor.start()
    result = full.run("node", **options)
    requestor.join()
    assert (result["failed"], result["nodes"][0]["state_before"]) == (False, "used")
    assert document(zk_client, f"{NODES}/{IN_USE}")["state"] == "hold"
    assert zk_client.get_children(lock) == []


def test_a_breaker_is_ended(full, zk_client):
    result = full.run("throttle", provider="west", kind="breaker", images=["debian"])
    assert [(row["image"], row["flavor"]) for row in result["ended"]] == [("debian", "small")]
    assert document(zk_client, BREAKER) == {}
    assert not full.run("provider_info", providers=["west"])["providers"][0]["breakers"]
