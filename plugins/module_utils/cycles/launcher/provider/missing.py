# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers that a list does not show although their deletion was not asked for.

nova answers 200 and leaves out the servers of a cell that is down or slow (so below microversion 2.69, and nothing in
the answer tells). A list is compared with the one before: where it lacks servers of ours that were not deleted, it is
doubted as a whole, what it lacks is believed to be there as it was, and nova is asked for a few of them. When it knows
none of these any more, the list was right. When it knows them, or cannot say, they stay until a list shows them again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from ....model.cloud import META_PROVIDER, Server
from .inquiries import Inquiries

GONE = ("DELETED", "SOFT_DELETED")
MOST_ENDED = 1000
"""So many servers that turned out to be gone are remembered: nova need not be asked for them again."""
SAMPLE = 3
"""Of the missing servers so many are asked for, however many they are."""


class Missing:
    """What the lists of one provider leave out.

    :param provider: only servers that were made for it are expected to be there;
    :param site: none of another tree: others may delete theirs as they like.
    """

    def __init__(self, provider: str, site: str, inquiries: Inquiries) -> None:
        self._provider = provider
        self._site = site
        self._inquiries = inquiries
        self._leaving: set[str] = set()
        self._servers: dict[str, Server] = {}
        self._sample: list[str] = []
        self._ended: deque[str] = deque(maxlen=MOST_ENDED)
        self._began = 0.0
        self._since = 0.0

    def __len__(self) -> int:
        return len(self._servers)

    def leave(self, server_id: str) -> None:
        """The deletion of the server is about to be asked for: lists may leave it out from now on."""
        self._leaving.add(server_id)

    def compare(
        self, before: Mapping[str, Server], shown: Mapping[str, Server], listed_from: float
    ) -> dict[str, Server]:
        """The servers that are believed to be there after a list: those it shows, and those it lacks without a reason.

        :param before: what was believed.
        """
        lost = {
            key: server
            for key, server in before.items()
            if key not in shown and server.status not in GONE and self._is_mine(server)
        }
        unexplained = [
            key for key, server in lost.items() if key not in self._leaving and server.task_state != "deleting"
        ]
        # A list without any server looks the same whether all are gone or none can be seen.
        self._servers = lost if unexplained or not shown else {}
        self._sample = [key for key in self._sample if key in self._servers]
        if self._servers and not self._sample:
            self._sample = _some(unexplained, SAMPLE) if unexplained else _some(list(lost), 1)
            self._began = listed_from
        self._since = listed_from
        believed = {**self._servers, **shown}
        self._leaving &= believed.keys()
        return believed

    def _is_mine(self, server: Server) -> bool:
        return server.metadata.get(META_PROVIDER) == self._provider and server.site in ("", self._site)

    def settle(self, now: float) -> dict[str, Server | None]:
        """Ask nova for some of the missing servers, and read the answers.

        :return: what is to be believed from now on, by id; None: it is gone.
        """
        news: dict[str, Server | None] = {}
        for key in [*self._sample]:
            told = self._inquiries.last(key)
            if told is not None and told.asked_at > self._began:
                if told.server is None:
                    news[key] = None
                    self._sample.remove(key)
                    del self._servers[key]
                    continue
                if told.server is not self._servers[key]:
                    news[key] = self._servers[key] = told.server
            self._inquiries.want(key, self._since, now)
        if news and not self._sample:
            # Of those that were asked for none is there: the list was right.
            news.update(dict.fromkeys(self._servers))
            self._servers = {}
        self._ended.extend(key for key, server in news.items() if server is None)
        return news

    def has_ended(self, server_id: str) -> bool:
        """True for a server that was missing and is known to be gone."""
        return server_id in self._ended


def _some(keys: list[str], most: int) -> list[str]:
    """A few from all over a list: what was made together may be in one cell."""
    return keys if len(keys) <= most else [keys[place * (len(keys) - 1) // max(1, most - 1)] for place in range(most)]
