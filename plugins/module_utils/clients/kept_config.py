# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last valid configuration, kept on this host for the time in which nodepool.yaml cannot be used.

The copy holds the texts of nodepool.yaml, secure.conf and nodepool-settings.yaml, so it is as secret as they are: a
file of mode 0600 in a folder that no other user may write to.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from glob import escape, glob
from itertools import product

from .config_file import ConfigFiles, settings_beside
from .private_file import open_private_folder, write_private
from .state_folder import SERVICES
from .text_file import LARGEST_FILE

FORGET = 7 * 86400.0
"""Age in seconds from which a copy is deleted if its nodepool.yaml no longer exists."""
_AHEAD = 60.0
"""Seconds by which a copy may be of a time to come: a clock is set back by a little now and then."""
_FIELDS = ("text", "secure_text", "settings_text")


@dataclass(frozen=True)
class Kept:
    """A copy.

    :param digest: SHA-256 of the texts, in hexadecimal digits.
    :param seen: UNIX time at which the files were last seen with these texts.
    """

    files: ConfigFiles
    digest: str
    seen: float


def keep(folder: str, files: ConfigFiles) -> None:
    """Store the texts in *folder*; if they are there already, only the time at which they were seen.

    :raises FolderNotPrivate: another user could replace files in the folder, or it cannot be made or opened.
    :raises ConfigError: the copy cannot be written.
    """
    os.close(open_private_folder(folder))
    digest = _digest(files)
    content = {name: getattr(files, name) for name in _FIELDS}
    about = {"written": files.written, "digest": digest}
    for name, sources in _names(files.path, files.secure_path, files.settings_path).items():
        path = os.path.join(folder, name)
        former = _read(path, {os.geteuid()})
        if former is None or (former.digest, former.files.written) != (digest, files.written):
            write_private(path, json.dumps({"paths": sources, **about, **content}))
            _forget_removed(folder)
        else:
            os.utime(path)


def find(
    folders: Collection[str],
    path: str,
    secure_path: str | None,
    settings_path: str | None = None,
    *,
    services: bool = True,
) -> Kept | None:
    """Return the copy of the configuration in these files that was valid last; None when there is none.

    The times of the files themselves do not count: who goes back to a former version may give it its former time.

    :param folders: looked into before the folders of services.
    :param services: False to look into no others.
    """
    found = []
    names = _names(path, secure_path, settings_path)
    for place in product(dict.fromkeys([*folders, *(sorted(glob(SERVICES)) if services else ())]), names):
        kept = _read(os.path.join(*place), set(_trusted(path)))
        if kept is not None:
            own = {name: getattr(kept.files, name) for name in _FIELDS}
            files = ConfigFiles(
                path, secure_path=secure_path, settings_path=settings_path, written=kept.files.written, **own
            )
            found.append(replace(kept, files=files))
    # A clock that was ahead has stored a copy of a time to come.
    latest = time.time() + _AHEAD
    return max(found, key=lambda kept: kept.seen if kept.seen <= latest else 0.0, default=None)


def _forget_removed(folder: str) -> None:
    """Delete old copies of files that do not exist any more, such as versions that a link has led to."""
    for path in glob(os.path.join(escape(folder), _name_of("*"))):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            if time.time() - os.stat(path).st_mtime > FORGET:
                with open(path, encoding="utf-8") as file:
                    document = json.load(file)
                # Former versions have stored one path.
                if not all(map(os.path.exists, document.get("paths") or [document["path"]])):
                    os.unlink(path)


def _trusted(path: str) -> Iterator[int]:
    """Yield the user ids whose copies are believed: ours, root's, and that of who may write the file itself."""
    yield os.geteuid()
    yield 0
    with contextlib.suppress(OSError, ValueError):
        yield os.stat(path).st_uid


def _names(path: str, secure_path: str | None, settings_path: str | None) -> dict[str, list[str]]:
    """Return the names of the copy: by the paths as they are given, and by where their links lead.

    Each with the files without which the copy is of no use.

    A file may have several paths. A link may lead to another file after a change, or to none.

    A settings file beside nodepool.yaml does not count: it may come and go.
    """
    elsewhere = [settings_path] if settings_path and settings_path != settings_beside(path) else []
    paths = (path, secure_path, *elsewhere)
    names: dict[str, list[str]] = {}
    for place in (os.path.abspath, os.path.realpath):
        placed = [one and place(one) for one in paths]
        needed = list(filter(None, placed)) if place is os.path.realpath else [place(path)]
        names.setdefault(_name_of(hashlib.sha256(json.dumps(placed).encode()).hexdigest()[:16]), needed)
    return names


def _name_of(key: str) -> str:
    return f"configuration-{key}.json"


def _digest(files: ConfigFiles) -> str:
    settings = [files.settings_text] if files.settings_text is not None else []
    return hashlib.sha256(json.dumps([files.text, files.secure_text, *settings]).encode()).hexdigest()


def _read(path: str, owners: Collection[int]) -> Kept | None:
    """Return the copy in a file; None when there is none, or when another user may have written or read it."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return None
    with open(fd, "rb") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_uid not in owners or found.st_mode & 0o077:
            return None
        data = file.read(4 * LARGEST_FILE)
    try:
        document = json.loads(data)
        texts = {"settings_text": None, **{name: document[name] for name in _FIELDS if name in document}}
        files = ConfigFiles("", written=float(document["written"]), **texts)
    except (ValueError, KeyError, TypeError):
        return None
    if not isinstance(files.text, str) or not all(isinstance(text, str | None) for text in list(texts.values())):
        return None
    return Kept(files, _digest(files), found.st_mtime) if document.get("digest") == _digest(files) else None
