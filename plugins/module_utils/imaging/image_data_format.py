# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The format of Nodepool's ``export-image-data``: records of builds and uploads, and pause flags, by path. No I/O.

The file is one JSON object. Its keys are paths of znodes, its values are their data as text; the value of a pause flag
is empty. Requests for builds and locks are not part of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from ..clients.zookeeper.link import paths
from ..model.documents import parse, why_unreadable
from ..model.errors import ConfigError
from ..model.image import is_build_id, is_upload_id

HIGHEST_UPLOAD = 10**6
"""The highest number of an upload that can be imported: the import needs one operation for each number up to it."""
_PATH = re.compile(
    re.escape(paths.IMAGES)
    + r"/(?P<image>[^/]+)/(?:pause|builds/(?P<build>[^/]+)(?:/providers/(?P<provider>[^/]+)/images/(?P<upload>[^/]+))?)"
)
_MOST_PROBLEMS = 10


@dataclass(frozen=True)
class Place:
    """The parts of a path. A pause flag has an image only; a build has no *provider* and no *upload*."""

    image: str
    build: str | None = None
    provider: str | None = None
    upload: str | None = None

    @classmethod
    def of(cls, path: str) -> Self | None:
        """Parse a path; None when it is not the path of a build, an upload or a pause flag."""
        match = _PATH.fullmatch(path)
        if match is None or not paths.can_be(path) or paths.is_lock(path):
            return None
        place = cls(*match.group("image", "build", "provider", "upload"))
        sound = (place.build is None or is_build_id(place.build)) and (
            place.upload is None or is_upload_id(place.upload)
        )
        return place if sound else None


def image_data(tree: Mapping[str, bytes]) -> tuple[dict[str, str], list[str]]:
    """Return the export of a tree, by path, and a sentence about each record that cannot be exported.

    :param tree: path → data of the znodes below ``/nodepool/images``. An empty record was deleted before it was
        locked; it is left out without a sentence.
    """
    data: dict[str, str] = {}
    left_out: list[str] = []
    for path, stored in sorted(tree.items()):
        place = Place.of(path)
        if place is None:
            continue
        if place.build is None:
            data[path] = ""
        elif place.upload is not None and paths.build(place.image, place.build) not in data:
            if stored:
                left_out.append(f"{path} is skipped: the record of its build is missing or cannot be used")
        elif stored:
            problem = why_unreadable(stored)
            if problem:
                left_out.append(f"{path} is skipped: {problem}")
            else:
                data[path] = stored.decode("utf-8")
    return data, left_out


def read_image_data(text: str, file: str) -> dict[str, str]:
    """Parse an exported file and return its records, sorted by path: a build comes before its uploads.

    :param file: path of the file, for messages.
    :raises ConfigError: when the file is not such an export; no part of it is imported.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise ConfigError([f"{file}: is not JSON: {problem}: export it again"]) from problem
    if not isinstance(document, dict):
        raise ConfigError([f"{file}: is not a JSON object of paths: export it again"])
    problems = [text for path, value in document.items() for text in _problems(path, value)]
    if problems:
        more = [f"and {len(problems) - _MOST_PROBLEMS} more"] if len(problems) > _MOST_PROBLEMS else []
        raise ConfigError([f"{file}: {text}" for text in problems[:_MOST_PROBLEMS]] + more)
    return dict(sorted(document.items()))


def _problems(path: str, value: object) -> Iterable[str]:
    place = Place.of(path)
    if place is None:
        yield f"{path!r} is not the path of a build, an upload or a pause flag below {paths.IMAGES}"
    elif not isinstance(value, str):
        yield f"the value of {path} is not a text"
    elif place.build is not None:
        try:
            known = parse(value.encode("utf-8")) is not None
        except UnicodeEncodeError:
            known = False
        if not known:
            yield f"the value of {path} is not a JSON object"
        if place.upload is not None and int(place.upload) > HIGHEST_UPLOAD:
            yield f"the number of {path} is above {HIGHEST_UPLOAD}: remove the upload from the file"


def highest_uploads(written: Iterable[str]) -> dict[str, int]:
    """Return a mapping: directory of uploads → the highest upload number among the paths."""
    highest: dict[str, int] = {}
    for path in written:
        place = Place.of(path)
        if place is not None and place.upload is not None:
            directory = paths.split(path)[0]
            highest[directory] = max(highest.get(directory, 0), int(place.upload))
    return highest


def records(data: Iterable[str]) -> set[str]:
    """Return the paths of builds and uploads, without those of pause flags."""
    return {path for path in data if (place := Place.of(path)) is not None and place.build is not None}


def counts(data: Iterable[str]) -> dict[str, int]:
    """Count the images, builds, uploads and pause flags."""
    places = [place for path in data if (place := Place.of(path)) is not None]
    return {
        "images": len({place.image for place in places}),
        "builds": sum(place.build is not None and place.upload is None for place in places),
        "uploads": sum(place.upload is not None for place in places),
        "paused": sum(place.build is None for place in places),
    }
