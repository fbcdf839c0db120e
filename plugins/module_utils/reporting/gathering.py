# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gather what an inventory is made of: from a cache, from clouds and ZooKeeper, or what replaces an answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from ..model.errors import NodepoolError
from .hosts import Selection, of_servers
from .listing import fetch_all
from .unlisted import by_source, text_of

RECORDS = "ZooKeeper"
"""Key of the node records among the parts. The others are names of providers or of clouds."""

Rows = list[dict[str, Any]]
Part = dict[str, Any]
"""The data from one source: ``listed_at`` (UNIX time), ``rows``, and of ZooKeeper ``tree``, the id of the tree."""
Fetch = Callable[[], Part]
"""Returns a part without its time."""


def without_name(name: str, error: Exception) -> str:
    """Return the error's text without the provider's name, with which the message begins."""
    return str(error).removeprefix(f"provider {name}: ")


class Gathering:
    """The parts of one inventory.

    :param work: the functions that fetch, by the name of their source.
    :param providers: names of the providers by the name of their source.
    :param stored: cached parts of any age.
    :param on_error: ``fail``, ``stale`` or ``skip``, for a source that does not answer.
    :param deadline: seconds within which each source must have answered.
    :param warn: takes sentences for the operator.
    """

    def __init__(
        self,
        work: Mapping[str, Fetch],
        providers: Mapping[str, frozenset[str]],
        stored: Mapping[str, Part],
        *,
        selection: Selection,
        on_error: str,
        deadline: float,
        warn: Callable[[str], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._work = work
        self._providers = providers
        self._stored = stored
        self._selection = selection
        self._on_error = on_error
        self._deadline = deadline
        self._warn = warn
        self._clock = clock
        self._old: set[str] = set()
        """Sources that did not answer and are shown as they were."""
        self.parts: dict[str, Part] = {}

    def gather(self, youngest: float | None) -> None:
        """Fill :attr:`parts`.

        :param youngest: UNIX time; cached parts from that time on are taken. None to take none.
        :raises NodepoolError: a source did not answer, and nothing takes its place.
        """
        if youngest is not None:
            # A clock that was ahead has stored a time to come: such a part would never be too old.
            latest = self._clock()
            self.parts = {
                name: self._stored[name]
                for name in self._work
                if name in self._stored and youngest <= self._stored[name]["listed_at"] <= latest
            }
        self._fetch([name for name in self._work if name not in self.parts])
        doubted = self.missing()
        if doubted:
            # A node may have come or gone between the two readings, and a cached list may be older than the node.
            again = [name for name in (RECORDS, *doubted) if self.parts.pop(name)]
            self._fetch(again)

    def missing(self) -> dict[str, Rows]:
        """Return the records of chosen live nodes that the list of their cloud lacks, by the name of that source."""
        records = of_servers(self.parts.get(RECORDS, {"rows": []})["rows"])[0]
        lists = {name: part["rows"] for name, part in self.parts.items() if name in self._providers}
        return by_source(lists, self._providers, records, self._selection) if records else {}

    def tell_missing(self, missing: Mapping[str, Rows], *, fail: bool) -> None:
        """Fail or warn of the records that contradict the lists.

        :raises NodepoolError: with *fail*, unless only old lists lack them.
        """
        wrong = [record for name in missing if name not in self._old for record in missing[name]]
        if wrong and fail:
            raise NodepoolError(f"{text_of(wrong)}; on_missing: warn takes such nodes from their records")
        if missing:
            self._warn(text_of([record for found in missing.values() for record in found]))

    def _fetch(self, names: list[str]) -> None:
        """Put what the sources answer, or what takes its place, into the parts."""
        answers = fetch_all({name: self._work[name] for name in names}, self._deadline)
        now = self._clock()
        for name, answer in answers.items():
            if isinstance(answer, Exception):
                self._give_way(name, answer, now)
            else:
                self.parts[name] = {"listed_at": now, **answer}

    def _give_way(self, name: str, error: Exception, now: float) -> None:
        """Fail, use old data, or leave the source out when it did not answer."""
        why = without_name(name, error)
        if self._on_error == "skip":
            self._warn(f"{name} is missing from the inventory (on_error: skip): {why}")
        elif self._on_error == "stale" and name in self._stored:
            age = now - self._stored[name]["listed_at"]
            self.parts[name] = self._stored[name]
            self._old.add(name)
            self._warn(f"{name} is shown as it was {age:.0f} s ago (on_error: stale): {why}")
        else:
            hint = "; nothing of it was cached" if self._on_error == "stale" else ""
            raise NodepoolError(f"{name} could not be listed: {why}{hint}") from error
