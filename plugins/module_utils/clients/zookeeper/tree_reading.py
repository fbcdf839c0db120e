# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A single read of the tree, or of parts of it, without a watch, a lock, a registration or a write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ...model.bounded_text import marked
from ...model.config.types import ZooKeeperSettings
from ...model.errors import StoreError
from ...model.own_tree import KNOWN_POOLS
from .link import connect_errors, paths
from .link.session import Session
from .link.tree import Entry, Tree
from .steady import TRIES, Moves, is_steady

T = TypeVar("T")

EMPTY = "it is empty: a client locked a record that had been deleted"


@dataclass(frozen=True)
class Aged:
    """About a tree that was kept earlier, because ZooKeeper cannot be reached.

    :param seen: UNIX time until which the tree was up to date.
    :param problem: why ZooKeeper cannot be reached.
    """

    seen: float
    problem: str


@dataclass(slots=True)
class Found:
    """A znode and its content.

    :param document: the JSON object; empty when there is none.
    :param problem: why there is no JSON object; None when there is one.
    :param written: UNIX time of the last write.
    """

    name: str
    document: Mapping[str, Any]
    problem: str | None
    locked: bool
    written: float
    _facts: dict[Callable[[Found], Any], Any] | None = field(default=None, init=False, repr=False, compare=False)

    def fact(self, find: Callable[[Found], T]) -> T:
        """Return the result of *find* for this record, computed only once while the znode does not change.

        :param find: a module-level function, not a new function for each call. Its result is shared: callers must not
            change it.
        """
        if self._facts is None:
            self._facts = {}
        if find not in self._facts:
            self._facts[find] = find(self)
        known: T = self._facts[find]
        return known


class TreeReading:
    """The documents that were read. All paths are full paths (``/nodepool/…``).

    :param single: documents that were read in addition to the tree, by path.
    :param aged: how old the tree is; None when it was just read.
    :param lasting: True keeps the records with the tree, for the next computation. False makes a record on each call;
        a record that is needed only once then takes no memory and half the time.
    """

    def __init__(
        self,
        tree: Tree,
        single: Mapping[str, Entry] | None = None,
        *,
        lasting: bool = True,
        aged: Aged | None = None,
    ) -> None:
        self.aged = aged
        self._tree = tree
        self._single = dict(single or {})
        self._lasting = lasting

    def below(self, root: str) -> Iterator[Found]:
        """Yield each child of *root* that is not a lock, by name."""
        for name, entry in self._tree.documents(root):
            lock = f"{paths.REQUEST_LOCKS}/{name}" if root == paths.REQUESTS else f"{root}/{name}/{paths.LOCK}"
            yield self._found(marked(name), entry, self._tree.is_locked(lock))

    def facts(self, root: str, find: Callable[[Found], T]) -> Iterable[T]:
        """Return the result of *find* for each child of *root*; see :meth:`Found.fact`."""
        return (found.fact(find) for found in self.below(root))

    def one(self, path: str) -> Found | None:
        """Return one znode; None when there is none, or when it was not read."""
        entry = self._single.get(path) or self._tree.entry(path)
        if entry is None:
            return None
        return self._found(marked(paths.split(path)[1]), entry, self._tree.is_locked(f"{path}/{paths.LOCK}"))

    def names(self, root: str) -> list[str]:
        """Return the names of all children of *root*, sorted."""
        return list(map(marked, self._tree.names(root)))

    def kept(self, facts: Mapping[str, Sequence[Callable[[Found], Any]]] | None = None) -> TreeReading:
        """Return a reading for one computation: the records of a folder are made only once.

        :param facts: the functions that :meth:`facts` will be called with, by root. Their results are computed
            together, and no record of these folders is kept.
        """
        return _Kept(self, facts or {})

    def _found(self, name: str, entry: Entry, locked: bool) -> Found:
        if not self._lasting:
            return _record(name, entry, entry.read(), locked)
        known: Found | None = entry.record
        if known is None or known.locked is not locked:
            known = entry.record = _record(name, entry, entry.document(), locked)
        return known

    @property
    def has_launcher(self) -> bool:
        """True when a launcher is registered, or was registered lately (its pools are stored)."""
        return any(
            self._tree.names(root)
            for root in (f"{paths.COMPONENTS}/launcher", f"{paths.COMPONENTS}/pool", paths.own(KNOWN_POOLS))
        )


class _Kept(TreeReading):
    """The reading that :meth:`TreeReading.kept` returns."""

    def __init__(self, reading: TreeReading, facts: Mapping[str, Sequence[Callable[[Found], Any]]]) -> None:
        super().__init__(reading._tree, reading._single, lasting=reading._lasting)
        self._finders = facts
        self._facts: dict[str, dict[Callable[[Found], Any], list[Any]]] = {}
        self._records: dict[str, list[Found]] = {}

    def below(self, root: str) -> Iterator[Found]:
        """See :meth:`TreeReading.below`."""
        if root in self._finders:
            return super().below(root)
        if root not in self._records:
            self._records[root] = list(super().below(root))
        return iter(self._records[root])

    def facts(self, root: str, find: Callable[[Found], T]) -> Iterable[T]:
        """See :meth:`TreeReading.facts`."""
        finders = self._finders.get(root, ())
        if find not in finders:
            return super().facts(root, find)
        if root not in self._facts:
            self._facts[root] = {finder: [] for finder in finders}
            for found in super().below(root):
                for finder, results in self._facts[root].items():
                    results.append(found.fact(finder))
        return self._facts[root][find]


def _record(name: str, entry: Entry, read: tuple[Mapping[str, Any] | None, str | None], locked: bool) -> Found:
    document, why = read
    problem = None if document is not None else why or EMPTY
    return Found(name, document or {}, problem, locked, entry.stat.mtime / 1000.0)


def read_tree(
    settings: ZooKeeperSettings,
    roots: Iterable[str],
    more: Callable[[TreeReading], Iterable[str]] = lambda _reading: (),
    *,
    locks: Iterable[str] = paths.LOCKED,
    lasting: bool = False,
    connect_timeout: float = 10.0,
    moves: Moves | None = None,
) -> TreeReading:
    """Read everything below *roots*, then single documents.

    :param more: returns the paths of the single documents, given the reading of the roots.
    :param locks: the roots whose locks of nodes or requests are read. Records in the others count as not locked.
    :param lasting: see :class:`TreeReading`; True for a caller that reads the same records again and again.
    :param connect_timeout: seconds for connecting, and for each hundred single documents; the roots have a minute.
    :param moves: read again, TRIES times at most, when one of these moves happened during the reading.
    :raises StoreError: ZooKeeper cannot be reached, or has no Nodepool tree at the chroot of the settings.
    :raises MissingLibraryError: kazoo is not installed.
    """
    for _attempt in range(TRIES):
        session = Session(settings, connect_timeout=connect_timeout)
        try:
            session.open(watch=False, roots=roots, locks=locks)
            _refuse_nothing(session, settings)
            single = session.read_together(more(TreeReading(session.tree, lasting=lasting)))
            found = {path: Entry(*read) for path, read in single.items()}
            reading = TreeReading(session.tree, found, lasting=lasting)
            if moves is None or is_steady(session, moves):
                break
        finally:
            session.close()
            session.forget()
    return reading


def place_of(settings: ZooKeeperSettings) -> str:
    """Return where the tree is, for people: ``chroot /ci of zk1:2181``."""
    hosts, chroot = ", ".join(connect_errors.host_names(settings)), settings.servers[0].chroot
    return f"chroot {chroot} of {hosts}" if chroot else hosts


def _refuse_nothing(session: Session, settings: ZooKeeperSettings) -> None:
    """Check that the chroot and the tree exist.

    :raises StoreError: there is no tree.
    """
    hosts, chroot = ", ".join(connect_errors.host_names(settings)), settings.servers[0].chroot
    if session.read("") is None:
        raise StoreError(
            f"ZooKeeper at {hosts} has no chroot {chroot}: correct chroot in zookeeper-servers, or start a"
            f" launcher, which creates it"
        )
    if session.read(paths.ROOT) is None:
        raise StoreError(
            f"the tree is empty: there is no {paths.ROOT} in {place_of(settings)}; no launcher or builder has run yet"
        )
