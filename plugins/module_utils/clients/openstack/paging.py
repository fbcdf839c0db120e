# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading of lists that a service returns in pages."""

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
    """Return all items of a list that is read page by page; each page begins after the id of the last item before.

    :param fetch: returns the document of the page after a marker, or of the first page for None.
    :param key: key of the items in the document; ``<key>_links`` (or glance's ``next``) announces a next page. A page
        may be smaller than *asked*, because the service has its own maximum.
    :param asked: items asked for per page; after a full page that does not announce a next one, the next page is read
        too.
    :param make: makes the returned item from its document. Documents are many times larger than items: at most one
        page of documents is kept in memory.
    :param senseless: makes the error for a list that makes no sense, e.g. one that does not end.

    The last item of a page may be deleted before the next page is read. Nova then answers 400, and the list is read
    again.
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
        # The same id may come twice when the list changed between two pages.
        before = len(items)
        items.update((item["id"], make(item)) for item in found)
        if not found or not _has_next(document, key, len(found), asked):
            return list(items.values())
        if len(items) == before:
            raise senseless("its pages repeat themselves")
        marker = str(found[-1]["id"])
        del document, found  # keep them out of memory while the next page is read
    raise senseless(f"more than {MOST_PAGES} pages")


def _has_next(document: Any, key: str, found: int, asked: int) -> bool:
    links = document.get(f"{key}_links")
    if isinstance(links, list):
        return any(isinstance(link, dict) and link.get("rel") == "next" for link in links)
    return bool(document.get("next")) or found >= asked
