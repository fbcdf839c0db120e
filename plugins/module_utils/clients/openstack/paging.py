# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists that come in pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ...model.errors import CloudError, CloudRefused

MOST_PAGES = 1000
_RESTARTS = 2

T = TypeVar("T")


def pages(
    fetch: Callable[[str | None], Any],
    key: str,
    asked: int,
    make: Callable[[Any], T],
    senseless: Callable[[str], CloudError],
) -> list[T]:
    """All items of a list that is read page by page, each page beginning after the id of the last item before.

    :param fetch: the document of the page after a marker; None for the first.
    :param key: under which the items are; ``<key>_links`` (or glance's ``next``) tells of a next page. The service's
        own maximum may be smaller than what was asked for.
    :param asked: items asked for per page; a full page without any word of a next one is followed up too.
    :param make: makes what is returned of an item. Documents are many times larger: those of one page are kept at most.
    :param senseless: makes the error for a listing that does not end.

    The item that a page ends with may be deleted before the next page is read; nova then answers 400, and the list is
    read again.
    """
    for attempt in range(_RESTARTS + 1):
        try:
            return _once(fetch, key, asked, make, senseless)
        except CloudRefused as refusal:
            if refusal.status not in (400, 404) or "marker" not in str(refusal).lower() or attempt == _RESTARTS:
                raise
    raise AssertionError("unreachable")


def _once(
    fetch: Callable[[str | None], Any],
    key: str,
    asked: int,
    make: Callable[[Any], T],
    senseless: Callable[[str], CloudError],
) -> list[T]:
    items: dict[Any, T] = {}
    marker: str | None = None
    for _page in range(MOST_PAGES):
        document = fetch(marker)
        found = document[key]
        if not isinstance(found, list) or not all(isinstance(item, dict) and item.get("id") for item in found):
            raise senseless(f"{key!r} is not a list of objects with ids")
        # The same id may come twice when something before it was deleted between two pages.
        before = len(items)
        items.update((item["id"], make(item)) for item in found)
        if not found or not _has_next(document, key, len(found), asked):
            return list(items.values())
        if len(items) == before:
            raise senseless("its pages repeat themselves")
        marker = str(found[-1]["id"])
        del document, found  # not beside the next page
    raise senseless(f"more than {MOST_PAGES} pages")


def _has_next(document: Any, key: str, found: int, asked: int) -> bool:
    links = document.get(f"{key}_links")
    if isinstance(links, list):
        return any(isinstance(link, dict) and link.get("rel") == "next" for link in links)
    return bool(document.get("next")) or found >= asked
