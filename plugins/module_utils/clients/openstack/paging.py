# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading of lists that a service returns in pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ...model.errors import CloudError, CloudRefused
from .json_values import Unreadable, ident, read

MOST_PAGES = 1000
_RESTARTS = 2

T = TypeVar("T")


class _NextRefused(Exception):
    """A page after the first is refused, although the one before it was not."""

    def __init__(self, refusal: CloudRefused) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


def pages(
    fetch: Callable[[str | None], Any],
    key: str,
    asked: int,
    make: Callable[[Any], T],
    senseless: Callable[[str], CloudError],
    unread: Callable[[str], None] = lambda _text: None,
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
    :param unread: called once per list: with a text about the items that cannot be read and are left out, or with ""
        when there are none. A page of which no item can be read makes no sense.

    The last item of a page may be deleted before the next page is read. The services then refuse the next page with
    400 or 404, most of them in words about the item alone, and the list is read again.
    """
    for attempt in range(_RESTARTS + 1):
        try:
            items, unreadable = _once(fetch, key, asked, make, senseless)
        except _NextRefused as refused:
            if attempt == _RESTARTS:
                raise refused.refusal from None
        else:
            unread(_about(key, len(items), unreadable))
            return items
    raise AssertionError("unreachable")


def _about(key: str, items: int, unreadable: list[str]) -> str:
    if not unreadable:
        return ""
    return f"{len(unreadable)} of {items + len(unreadable)} {key} cannot be read and are ignored ({unreadable[0]})"


def _once(
    fetch: Callable[[str | None], Any],
    key: str,
    asked: int,
    make: Callable[[Any], T],
    senseless: Callable[[str], CloudError],
) -> tuple[list[T], list[str]]:
    items: dict[str, T] = {}
    unreadable: list[str] = []
    marker: str | None = None
    for _page in range(MOST_PAGES):
        try:
            document = fetch(marker)
        except CloudRefused as refusal:
            if marker is None or refusal.status not in (400, 404):
                raise
            raise _NextRefused(refusal) from refusal
        found = document[key]
        if not isinstance(found, list):
            raise senseless(f"{key!r} is not a list of objects with ids")
        # The same id may come twice when the list changed between two pages.
        before, problems = len(items), len(unreadable)
        marker = None
        for item in found:
            try:
                marker = ident(item)
                items[marker] = read(make, item)
            except Unreadable as problem:
                unreadable.append(str(problem))
        if found and len(unreadable) - problems == len(found):
            raise senseless(f"none of its {key} can be read ({unreadable[-1]})")
        if not found or not _has_next(document, key, len(found), asked):
            return list(items.values()), unreadable
        if len(items) == before:
            raise senseless("it returns the same page again")
        del document, found, item  # keep them out of memory while the next page is read
    raise senseless(f"it has more than {MOST_PAGES} pages")


def _has_next(document: Any, key: str, found: int, asked: int) -> bool:
    links = document.get(f"{key}_links")
    if isinstance(links, list):
        return any(isinstance(link, dict) and link.get("rel") == "next" for link in links)
    return bool(document.get("next")) or found >= asked
