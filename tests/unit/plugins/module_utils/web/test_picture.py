# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a snapshot tells of the tree and of ZooKeeper, and when a value is of another version."""

from __future__ import annotations

import math
import threading

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper import kept_tree
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.kept_tree import KeptStat
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.reconnecting import (
    CONNECTED,
    SUSPENDED,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.tree import Tree
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import NodepoolConfig
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import StoreUnreachable
from ansible_collections.stackci.nodepool.plugins.module_utils.web.picture import Contact, Picture
from tests.support.web_case import SETTINGS, StillSession, WebCase

NODE = f"{paths.NODES}/0000000001"


def test_a_change_is_in_the_next_snapshot_with_another_version():
    case = WebCase({NODE: {"state": "ready"}})
    before = case.picture.versions((paths.ROOT,))
    case.session.put(NODE, b'{"state": "in-use"}')
    assert case.picture.versions((paths.ROOT,)) != before
    assert case.picture.snapshot().reading.one(NODE).document["state"] == "in-use"


@pytest.mark.parametrize(
    ("root", "path", "counts"),
    [
        (paths.NODES, NODE, True),
        (paths.NODES, f"{NODE}/lock/0123__lock__0000000001", True),
        (paths.NODES, f"{paths.REQUESTS}/100-0000000001", False),
        (paths.REQUESTS, f"{paths.REQUEST_LOCKS}/100-0000000001", True),
        (paths.ROOT, NODE, True),
        (f"{paths.OWN}/waits", f"{paths.OWN}/waits/100-0000000001", True),
        (f"{paths.OWN}/waits", f"{paths.OWN}/freezes/pool", False),
        (paths.OWN, f"{paths.OWN}/freezes/pool", True),
        (paths.NODES, "", True),
    ],
)
def test_a_value_is_computed_anew_when_what_it_is_made_from_has_changed(root, path, counts):
    case, made = WebCase({}), []
    for _round in range(2):
        case.picture.snapshot().remembered("x", lambda: made.append(1), roots=(root,), valid=math.inf)
        case.picture.changed(path)
    case.picture.snapshot().remembered("x", lambda: made.append(1), roots=(root,), valid=math.inf)
    assert len(made) == (3 if counts else 1)


def test_another_configuration_is_a_change_of_everything():
    case, made = WebCase({}), []
    case.picture.snapshot().remembered("x", lambda: made.append(1), valid=math.inf)
    case.picture.configure(config := NodepoolConfig("other.yaml", SETTINGS))
    case.picture.snapshot().remembered("x", lambda: made.append(1), valid=math.inf)
    assert case.picture.snapshot().config is config
    assert len(made) == 2


def test_without_zookeeper_the_tree_is_the_last_known_one_and_its_age_grows():
    case = WebCase({NODE: {"state": "ready"}})
    assert case.picture.contact() == Contact(True, 0.0)
    case.session.turn(SUSPENDED)
    case.now += 12.0
    snapshot = case.picture.snapshot()
    assert (snapshot.contact.connected, snapshot.contact.age) == (False, 12.0)
    assert "ZooKeeper" in snapshot.contact.problem
    assert snapshot.reading.one(NODE) is not None
    case.lose()
    case.now += 1.0
    assert case.picture.contact().age == 13.0
    case.session.turn(CONNECTED)
    assert case.picture.contact() == Contact(True, 0.0)


def test_it_connects_for_reading_only():
    case = WebCase({})
    case.picture.open()
    case.picture._opener.join(30)
    assert case.session.opened == [{"mutable": False}]
    case.picture.close()


def test_before_the_first_connection_there_is_no_age():
    picture = Picture(NodepoolConfig("nodepool.yaml", SETTINGS), session=StillSession(WebCase({}).session.tree))
    assert picture.contact().age is None


def test_it_says_why_it_cannot_connect_and_tries_again():
    picture = Picture(
        NodepoolConfig("nodepool.yaml", SETTINGS),
        session=StillSession(WebCase({}).session.tree, refuses=1),
        pause=0.0,
    )
    told: list[str] = []
    picture.open(told.append, opened=lambda: told.append("opened"))
    picture._opener.join(30)
    assert told == ["no connection to ZooKeeper", "opened"]
    assert picture.contact().connected
    picture.close()


def test_it_begins_with_the_last_state_that_was_kept_on_this_host(tmp_path, monkeypatch):
    """It is shown until the tree is read for the first time; its age counts from when it was up to date."""
    monkeypatch.setattr(kept_tree, "SERVICES", str(tmp_path / "none" / "*"))
    config = NodepoolConfig("nodepool.yaml", SETTINGS)
    tree = Tree()
    tree.put("/nodepool/nodes/1", b"{}", KeptStat(1, 1, 0, 0, 0))
    folder = str(tmp_path / "state")
    kept_tree.keep(folder, config.zookeeper, tree, 1000.0)
    session, tried = Unreachable(), threading.Event()
    picture = Picture(
        config,
        clock=lambda: 1030.0,
        monotonic=lambda: 5.0,
        session=session,  # type: ignore[arg-type]
        folder=folder,
    )
    picture.open(lambda _line: tried.set())
    try:
        assert tried.wait(30)
        assert picture.contact().age == 30.0
        assert picture.snapshot().reading.names("/nodepool/nodes") == ["1"]
        session.state = "connected"
        picture.changed("")
        assert picture.contact() == Contact(True, 0.0)
        assert picture.snapshot().reading.names("/nodepool/nodes") == []
    finally:
        picture.close()


class Unreachable:
    """A session that never comes up by itself."""

    def __init__(self):
        self.state, self.tree = "lost", Tree()

    def on_change(self, callback):
        """Nothing changes."""

    def open(self, *, mutable):
        """Fail."""
        assert mutable is False
        raise StoreUnreachable("no connection")

    def close(self):
        """Nothing is open."""
