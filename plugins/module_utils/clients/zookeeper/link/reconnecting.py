# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A client that always keeps a session: it replaces an expired session by a new one.

kazoo reconnects within a session by itself. When the session has expired, or could have because there was no
connection for its whole time-out, its client is discarded and a new one is made, with the next generation number. In
both cases the tree is read anew before the state is ``connected`` again.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial

from ....model.config.types import ZooKeeperSettings
from ....model.errors import StoreDenied, StoreError, StoreUnreachable
from . import connect_errors, paths
from .accounts import require_sasl
from .cache_sync import CacheSync
from .four_letters import plain_remark
from .store_answers import translated
from .tree import Tree
from .tree_client import (
    DEAD,
    DOWN,
    UP,
    TreeClient,
    require_kazoo,
)
from .unusable_documents import UnusableDocuments

_LOG = logging.getLogger(__name__)
_WALK_TIMEOUT = 60.0
_CLOSE_TIMEOUT = 3.0
_PAUSES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_PATIENCE = 4
_AMEND_PAUSE = 1.0
_AMEND_TRIES = 30

CONNECTED, SUSPENDED, LOST = "connected", "suspended", "lost"


class ReconnectingClient:
    """The present session, its state and the tree that was read over it.

    :param connect_timeout: seconds for connecting, and for any single operation.
    """

    def __init__(self, settings: ZooKeeperSettings, *, connect_timeout: float = 10.0) -> None:
        self._settings = settings
        self.timeout = connect_timeout
        self.state = LOST
        self.generation = 0
        self.tree = Tree()
        self.feed: CacheSync | None = None
        self.client: TreeClient | None = None
        self.mutable = False
        self.after_sync: list[Callable[[], None]] = []
        """Called after each read of the whole tree: first in the thread of :meth:`open`, later in the supervisor's."""
        self._callbacks: list[Callable[[str], None]] = []
        self._amends: list[Callable[[], bool]] = []
        self._tries = 0
        self._wake = threading.Condition()
        self._link = DEAD
        self._down_since = 0.0
        self._breaks = 0
        self._closing = False
        self._supervisor: threading.Thread | None = None
        self.unusable = UnusableDocuments()
        self._closed: set[str] = set()
        """The nodes, requests, builds and uploads that this client cannot change."""
        self.refusal = ""
        """Why ZooKeeper does not take the account of this client any more; "" while it does, or is not reached."""
        self._watch = True
        self._roots: Iterable[str] = paths.DOCUMENT_ROOTS
        self._locks: Iterable[str] = paths.LOCKED

    def open(
        self,
        *,
        watch: bool = True,
        mutable: bool | None = None,
        roots: Iterable[str] = paths.DOCUMENT_ROOTS,
        locks: Iterable[str] = paths.LOCKED,
    ) -> None:
        """Connect and read the tree; see :meth:`Store.open`.

        :param mutable: False: nothing is ever written, not even the chroot; None: the same as *watch*.
        :param locks: see :class:`CacheSync`.
        """
        require_kazoo()
        require_sasl(self._settings.auth)
        if self.client is not None:
            raise StoreError("the ZooKeeper session is already open")
        if self._settings.tls is not None:
            connect_errors.check_tls(self._settings.tls)
        self._watch = watch
        self.mutable = watch if mutable is None else mutable
        self._roots, self._locks = roots, locks
        self._closing = False
        try:
            self._connect(self.timeout)
            self._synchronize()
        except BaseException:
            self.close()
            raise
        self._supervisor = threading.Thread(target=self._supervise, name="zookeeper-session", daemon=True)
        self._supervisor.start()

    def close(self) -> None:
        """End the session."""
        with self._wake:
            self._closing = True
            self.mutable = False
            client, self.client = self.client, None
            self._wake.notify_all()
        if client is not None:
            client.discard(wait=_CLOSE_TIMEOUT)
        supervisor, self._supervisor = self._supervisor, None
        if supervisor is not None and supervisor is not threading.current_thread():
            supervisor.join(_CLOSE_TIMEOUT)
        self.state = LOST

    def forget(self) -> None:
        """Drop the tree after :meth:`close`. Its memory is free as soon as no reader needs it."""
        if self.feed is not None:
            self.feed.tree = Tree()  # the client and the feed refer to each other
        self.tree, self.feed = Tree(), None

    def on_change(self, callback: Callable[[str], None]) -> None:
        """See :meth:`Store.on_change`."""
        self._callbacks.append(callback)

    def notify(self, path: str) -> None:
        """Call every callback that was registered."""
        for callback in self._callbacks:
            try:
                callback(path)
            except Exception:
                _LOG.exception("a callback for changes failed at %r", path)

    def make_up_for(self, amend: Callable[[], bool]) -> None:
        """Have an operation that could not be finished completed later.

        :param amend: called in the supervisor's thread while there is a connection, once a second until it returns
            True, at most ``_AMEND_TRIES`` times after a reconnection.
        """
        with self._wake:
            self._amends.append(amend)
            self._tries = 0
            self._wake.notify_all()

    def _amend(self) -> None:
        with self._wake:
            amends, self._amends = self._amends, []
            self._tries += 1
            again = self._tries < _AMEND_TRIES
        for amend in amends:
            done = False

            def attempt(amend: Callable[[], bool] = amend) -> None:
                nonlocal done
                done = amend()

            if not (self._try(attempt) and done) and again:
                with self._wake:
                    self._amends.append(amend)

    # -- connecting ---------------------------------------------------------------------------------------------

    def _connect(self, timeout: float, *, seen_zxid: int = 0) -> None:
        """Open a new session.

        :param seen_zxid: a server that has not reached this transaction refuses the session.
        :raises StoreError: no session within *timeout* seconds.
        """
        hosts = connect_errors.connection_string(self._settings)
        client = TreeClient(
            hosts,
            tls=self._settings.tls,
            auth=self._settings.auth,
            timeout=self._settings.timeout,
            attempt_timeout=max(1.0, timeout / (len(self._settings.servers) + 1)),
            on_link=self._on_link,
            on_event=lambda _kind, _path: None,
        )
        client.last_zxid = client.seen_zxid = seen_zxid
        with self._wake:
            before, self.client = self.client, client
            self._link = DOWN
            self._down_since = time.monotonic()
        if before is not None:
            before.discard()
        client.start_async()
        with self._wake:
            self._wake.wait_for(lambda: self._closing or self._link != DOWN, timeout)
            up = self._link == UP and not self._closing
            if up:
                self.generation += 1
                client.generation = self.generation
        if not up:
            failures, tried = dict(client.failures), dict(client.tried)
            client.discard()
            refusal = connect_errors.refusal(self._settings, failures)
            if refusal:
                raise StoreDenied(refusal)
            told = connect_errors.explain(self._settings, failures, timeout, tried)
            raise StoreUnreachable(told + plain_remark(self._settings))

    def _synchronize(self) -> None:
        """Read the tree anew and set the state to connected.

        :raises StoreError: the connection broke, or the walk took too long.
        """
        client = self.client
        if client is None:
            raise StoreError("the ZooKeeper session was closed")
        breaks = self._breaks  # the watch ends with its connection, also where the next one stands already
        if self.mutable:
            self._make_chroot(client)
        feed = CacheSync(client, self.tree, self.notify, self._roots, self._locks, self._tell_unreadable, self._closed)
        feed.start(watch=self._watch)
        if not feed.wait(_WALK_TIMEOUT) or feed.problem is not None:
            hosts = ", ".join(connect_errors.host_names(self._settings))
            told = translated(feed.problem, paths.ROOT, "read") if feed.problem is not None else None
            if isinstance(told, StoreDenied):
                raise told
            raise StoreUnreachable(
                f"the tree below {paths.ROOT} could not be read from {hosts}: "
                f"{told or f'it took more than {_WALK_TIMEOUT:g} s'}"
            )
        with self._wake:
            if self._link != UP or self.client is not client or self._breaks != breaks:
                raise StoreUnreachable("the connection to ZooKeeper broke while the tree was being read")
            self.tree = feed.tree
            self.feed = feed
            self.state = CONNECTED
            self.refusal = ""
            self._tries = 0
        for todo in self.after_sync:
            with contextlib.suppress(StoreError):
                todo()
        self.notify("")

    def _tell_unreadable(self, path: str) -> None:
        self.unusable.add(path, "its access list in ZooKeeper does not allow this client to read it")

    def _make_chroot(self, client: TreeClient) -> None:
        """Create the znodes of the chroot, which all paths are relative to."""

    # -- after the connection broke -----------------------------------------------------------------------------

    def _on_link(self, client: TreeClient, link: str) -> None:
        with self._wake:
            if client is not self.client:
                return
            self._link = link
            if link == DOWN:
                self._breaks += 1
                self._down_since = time.monotonic()
            was, self.state = self.state, {UP: self.state, DOWN: SUSPENDED, DEAD: LOST}[link]
            if was == LOST:
                self.state = LOST  # while a first connection is being made
            changed = was != self.state
            self._wake.notify_all()
        if changed:
            self.notify("")

    def _supervise(self) -> None:
        while not self._closing:
            if not self._try(self._look_after):
                self._pause(0)

    def _look_after(self) -> None:
        """Wait for changes of the connection, and handle them."""
        while True:
            with self._wake:
                connected = self._link == UP and self.state == CONNECTED
                if connected and not self._closing:
                    # The wait with a time-out sometimes ends without need; that costs less than another flag.
                    self._wake.wait(_AMEND_PAUSE if self._amends else None)
                    connected = self._link == UP and self.state == CONNECTED
                link = UP if connected else self._await_link()
            if self._closing:
                return
            if connected:
                self._amend()
            elif link != UP:
                self._replace_client()
            elif not self._try(self._synchronize):
                self._pause(0)

    def _await_link(self) -> str:
        """Wait for the connection to come back within the session's time-out. The caller holds the condition."""
        client = self.client
        limit = self._down_since + (client.negotiated_timeout if client else 0.0)
        while self._link == DOWN and not self._closing:
            left = limit - time.monotonic()
            if left <= 0:
                return DEAD
            self._wake.wait(left)
        return self._link

    def _replace_client(self) -> None:
        """Discard the session, which is gone, and open the next one."""
        with self._wake:
            client = self.client
            changed = self.state != LOST
            self.state = LOST
            self._link = DEAD
        if client is not None:
            client.discard()
        if changed:
            self.notify("")
        seen = client.seen_zxid if client is not None else 0
        attempt = 0
        while not self._closing:
            if attempt >= _PATIENCE:
                seen = 0  # no server has reached it: ZooKeeper's data was restored from an older state
            if self._try(partial(self._connect, self.timeout, seen_zxid=seen)) and self._try(self._synchronize):
                return
            if self.refusal:
                self.notify("")
            self._pause(attempt)
            attempt += 1

    def _pause(self, attempt: int) -> None:
        limit = time.monotonic() + _PAUSES[min(attempt, len(_PAUSES) - 1)]
        with self._wake:
            self._wake.wait_for(lambda: self._closing, limit - time.monotonic())

    def _try(self, step: Callable[[], object]) -> bool:
        """Call *step*; return False when it raised any exception."""
        try:
            step()
        except StoreError as problem:
            _LOG.warning("%s", problem)
            self.refusal = str(problem) if isinstance(problem, StoreDenied) else ""
            return False
        except Exception as problem:
            # A short lack of file descriptors or memory must not end the thread that everything depends on.
            _LOG.exception("the thread that keeps the connection to ZooKeeper failed unexpectedly")
            self.unusable.tell(
                f"ZooKeeper: the connection could not be checked: {type(problem).__name__}: {problem}; retrying"
                f" (check the free file descriptors and memory of this host)"
            )
            return False
        return True
