# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The names of the files and logs of builds, as in Nodepool: make them and parse them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .image_snapshot import LocalFile

MANIFEST = "d"
_NAME = re.compile(r"(?P<image>.+)-(?P<build>[0-9a-f]{32}|\d{10})\.(?P<rest>[^/]+)", re.DOTALL)
_LOG = re.compile(r"(?P<image>.+)-(?:[0-9a-f]{32}|\d{10})\.log", re.DOTALL)


def base_name(image: str, build_id: str) -> str:
    """Return the common prefix of all files of a build: the last part of diskimage-builder's ``-o``."""
    return f"{image}-{build_id}"


def image_file(image: str, build_id: str, image_format: str) -> str:
    """Return the name of an image file in images-dir."""
    return f"{base_name(image, build_id)}.{image_format}"


def log_file(image: str, build_id: str) -> str:
    """Return the name of a build's log in build-log-dir."""
    return f"{base_name(image, build_id)}.log"


def recognise(name: str, *, is_directory: bool = False, size: int = 0, modified: float = 0.0) -> LocalFile | None:
    """Parse a name in images-dir; None when the file belongs to no build.

    :param size: bytes on disk.
    :param modified: UNIX time.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    image_format, _dot, kind = match["rest"].partition(".")
    manifest = is_directory or match["rest"] == MANIFEST
    return LocalFile(
        name=name,
        image=match["image"],
        build_id=match["build"],
        format="" if manifest else image_format,
        is_image=not manifest and not kind,
        size=size,
        modified=modified,
    )


def logs_to_prune(logs: Iterable[tuple[str, float]], image: str, retention: int) -> list[str]:
    """Return the names of the oldest logs of *image* that exceed *retention*.

    Logs of images whose names only begin with *image* do not count.

    :param logs: name and modification time (UNIX) of each file in build-log-dir.
    :param retention: ``build-log-retention``: the number of logs to keep, at least one; -1 keeps all.
    """
    if retention < 0:
        return []
    ours = [(modified, name) for name, modified in logs if (match := _LOG.fullmatch(name)) and match["image"] == image]
    return [name for _modified, name in sorted(ours, reverse=True)[max(1, retention) :]]
