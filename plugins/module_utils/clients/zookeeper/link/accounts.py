# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The account of this client in ZooKeeper, and the access lists of the znodes that it makes.

ZooKeeper does not inherit access lists: each creation of a znode sends one. Nodepool, Zuul and requestors have no
account in common, so everything of Nodepool's schema stays open to all clients, as they make it. Only the collection's
own part of the tree can belong to one account.
"""

from __future__ import annotations

import traceback
from typing import Any

from ....model.config.types import ZooKeeperAuth
from ....model.errors import MissingLibraryError
from ....model.own_tree import OWN_TREE, REQUESTOR
from . import paths

SASL_IMPORT_ERROR: str | None = None
try:
    import puresasl  # noqa: F401  # pylint: disable=unused-import
except ImportError:
    SASL_IMPORT_ERROR = traceback.format_exc()
try:
    from kazoo.security import ACL, OPEN_ACL_UNSAFE, Id, Permissions, make_digest_acl_credential
except ImportError:  # reported by client.require_kazoo
    ACL = Id = object

SHARED = tuple(paths.own(part.name) for part in OWN_TREE if part.writer == REQUESTOR)
"""Our folders in which requestors write: they stay open to all clients."""


class _Secret(str):
    """A text that kazoo's lines for debugging do not show."""

    def __repr__(self) -> str:
        return "'…'"


def require_sasl(auth: ZooKeeperAuth | None) -> None:
    """Check that the libraries for *auth* are installed.

    :raises MissingLibraryError: one is not installed.
    """
    if auth is not None and auth.scheme == "sasl" and SASL_IMPORT_ERROR is not None:
        raise MissingLibraryError("pure-sasl", SASL_IMPORT_ERROR)


def credentials(auth: ZooKeeperAuth | None) -> list[tuple[str, str]]:
    """Return what a new connection sends, in kazoo's form: (scheme, name and password)."""
    if auth is None or auth.scheme != "digest":
        return []
    return [("digest", _Secret(f"{auth.username}:{password}")) for password in _passwords(auth)]


def sasl_options(auth: ZooKeeperAuth | None) -> dict[str, str] | None:
    """Return kazoo's options for a login by SASL; None without one."""
    if auth is None or auth.scheme != "sasl":
        return None
    return {"mechanism": "DIGEST-MD5", "username": auth.username, "password": _Secret(auth.password)}


def name_of(auth: ZooKeeperAuth | None) -> str:
    """Return the account as people write it."""
    return f"{auth.scheme}:{auth.username}" if auth is not None else "no account"


class AccessLists:
    """The access list of each path.

    :param auth: the account of this client.
    """

    def __init__(self, auth: ZooKeeperAuth | None) -> None:
        self.ids = frozenset(_ids(auth)) if auth is not None else frozenset()
        """(scheme, id) of each entry that means this client."""
        self._protect = auth is not None and auth.protect
        self._ours: list[Any] = []

    def of(self, path: str) -> list[Any]:
        """Return the list for *path*: ours, which everyone may read, or the one that is open to all clients."""
        ours = self._protect and paths.below(path, paths.OWN)
        if not ours or any(paths.below(path, folder) for folder in SHARED):
            return OPEN_ACL_UNSAFE  # type: ignore[no-any-return]
        if not self._ours:
            mine = [ACL(Permissions.ALL, Id(scheme, name)) for scheme, name in sorted(self.ids)]
            self._ours = [*mine, ACL(Permissions.READ, Id("world", "anyone"))]
        return self._ours


def rights(entries: list[Any], ids: frozenset[tuple[str, str]]) -> int:
    """Return the permissions that an access list gives to a client with these (scheme, id), as a bit mask."""
    given = 0
    for entry in entries:
        if (entry.id.scheme, entry.id.id) in ids or (entry.id.scheme, entry.id.id) == ("world", "anyone"):
            given |= entry.perms
    return given


def owners(entries: list[Any]) -> list[str]:
    """Return who else than everyone is in an access list, without what ZooKeeper derives from passwords."""
    names = {f"{entry.id.scheme}:{_shown(entry.id)}" for entry in entries if entry.id.scheme != "world"}
    return sorted(names)


def _shown(identity: Any) -> str:
    return str(identity.id).partition(":")[0] if identity.scheme == "digest" else str(identity.id)


def _passwords(auth: ZooKeeperAuth) -> list[str]:
    return [auth.password, *([auth.former_password] if auth.former_password else [])]


def _ids(auth: ZooKeeperAuth) -> list[tuple[str, str]]:
    if auth.scheme == "sasl":
        return [("sasl", auth.username)]
    return [("digest", make_digest_acl_credential(auth.username, password)) for password in _passwords(auth)]
