# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nova's microversions: which one a request asks for."""

from __future__ import annotations

from collections.abc import Mapping

Version = tuple[int, int]

MINIMUM: Version = (2, 1)
MAXIMUM: Version = (2, 93)


class BadVersion(ValueError):
    """The request asks for a version that cannot be served.

    :ivar status: 400 for nonsense, 406 for a version out of range.
    """

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


def text(version: Version) -> str:
    """Return ``2.47`` for (2, 47)."""
    return f"{version[0]}.{version[1]}"


def negotiate(headers: Mapping[str, str]) -> Version:
    """Return the version of a request, the oldest when it names none.

    :raises BadVersion: when it is malformed or not supported.
    """
    wanted = ""
    for part in headers.get("OpenStack-API-Version", "").split(","):
        name, _blank, number = part.strip().partition(" ")
        if name == "compute":
            wanted = number.strip()
    wanted = wanted or headers.get("X-OpenStack-Nova-API-Version", "").strip()
    if not wanted:
        return MINIMUM
    if wanted == "latest":
        return MAXIMUM
    major, dot, minor = wanted.partition(".")
    if not (dot and major.isdigit() and minor.isdigit()):
        raise BadVersion(400, f"API Version String {wanted} is of invalid format. Must be of format MajorNum.MinorNum.")
    version = (int(major), int(minor))
    if not MINIMUM <= version <= MAXIMUM:
        raise BadVersion(
            406,
            f"Version {wanted} is not supported by the API. Minimum is {text(MINIMUM)} and maximum is {text(MAXIMUM)}.",
        )
    return version
