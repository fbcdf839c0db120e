# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ZooKeeper in memory, below the real Store: only the wire is missing.

Requests are kazoo's own, answered as the server answers them (sequences, versions, ephemerals, kazoo's exceptions), and
the real session, cache, records and locks work on top. Changes reach other sessions after *lag* seconds, which may be
others for data, locks and children.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

from kazoo.exceptions import (
    BadVersionError,
    ConnectionLoss,
    KazooException,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
)
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.serialization import Create2, Delete, GetChildren, GetData, SetData

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.components import (
    Components,
    Registration,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.image_records import Images
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.multi import (
    Multi,
    changes,
    failure,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.reconnecting import (
    CONNECTED,
    LOST,
    SUSPENDED,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.session import Session
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.store_answers import (
    StoreAnswer,
    Unanswered,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.tree import Tree
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.node_records import Nodes
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.own import OwnDocuments
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.raw_images import RawImages
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.request_records import Requests
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.store import Store
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import (
    ZooKeeperServer,
    ZooKeeperSettings,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.documents import parse
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import StoreError
from tests.support.memory_znodes import Stat, Znode
from tests.support.virtual_time import Agenda, Fiber, FiberLock, Killed, SessionOwn, Taken

SESSION_TIMEOUT = 11.0
LARGEST_REQUEST = 1_048_575
"""Bytes of the largest request that ZooKeeper takes by default; it ends the connection for a larger one."""
SETTINGS = ZooKeeperSettings(servers=(ZooKeeperServer("memory", 2181),))
DATA, LOCKS, CHILDREN = "data", "locks", "children"
"""Kinds of changes: of a document, of who has a lock, of which documents there are."""
Lag = Callable[[str], float]
"""Tells for each change of a kind after how many seconds it is known."""
_EPHEMERAL, _SEQUENCE = 1, 2
_HANDLER = SequentialThreadingHandler()


class MemoryZooKeeper:
    """The ensemble.

    :param lag: seconds after which a change of one session is known to the others.
    """

    def __init__(self, agenda: Agenda, lag: float | Lag = 0.0) -> None:
        self.agenda = agenda
        self.lag = lag
        self.travel = 0.0
        """Seconds that a request of a fiber is on its way, and its answer as well; others go on meanwhile."""
        self.znodes: dict[str, Znode] = {"": Znode(b"", 0, 0, 0)}
        self.names: dict[str, set[str]] = {"": set()}
        self.sessions: list[MemorySession] = []
        self.writes = 0
        self.too_large: list[str] = []
        """The requests that were larger than ZooKeeper takes."""
        self._zxid = 0
        self._owners = 0
        self._untold: list[str] | None = None
        """What is to be told when a transaction is done; None outside of one."""

    def store(self) -> MemoryStore:
        """A new client with a session of its own, open."""
        store = MemoryStore(MemorySession(self))
        store.open()
        return store

    def new_owner(self) -> int:
        """The id of a new session."""
        self._owners += 1
        return self._owners

    def written(self, path: str) -> int | None:
        """The transaction that wrote a znode last; None when there is no such znode."""
        znode = self.znodes.get(path)
        return None if znode is None else znode.mzxid

    def stat(self, path: str) -> Stat:
        """Of a znode that exists."""
        znode = self.znodes[path]
        children = len(self.names[path])
        changes = 2 * znode.created - children
        times = znode.mtime, znode.ctime
        return Stat(znode.czxid, znode.mzxid, znode.version, znode.owner, children, *times, changes)

    def document(self, path: str) -> dict[str, Any] | None:
        """The JSON object at *path*, None when there is none."""
        znode = self.znodes.get(path)
        return parse(znode.data) if znode else None

    def store_raw(self, path: str, data: bytes) -> None:
        """Somebody writes whatever he likes to *path*, parents included."""
        parent, name = paths.split(path)
        if path not in self.znodes:
            if parent not in self.znodes:
                self.store_raw(parent, b"")
            self.znodes[path] = Znode(b"", 0, 0, 0)
            self.names[path] = set()
            self.names[parent].add(name)
        self._zxid += 1
        znode = self.znodes[path]
        znode.data, znode.mzxid, znode.version = data, self._zxid, znode.version + 1
        self._tell(path, None)

    def answer(self, request: Any, session: MemorySession) -> Any:
        """Carry *request* out; raises kazoo's exceptions."""
        size = sum(len(getattr(one, "data", b"") or b"") for one in getattr(request, "operations", [request]))
        if size > LARGEST_REQUEST:
            self.too_large.append(f"{getattr(request, 'path', 'several znodes')}: {size} bytes")
            raise ConnectionLoss
        if isinstance(request, Multi):
            return self._transact(request.operations, session)
        if isinstance(request, GetData):
            return self._existing(request.path).data, self.stat(request.path)
        if isinstance(request, GetChildren):
            self._existing(request.path)
            return sorted(self.names[request.path])
        self.writes += 1
        return self._single(request, session)

    def end_session(self, owner: int) -> None:
        """Remove what lives only as long as that session."""
        for path in [path for path, znode in self.znodes.items() if znode.owner == owner]:
            self._drop(path, None)

    def _existing(self, path: str) -> Znode:
        znode = self.znodes.get(path)
        if znode is None:
            raise NoNodeError
        return znode

    def _create(self, request: Any, session: MemorySession) -> tuple[str, Stat]:
        path = request.path
        parent = self._existing(paths.split(path)[0])
        if request.flags & _SEQUENCE:
            path = f"{path}{parent.created:010d}"
        if path in self.znodes:
            raise NodeExistsError
        parent.created += 1
        self._zxid += 1
        owner = session.owner if request.flags & _EPHEMERAL else 0
        now = int(self.agenda.now * 1000)
        self.znodes[path] = Znode(request.data, self._zxid, self._zxid, owner, mtime=now, ctime=now)
        self.names[path] = set()
        self.names[paths.split(path)[0]].add(paths.split(path)[1])
        self._tell(path, session)
        return path, self.stat(path)

    def _set(self, request: Any, session: MemorySession) -> Stat:
        znode = self._existing(request.path)
        if request.version not in (-1, znode.version):
            raise BadVersionError
        self._zxid += 1
        znode.data, znode.mzxid, znode.version = request.data, self._zxid, znode.version + 1
        znode.mtime = int(self.agenda.now * 1000)
        self._tell(request.path, session)
        return self.stat(request.path)

    def _delete(self, request: Any, session: MemorySession) -> bool:
        if request.version not in (-1, self._existing(request.path).version):
            raise BadVersionError
        if self.names[request.path]:
            raise NotEmptyError
        self._drop(request.path, session)
        return True

    def _drop(self, path: str, session: MemorySession | None) -> None:
        self._zxid += 1
        del self.znodes[path], self.names[path]
        parent, name = paths.split(path)
        self.names[parent].discard(name)
        self._tell(path, session)

    def _transact(self, operations: tuple[Any, ...], session: MemorySession) -> list[Any]:
        """All of them or none: what was done before one fails is undone, and nobody hears of it."""
        before: dict[str, Znode | None] = {}
        told = self._untold = list[str]()
        results: list[Any] = []
        try:
            for operation in operations:
                for path in (operation.path, paths.split(operation.path)[0]):
                    if path not in before:
                        before[path] = znode.copy() if (znode := self.znodes.get(path)) else None
                results.append(self._single(operation, session))
        except KazooException as problem:
            self._undo(before, told)
            place = len(results)
            return [problem if at == place else RolledBackError() for at in range(len(operations))]
        finally:
            self._untold = None
        self.writes += 1
        for path in told:
            self._tell(path, session)
        return results

    def _undo(self, before: dict[str, Znode | None], touched: list[str]) -> None:
        """A znode that was deleted had no children left: those that it had before were deleted with it."""
        old = {path: znode for path, znode in before.items() if znode is not None}
        for path in [path for path in touched if path not in old]:
            parent, name = paths.split(path)
            self.znodes.pop(path, None)
            self.names.pop(path, None)
            self.names.get(parent, set()).discard(name)
        self.znodes.update(old)
        self.names.update({path: self.names.get(path, set()) for path in old})
        for parent, name in map(paths.split, old.keys() - {""}):
            self.names[parent].add(name)

    def _single(self, request: Any, session: MemorySession) -> Any:
        if isinstance(request, Create2):
            return self._create(request, session)
        if isinstance(request, SetData):
            return self._set(request, session)
        if isinstance(request, Delete):
            return self._delete(request, session)
        raise NotImplementedError(type(request).__name__)

    def _tell(self, path: str, writer: MemorySession | None) -> None:
        if self._untold is not None:
            self._untold.append(path)
            return
        if not paths.is_cached(path):
            return
        for session in list(self.sessions):
            lag = 0.0 if session is writer else self.lag(self._kind(path)) if callable(self.lag) else self.lag
            if lag <= 0:
                session.learn(path, own=session is writer)
            else:
                session.under_way.append(path)
                self.agenda.after(lag, partial(session.learn, path))

    def _kind(self, path: str) -> str:
        if paths.is_lock(path):
            return LOCKS
        znode = self.znodes.get(path)
        return CHILDREN if znode is None or znode.version == 0 else DATA


class MemorySession(Session):
    """A session of a client.

    *before* and *after* are called with each request and may raise (kazoo's ConnectionLoss, the session's Unanswered,
    Killed); *log* keeps what was changed.
    """

    def __init__(self, keeper: MemoryZooKeeper) -> None:
        super().__init__(SETTINGS)
        self._own: Any = SessionOwn(keeper.agenda)
        self.keeper = keeper
        self.owner = 0
        self.killed = False
        self.before: Callable[[Any], None] | None = None
        self.after: Callable[[Any], None] | None = None
        self.log: list[tuple[str, str]] = []
        self.under_way: list[str] = []
        """The paths of changes that this session does not know of yet."""

    @property
    def answers(self) -> bool:
        """True when nothing that it reads can fail, or is noticed by anybody."""
        return self.state == CONNECTED and not self.killed and self.before is None and self.after is None

    def open(self, *, watch: bool = True, mutable: bool | None = None, **what: Iterable[str]) -> None:
        """Connect; all of the tree is there, whatever *what* names."""
        self.mutable = watch if mutable is None else mutable
        self._connect_anew()

    def close(self) -> None:
        """End the session; its locks are gone at once."""
        if self.client is not None and not self.killed:
            self.mutable = False
            self._end()
            self.keeper.end_session(self.owner)
        self.state = LOST

    def kill(self) -> None:
        """The process is gone; ZooKeeper finds out when the session has timed out."""
        self.killed = True
        self.mutable = False
        self._end()
        self.state = LOST
        owner = self.owner
        self.keeper.agenda.after(SESSION_TIMEOUT, lambda: self.keeper.end_session(owner))

    def suspend(self, seconds: float) -> None:
        """No connection for a while; the session survives. Nothing happens while there is none anyway."""
        if self.state != CONNECTED:
            return
        self.state = SUSPENDED
        self._leave()
        self.notify("")

        def back() -> None:
            if self.state == SUSPENDED:
                self._read_all()

        self.keeper.agenda.after(seconds, back)

    def expire(self, seconds: float = 1.0) -> None:
        """The session is lost with its locks; a new one begins after a while."""
        if self.state == LOST:
            return
        self._end()
        self.state = LOST
        self.keeper.end_session(self.owner)
        self.notify("")
        self.keeper.agenda.after(seconds, lambda: None if self.killed else self._connect_anew())

    def submit(
        self,
        request: Any,
        *,
        client: Any,
        apply: Callable[[Any], None] | None = None,
        lost: Callable[[], None] | None = None,
    ) -> StoreAnswer:
        """Answered at once."""
        answer = StoreAnswer(apply, lost)
        try:
            value = self._answer(request, client)
        except (KazooException, Unanswered) as problem:
            answer(SimpleNamespace(exception=problem, value=None))
        else:
            answer(SimpleNamespace(exception=None, value=value))
        return answer

    def _answer(self, request: Any, client: Any) -> Any:
        self._look_for(client)
        if self.before is not None:
            self.before(request)
        self._travel(client)
        value = self.keeper.answer(request, self)
        self._note(request, value)
        self._travel(client)
        if self.after is not None:
            self.after(request)
        return value

    def _travel(self, client: Any) -> None:
        """What is under way when its session ends, or the connection, is lost."""
        if self.keeper.travel > 0:
            self.keeper.agenda.sleep(self.keeper.travel)
            self._look_for(client)

    def _look_for(self, client: Any) -> None:
        if self.killed:
            raise Killed
        if self.state != CONNECTED or client is not self.client:
            raise ConnectionLoss

    def make_up_for(self, amend: Callable[[], bool]) -> None:
        """Tried once a second."""

        def again() -> None:
            if self.killed or not self.mutable:
                return
            try:
                done = self.state == CONNECTED and amend()
            except StoreError:
                done = False
            if not done:
                self.keeper.agenda.after(1.0, again)

        self.keeper.agenda.after(1.0, again)

    def learn(self, path: str, own: bool = False) -> None:
        """Something has changed at *path*."""
        if path in self.under_way:
            self.under_way.remove(path)
        if self.state != CONNECTED:
            return
        if path not in self.keeper.znodes:
            self.tree.remove(path)
        elif paths.is_lock(path):
            self.tree.touch(path)
        else:
            news = self.tree.put(path, self.keeper.znodes[path].data, self.keeper.stat(path))
            if own or not news:
                return
        self.notify(path)

    def _note(self, request: Any, value: Any) -> None:
        if isinstance(request, Multi) and failure(value) is not None:
            return
        for change, answer in changes(request, value):
            if isinstance(change, Create2):
                self.log.append(("create", answer[0]))
            elif isinstance(change, SetData):
                self.log.append(("set", change.path))
            else:
                self.log.append(("delete", change.path))

    def _connect_anew(self) -> None:
        self.owner = self.keeper.new_owner()
        client: Any = SimpleNamespace(
            handler=_HANDLER, dead=False, chroot="", absolute=lambda path: path, unchroot=lambda path: path
        )
        self.client = client
        self.generation += 1
        client.generation = self.generation
        self._read_all()

    def _read_all(self) -> None:
        keeper, tree = self.keeper, Tree()
        for path in sorted(keeper.znodes):
            if not paths.is_cached(path):
                continue
            if paths.is_lock(path):
                tree.touch(path)
            else:
                tree.put(path, keeper.znodes[path].data, keeper.stat(path))
        self.tree = tree
        self.state = CONNECTED
        keeper.sessions.append(self)
        for todo in self.after_sync:
            with contextlib.suppress(StoreError):
                try:
                    todo()
                except Taken:
                    Fiber(keeper.agenda, todo)
        self.notify("")

    def _leave(self) -> None:
        if self in self.keeper.sessions:
            self.keeper.sessions.remove(self)

    def _end(self) -> None:
        self._leave()
        if self.client is not None:
            self.client.dead = True


class MemoryComponents(Components):
    """A registration is renewed by one fiber while another one changes it."""

    def register(
        self, kind: str, hostname: str, fields: Mapping[str, Any], *, root: str = paths.COMPONENTS
    ) -> Registration:
        """As the real one."""
        made = super().register(kind, hostname, fields, root=root)
        made._lock = FiberLock(self._session.keeper.agenda)  # type: ignore[attr-defined, assignment]
        return made


class MemoryStore(Store):
    """The real store over a session in memory."""

    def __init__(self, session: MemorySession) -> None:
        self._session = self.session = session
        self.nodes = Nodes(session)
        self.requests = Requests(session)
        self.images = Images(session)
        self.components = MemoryComponents(session)
        self.own = OwnDocuments(session)
        self.raw_images = RawImages(session)

    def settle(self) -> None:
        """As the real one: an answer comes after the events of all changes before it."""
        super().settle()
        for path in list(self.session.under_way):
            self.session.learn(path)
