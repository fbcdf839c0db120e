# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Paging by ``limit`` and ``marker``, as all the services do it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


class BadPage(ValueError):
    """The limit or the marker of a listing is not usable; the text is the service's own."""


def parse_limit(text: str | None, maximum: int, default: int | None = None) -> int:
    """Return the size of the page.

    :param maximum: what the server gives at most; a larger wish is cut.
    :param default: the size when the client names none (the maximum when None).
    :raises BadPage: when it is no integer or negative.
    """
    if text is None:
        return maximum if default is None else default
    try:
        limit = int(text)
    except ValueError:
        raise BadPage("limit param must be an integer") from None
    if limit < 0:
        raise BadPage("limit param must be positive")
    return min(limit, maximum)


def cut(items: Sequence[T], ident: Callable[[T], str], limit: int, marker: str | None) -> tuple[list[T], bool]:
    """Return one page and whether more follows.

    :param items: everything, in the order of the listing.
    :param marker: id of the last item of the page before.
    :raises BadPage: when no item has the marker.
    """
    start = 0
    if marker:
        for index, item in enumerate(items):
            if ident(item) == marker:
                start = index + 1
                break
        else:
            raise BadPage(f"marker [{marker}] not found")
    page = list(items[start : start + limit])
    return page, bool(page) and start + limit < len(items)
