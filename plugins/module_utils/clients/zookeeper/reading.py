# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One read of the tree, or of parts of it, without a watch, a lock, a registration or a write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ...model.config.types import ZooKeeperSettings
from ...model.errors import StoreError
from . import connect_errors, paths
from .session import Session
from .tree import Entry, Tree

T = TypeVar("T")

EMPTY = "it is empty: a record that was deleted before was locked"


@dataclass(slots=True)
class Found:
    """A znode and what is in it.

    *document* is empty where there is no JSON object; *problem* then says why. *written*: UNIX time of the last write.
    """

    name: str
    document: Mapping[str, Any]
    problem: str | None
    locked: bool
    written: float
    _facts: dict[Callable[[Found], Any], Any] | None = field(default=None, init=False, repr=False, compare=False)

    def fact(self, find: Callable[[Found], T]) -> T:
        """Return what *find* finds in this record, found once as long as the znode stays as it is.

        :param find: a function of a module, always the same one. Its result is shared: nothing may change it.
        """
        if self._facts is None:
            self._facts = {}
        if find not in self._facts:
            self._facts[find] = find(self)
        known: T = self._facts[find]
        return known


class TreeReading:
    """What was read. All paths are full ones (``/nodepool/…``).

    :param single: documents that were read besides, by path.
    :param lasting: True keeps the records with the tree, for the next computation. False makes a record each time it is
        asked for. What is asked for only once then takes no memory and half the time.
    """

    def __init__(self, tree: Tree, single: Mapping[str, Entry] | None = None, *, lasting: bool = True) -> None:
        self._tree = tree
        self._single = dict(single or {})
        self._lasting = lasting

    def below(self, root: str) -> Iterator[Found]:
        """Each child of *root* that is not a lock, by name."""
        for name, entry in self._tree.documents(root):
            lock = f"{paths.REQUEST_LOCKS}/{name}" if root == paths.REQUESTS else f"{root}/{name}/{paths.LOCK}"
            yield self._found(name, entry, self._tree.is_locked(lock))

    def facts(self, root: str, find: Callable[[Found], T]) -> Iterable[T]:
        """What *find* finds in each child of *root*, see :meth:`Found.fact`."""
        return (found.fact(find) for found in self.below(root))

    def one(self, path: str) -> Found | None:
        """One znode; None when there is none, or when it was not read."""
        entry = self._single.get(path) or self._tree.entry(path)
        if entry is None:
            return None
        return self._found(paths.split(path)[1], entry, self._tree.is_locked(f"{path}/{paths.LOCK}"))

    def names(self, root: str) -> list[str]:
        """Names of all children of *root*, sorted."""
        return self._tree.names(root)

    def kept(self, facts: Mapping[str, Sequence[Callable[[Found], Any]]] | None = None) -> TreeReading:
        """Return the same for one computation: the records of a folder are made once, however often asked for.

        :param facts: what will be asked of :meth:`facts`, by root. All of it is found together, and no record is kept.
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
        """True when a launcher is registered, or was there lately (its pools are remembered)."""
        return any(
            self._tree.names(root)
            for root in (f"{paths.COMPONENTS}/launcher", f"{paths.COMPONENTS}/pool", f"{paths.OWN}/pools")
        )


class _Kept(TreeReading):
    """See :meth:`TreeReading.kept`."""

    def __init__(self, reading: TreeReading, facts: Mapping[str, Sequence[Callable[[Found], Any]]]) -> None:
        super().__init__(reading._tree, reading._single, lasting=reading._lasting)
        self._finders = facts
        self._facts: dict[str, dict[Callable[[Found], Any], list[Any]]] = {}
        self._records: dict[str, list[Found]] = {}

    def below(self, root: str) -> Iterator[Found]:
        """See :meth:`TreeReading.below`."""
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
) -> TreeReading:
    """Read what is below *roots*, then single documents.

    :param more: the paths of those, when the rest is known.
    :param locks: in which of the roots it matters whether a node or request is locked. The others have no locks then.
    :param lasting: see :class:`TreeReading`; True for a caller that asks for the same records again and again.
    :param connect_timeout: seconds for connecting, and for each hundred single documents; the rest has a minute.
    :raises StoreError: ZooKeeper cannot be reached, or there is no tree of Nodepool's where the settings lead.
    :raises MissingLibraryError: kazoo is not installed.
    """
    session = Session(settings, connect_timeout=connect_timeout)
    try:
        session.open(watch=False, roots=roots, locks=locks)
        _refuse_nothing(session, settings)
        single = session.read_together(more(TreeReading(session.tree, lasting=lasting)))
        return TreeReading(session.tree, {path: Entry(*found) for path, found in single.items()}, lasting=lasting)
    finally:
        session.close()
        session.forget()


def _refuse_nothing(session: Session, settings: ZooKeeperSettings) -> None:
    """:raises StoreError: there is no tree."""
    hosts, chroot = ", ".join(connect_errors.host_names(settings)), settings.servers[0].chroot
    where = f"chroot {chroot} of {hosts}" if chroot else hosts
    if session.read("") is None:
        raise StoreError(
            f"ZooKeeper at {hosts} has no chroot {chroot}: correct chroot in zookeeper-servers, or start a launcher,"
            " which makes it"
        )
    if session.read(paths.ROOT) is None:
        raise StoreError(
            f"the tree is empty: there is no {paths.ROOT} in {where}; no launcher or builder was there yet"
        )
