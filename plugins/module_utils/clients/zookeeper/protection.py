# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gives the collection's own part of the tree to one account, or back to everyone, and tells who may not change it.

Access lists are set from the top to the bottom: a folder is listed only after nobody else can create anything in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...model.errors import StoreConflict, StoreDenied, StoreGone
from ...model.own_tree import ACCESS
from .link import paths
from .link.accounts import SHARED, AccessLists, name_of, owners, rights
from .link.session import Session
from .link.store_answers import translated
from .own import OwnDocuments

try:
    from kazoo.exceptions import NoNodeError
    from kazoo.protocol.serialization import GetACL, GetChildren, SetACL
    from kazoo.security import Permissions
except ImportError:  # reported by client.require_kazoo
    NoNodeError = type("NotThere", (Exception,), {})

_TOGETHER = 200
"""Most requests that are sent before their answers have come."""


def take_over(session: Session) -> bool:
    """Make the own part of the tree writable for this client's account alone, if its settings say so.

    The part is made when it does not exist. One that belongs to nobody, or to the former password, is taken over; one
    that belongs to this account although ``protect`` is off is opened to everyone again.

    :return: True when access lists were changed.
    :raises StoreDenied: the part belongs to another account.
    :raises StoreError: ZooKeeper did not answer.
    """
    lists, account = session.access, session.account
    wanted = lists.of(paths.OWN)
    protects = account is not None and account.protect
    found = _list_of(session, paths.OWN)
    if found is None:
        for path in (paths.OWN, *SHARED):
            _make(session, path)
        found = _list_of(session, paths.OWN)
        if found is None:
            raise StoreGone(f"{paths.OWN} was deleted by another client while it was being created")
    entries, stat = found
    given = rights(entries, lists.ids)
    if not given & Permissions.ADMIN:
        if protects or not _may_write(given):
            raise denied(session, paths.OWN, entries)
        return False
    own, right = OwnDocuments(session), _same(entries, wanted)
    # A host that has the former password only still makes znodes that belong to it.
    settled = account is None or not account.former_password
    if right and settled and (not protects or _noted(own) == stat.aversion):
        return False
    own.delete(ACCESS)
    if not right:
        _send(session, [paths.OWN], lambda _path, full: SetACL(full, wanted, -1), "protect")
    changed = _descend(session, lists) or not right
    if protects:
        for path in SHARED:
            _make(session, path)
        now = _list_of(session, paths.OWN)
        if now is not None:
            own.put(ACCESS, {"version": now[1].aversion})
    return changed


def denied(session: Session, path: str, entries: list[Any]) -> StoreDenied:
    """Return the error for an access list that does not let this client change *path*."""
    whose = " and ".join(owners(entries)) or "nobody"
    mine = name_of(session.account)
    told = f"{path} in ZooKeeper can only be changed by {whose}, but this client uses {mine}"
    if mine in owners(entries):
        return StoreDenied(
            f"{path} in ZooKeeper belongs to {mine} with another password: correct the password of"
            f" zookeeper-auth in secure_config, or set the previous one as former-password"
        )
    return StoreDenied(f"{told}: set that account as zookeeper-auth in secure_config")


def _may_write(given: int) -> bool:
    needed = Permissions.WRITE | Permissions.CREATE | Permissions.DELETE
    return bool(given & needed == needed)


def _same(entries: list[Any], others: list[Any]) -> bool:
    return set(entries) == set(others)


def _make(session: Session, path: str) -> None:
    try:
        session.create(path, parents=True)
    except StoreConflict:
        return


def _noted(own: OwnDocuments) -> int | None:
    version = (own.read(ACCESS) or {}).get("version")
    return version if isinstance(version, int) else None


def _list_of(session: Session, path: str) -> tuple[list[Any], Any] | None:
    client = session.writer(path)
    try:
        found: tuple[list[Any], Any] = session.perform(GetACL(client.absolute(path)), client=client)
    except NoNodeError:
        return None
    except Exception as problem:
        raise translated(problem, path, "read the access list of") from problem
    return found


def _descend(session: Session, lists: AccessLists) -> bool:
    """Set the access lists of all below; return True when one was another."""
    level, changed = [paths.OWN], False
    while level:
        children = _send(session, level, lambda _path, full: GetChildren(full, None), "list")
        level = [f"{path}/{name}" for path, names in children.items() for name in names]
        found = _send(session, level, lambda _path, full: GetACL(full), "read the access list of")
        others = [path for path, (entries, _stat) in found.items() if not _same(entries, lists.of(path))]
        done = _send(session, others, lambda path, full: SetACL(full, lists.of(path), -1), "protect")
        changed = changed or bool(done)
    return changed


def _send(session: Session, many: list[str], request: Callable[[str, str], Any], verb: str) -> dict[str, Any]:
    """Send a request for each path, many before the first answer; return the answers of those that exist.

    :param request: called with a path, and with the same path as requests need it.
    """
    answers: dict[str, Any] = {}
    for begin in range(0, len(many), _TOGETHER):
        part = many[begin : begin + _TOGETHER]
        client = session.writer(part[0])
        sent = [(path, session.submit(request(path, client.absolute(path)), client=client)) for path in part]
        for path, answer in sent:
            try:
                answers[path] = answer.wait(session.timeout)
            except NoNodeError:
                continue
            except Exception as problem:
                raise translated(problem, path, verb) from problem
    return answers
