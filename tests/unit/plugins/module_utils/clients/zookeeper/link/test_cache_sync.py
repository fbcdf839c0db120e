# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of answers and events, scripted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from kazoo.exceptions import ConnectionLoss, NoAuthError, NoNodeError
from kazoo.protocol.serialization import GetChildren, GetData

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.cache_sync import CacheSync
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.multi import MultiRead
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.paths import IMAGE_ROOTS
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.tree import Entry, Tree
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.tree_client import (
    CREATED,
    DELETED,
    AddWatch,
)

CHANGED = 3


class Server:
    """Answers when it is told to."""

    def __init__(self, content=None, chroot=""):
        self.content = dict(content or {})
        self.chroot = chroot
        self.asked = []
        self.read_paths = []
        self.forbidden = set()
        self.on_event = None

    def absolute(self, path):
        return self.chroot + path

    def watch_below(self, path, callback):
        self.asked.append((AddWatch(path), callback))

    def submit(self, request, callback):
        self.asked.append((request, callback))

    def stat(self, path):
        children = sum(1 for known in self.content if known.rpartition("/")[0] == path)
        return SimpleNamespace(mzxid=self.content[path][1], version=0, numChildren=children, czxid=1, ephemeralOwner=0)

    def answer(self, error=None):
        request, callback = self.asked.pop(0)
        value: Any = True
        if isinstance(request, MultiRead):
            value = [self.read(item) for item in request.operations]
        elif isinstance(request, GetData):
            value = self.read(request)
            error = error or (value if isinstance(value, Exception) else None)
        callback(SimpleNamespace(exception=error, value=value))

    def read(self, request):
        self.read_paths.append(request.path)
        if request.path in self.forbidden:
            return NoAuthError()
        if request.path not in self.content:
            return NoNodeError()
        if isinstance(request, GetData):
            return self.content[request.path][0], self.stat(request.path)
        assert isinstance(request, GetChildren)
        return [path.rpartition("/")[2] for path in self.content if path.rpartition("/")[0] == request.path]

    def settle(self):
        while self.asked:
            self.answer()


@pytest.fixture
def told():
    return []


@pytest.fixture
def server():
    return Server({"/nodepool/nodes": (b"", 1), "/nodepool/nodes/1": (b"one", 2)})


@pytest.fixture
def feed(server, told):
    feed = CacheSync(server, Tree(), told.append)
    feed.start(watch=True)
    server.settle()
    assert feed.wait(0)
    assert feed.problem is None
    return feed


def test_the_walk(feed, told):
    assert feed.tree.content() == ({"/nodepool/nodes": b"", "/nodepool/nodes/1": b"one"}, set())
    assert told == []


def test_who_looks_at_images_only_reads_and_follows_no_nodes_and_no_requests(told: list[str]):
    image = "/nodepool/images/debian"
    server = Server({"/nodepool/nodes": (b"", 1), "/nodepool/nodes/1": (b"one", 2), image: (b"", 3)})
    feed = CacheSync(server, Tree(), told.append, IMAGE_ROOTS, ())  # type: ignore[arg-type]
    feed.start(watch=True)
    server.settle()
    server.on_event(CREATED, "/nodepool/nodes/2")
    server.on_event(CHANGED, "/nodepool/nodes/1")
    server.on_event(CREATED, "/nodepool/nodes/1/lock")
    server.on_event(CREATED, "/nodepool/requests/100-0000000001")
    server.on_event(CREATED, "/nodepool/requests-lock/100-0000000001/a__lock__0000000000")
    assert (server.asked, told) == ([], [])
    server.content[image] = (b"news", 4)
    server.on_event(CHANGED, image)
    server.settle()
    assert feed.tree.content()[0][image] == b"news" and told == [image]
    assert [path for path in server.read_paths if not path.startswith(IMAGE_ROOTS)] == []


def test_events_while_an_answer_is_awaited_cost_one_more_reading(server, feed, told):
    for mzxid in range(3, 8):
        server.content["/nodepool/nodes/1"] = (b"%d" % mzxid, mzxid)
        server.on_event(CHANGED, "/nodepool/nodes/1")
    assert len(server.asked) == 1
    server.answer()
    assert len(server.asked) == 1
    server.answer()
    assert server.asked == []
    assert feed.tree.entry("/nodepool/nodes/1").data == b"7"
    assert told == ["/nodepool/nodes/1"]


def test_a_node_created_and_deleted_at_once_leaves_nothing(server, feed):
    server.on_event(CREATED, "/nodepool/nodes/2")
    server.on_event(DELETED, "/nodepool/nodes/2")
    server.settle()
    assert feed.tree.names("/nodepool/nodes") == ["1"]


def test_a_record_that_vanishes_during_the_walk_ends_nothing(told):
    server = Server({"/nodepool/nodes": (b"", 1), "/nodepool/nodes/1": (b"one", 2), "/nodepool/nodes/2": (b"two", 3)})
    feed = CacheSync(server, Tree(), told.append)  # type: ignore[arg-type]
    feed.start(watch=True)
    while "/nodepool/nodes/1" not in server.read_paths:
        if any("/nodepool/nodes/1" in repr(request) for request, _answer in server.asked):
            server.content.pop("/nodepool/nodes/1", None)  # listed, and gone before it is read
        server.answer()
    server.settle()
    assert feed.wait(0) and feed.problem is None
    assert feed.tree.names("/nodepool/nodes") == ["2"]


def test_locks_are_followed_without_reading(server, feed, told):
    for path in ("/nodepool/nodes/1/lock", "/nodepool/nodes/1/lock/a__lock__0000000000"):
        server.on_event(CREATED, path)
    assert server.asked == []
    assert feed.tree.is_locked("/nodepool/nodes/1/lock")
    server.on_event(DELETED, "/nodepool/nodes/1/lock/a__lock__0000000000")
    assert not feed.tree.is_locked("/nodepool/nodes/1/lock")
    assert told[-1] == "/nodepool/nodes/1/lock/a__lock__0000000000"


def test_what_is_not_followed_costs_nothing(server, feed, told):
    server.on_event(CREATED, "/nodepool/elections/stats/x")
    assert (server.asked, told) == ([], [])


def test_a_walk_that_breaks_says_so(server, told):
    feed = CacheSync(server, Tree(), told.append)
    feed.start(watch=True)
    server.answer()
    server.answer(ConnectionLoss())
    assert feed.wait(0)
    assert isinstance(feed.problem, ConnectionLoss)


def test_a_document_that_may_not_be_read_stops_nothing_and_is_told(server, told):
    server.forbidden.add("/nodepool/nodes/1")
    unreadable: list[str] = []
    feed = CacheSync(server, Tree(), told.append, unreadable=unreadable.append)
    feed.start(watch=True)
    server.settle()
    assert feed.wait(0)
    assert feed.problem is None
    assert set(unreadable) == {"/nodepool/nodes/1"}
    entry = feed.tree.entry("/nodepool/nodes/1")
    assert entry is not None, "it exists"
    assert entry.read()[0] is None


def test_a_root_that_may_not_be_read_ends_the_walk_with_its_reason(server, told):
    server.forbidden.add("/nodepool/nodes")
    feed = CacheSync(server, Tree(), told.append)
    feed.start(watch=True)
    server.settle()
    assert feed.wait(0)
    assert isinstance(feed.problem, NoAuthError)


def walked(server, **options):
    feed = CacheSync(server, Tree(), lambda _path: None, **options)
    feed.start(watch=True)
    requests = 0
    while server.asked:
        requests += 1
        server.answer()
    assert feed.wait(0)
    assert feed.problem is None
    return feed, requests


def test_many_are_read_in_few_requests():
    content = {"/nodepool/nodes": (b"", 1)}
    for number in range(1000):
        content[f"/nodepool/nodes/{number:010d}"] = (b"node", 2)
        content[f"/nodepool/nodes/{number:010d}/lock"] = (b"", 2)
        content[f"/nodepool/nodes/{number:010d}/lock/x__lock__0000000000"] = (b"", 2)
    server = Server(content)
    feed, requests = walked(server)
    assert len(feed.tree.names("/nodepool/nodes")) == 1000
    assert feed.tree.is_locked("/nodepool/nodes/0000000999/lock")
    # The watch, the roots, the names below; then the documents and the locks, a hundred at a time.
    assert requests == 1 + 1 + 1 + 10 + 10
    assert len(server.read_paths) < 2 * 1000 + 20


@pytest.mark.parametrize("chroot", ["", "/ci"])
def test_the_locks_of_nodes_are_not_asked_for_where_they_do_not_matter(chroot):
    provider = "/nodepool/stackci/providers/east"
    content = {"/nodepool/nodes": (b"", 1), "/nodepool/stackci": (b"", 1), "/nodepool/requests": (b"", 1)}
    locks = ["/nodepool/nodes/1/lock", f"{provider}/lock", "/nodepool/requests-lock/5"]
    for path in ("/nodepool/nodes/1", "/nodepool/requests/5", f"{provider[:-5]}", provider, *locks):
        content[path] = (b"", 2)
    content |= {f"{lock}/x__lock__0000000000": (b"", 2) for lock in locks}
    server = Server({chroot + path: known for path, known in content.items()}, chroot)

    def locked(**options):
        feed, _requests = walked(server, **options)
        assert feed.tree.entry("/nodepool/nodes/1") is not None
        return [lock for lock in locks if feed.tree.is_locked(lock)]

    assert locked() == locks
    assert locked(locks=["/nodepool/nodes"]) == locks[:2]
    server.read_paths.clear()
    assert locked(locks=[]) == [f"{provider}/lock"]
    assert not [path for path in server.read_paths if "requests-lock" in path or "nodes/1/" in path]


def test_a_node_with_something_else_than_a_lock_below_it():
    strange = {
        "/nodepool/nodes": (b"", 1),
        "/nodepool/nodes/1": (b"one", 2),
        "/nodepool/nodes/1/other": (b"strange", 3),
        "/nodepool/nodes/2": (b"two", 4),
        "/nodepool/nodes/2/other": (b"strange", 5),
        "/nodepool/nodes/2/lock": (b"", 6),
        "/nodepool/nodes/2/lock/x__lock__0000000000": (b"", 7),
    }
    feed, _requests = walked(Server(strange))
    documents, locks = feed.tree.content()
    assert locks == {path for path in strange if "/lock" in path}
    assert documents == {path: data for path, (data, _mzxid) in strange.items() if path not in locks}


def test_locks_of_requests_are_those_of_living_requests():
    content = {
        "/nodepool/requests": (b"", 1),
        "/nodepool/requests/1": (b"one", 2),
        "/nodepool/requests-lock/1": (b"", 2),
        "/nodepool/requests-lock/1/x__lock__0000000000": (b"", 2),
        "/nodepool/requests-lock/2": (b"", 2),
    }
    feed, _requests = walked(Server(content))
    assert feed.tree.is_locked("/nodepool/requests-lock/1")
    assert not feed.tree.exists("/nodepool/requests-lock/2")


def test_what_did_not_change_need_not_be_parsed_again(server, told):
    before = Tree()
    entry = Entry(b"one", server.stat("/nodepool/nodes/1"))
    before.carry("/nodepool/nodes/1", entry)
    feed = CacheSync(server, before, told.append)
    feed.start(watch=False)
    server.settle()
    assert feed.tree.entry("/nodepool/nodes/1") is entry


def test_the_echo_of_an_own_write_is_neither_read_nor_told(server, feed, told):
    awaited = feed.own_writes.expect(["/nodepool/nodes/1"])
    server.on_event(CHANGED, "/nodepool/nodes/1")
    feed.answered(awaited, {"/nodepool/nodes/1"})
    assert (server.asked, told) == ([], [])


def test_a_write_of_somebody_else_is_read_though_ours_was_refused(server, feed, told):
    awaited = feed.own_writes.expect(["/nodepool/nodes/1"])
    server.content["/nodepool/nodes/1"] = (b"theirs", 9)
    server.on_event(CHANGED, "/nodepool/nodes/1")
    assert server.asked == []
    feed.answered(awaited, set())
    server.settle()
    assert feed.tree.entry("/nodepool/nodes/1").data == b"theirs"
    assert told == ["/nodepool/nodes/1"]


def test_an_own_lock_is_in_the_cache_and_wakes_nobody(server, feed, told):
    prefix = "/nodepool/nodes/1/lock/a__lock__"
    awaited = feed.own_writes.expect([prefix])
    server.on_event(CREATED, f"{prefix}0000000000")
    feed.answered(awaited, {f"{prefix}0000000000"})
    assert feed.tree.is_locked("/nodepool/nodes/1/lock")
    assert told == []
