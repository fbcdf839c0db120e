# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers that a list does not show although their deletion was not asked for.

nova answers 200 and leaves out the servers of a cell that is down or slow (below microversion 2.69, and the answer does
not say so). Each list is compared with the one before. If it lacks servers of ours that were not deleted, the whole
list is doubted: the missing servers are assumed to exist as before, and nova is asked about a few of them. If nova
knows none of these any more, the list was right. If nova knows them, or does not answer, they stay until a list shows
them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from ....model.cloud import META_PROVIDER, Server
from .inquiries import Inquiries

GONE = ("DELETED", "SOFT_DELETED")
TWICE = 240.0
"""Seconds from an empty list to the next one that shows, together with it, that patient servers are gone: a cell is
rarely away for so long, and whatever reappears later is deleted as a leak."""
MOST_ENDED = 1000
"""Largest number of missing servers that are remembered as gone, so that nova need not be asked about them again."""
SAMPLE = 3
"""Number of missing servers that nova is asked about, regardless of how many are missing."""


class Missing:
    """The servers that the lists of one provider leave out.

    :param provider: only servers that were created for this provider are expected in a list.
    :param site: the id of this tree; servers of another tree are not expected, as its launchers may delete them.
    """

    def __init__(self, provider: str, site: str, inquiries: Inquiries) -> None:
        self._provider = provider
        self._site = site
        self._inquiries = inquiries
        self._leaving: dict[str, bool] = {}
        """Server → True if nobody needs to know soon that it is gone."""
        self._servers: dict[str, Server] = {}
        self._unhurried: dict[str, Server] = {}
        """The servers that an empty list lacks, where all of them are patient: nova is not asked about them."""
        self._empty_from = 0.0
        self._sample: list[str] = []
        self._ended: deque[str] = deque(maxlen=MOST_ENDED)
        self._began = 0.0
        self._since = 0.0

    def __len__(self) -> int:
        return len(self._servers)

    def __contains__(self, server_id: object) -> bool:
        return server_id in self._servers or server_id in self._unhurried

    def leave(self, server_id: str, *, patient: bool = False) -> None:
        """Note that the deletion of the server is about to be asked for: lists may leave it out from now on.

        :param patient: nobody needs to know soon that it is gone.
        """
        self._leaving[server_id] = patient

    def hurry(self) -> None:
        """Somebody waits for room: nova is asked about what an empty list lacks, too."""
        if self._unhurried:
            self._servers, self._unhurried = self._unhurried, {}
            self._sample, self._began = _some(list(self._servers), 1), self._empty_from

    def compare(
        self, before: Mapping[str, Server], shown: Mapping[str, Server], listed_from: float
    ) -> dict[str, Server]:
        """Return the servers assumed to exist after a list: those it shows, and those it lacks without a reason.

        :param before: the servers that were assumed to exist before.
        """
        lost = {
            key: server
            for key, server in before.items()
            if key not in shown and server.status not in GONE and self._is_mine(server)
        }
        unexplained = [
            key for key, server in lost.items() if key not in self._leaving and server.task_state != "deleting"
        ]
        # An empty list looks the same whether all servers are gone or none can be shown.
        doubted = lost if unexplained or not shown else {}
        self._unhurried = doubted if all(self._leaving.get(key) for key in doubted) else {}
        if not self._unhurried:
            self._empty_from = 0.0
        elif self._empty_from and listed_from - self._empty_from >= TWICE:
            self._ended.extend(self._unhurried)
            self._unhurried, doubted, self._empty_from = {}, {}, 0.0
        self._empty_from = self._empty_from or (listed_from if self._unhurried else 0.0)
        self._servers = {} if self._unhurried else doubted
        self._sample = [key for key in self._sample if key in self._servers]
        if self._servers and not self._sample:
            self._sample = _some(unexplained, SAMPLE) if unexplained else _some(list(lost), 1)
            self._began = listed_from
        self._since = listed_from
        believed = {**self._servers, **self._unhurried, **shown}
        self._leaving = {key: patient for key, patient in self._leaving.items() if key in believed}
        return believed

    def _is_mine(self, server: Server) -> bool:
        return server.metadata.get(META_PROVIDER) == self._provider and server.site in ("", self._site)

    def settle(self, now: float) -> dict[str, Server | None]:
        """Ask nova about some of the missing servers, and read the answers.

        :return: the changed servers by id; None for a server that is gone.
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
            # None of the servers that nova was asked about exists: the list was right.
            news.update(dict.fromkeys(self._servers))
            self._servers = {}
        self._ended.extend(key for key, server in news.items() if server is None)
        return news

    def has_ended(self, server_id: str) -> bool:
        """Return True for a server that was missing and is known to be gone."""
        return server_id in self._ended


def _some(keys: list[str], most: int) -> list[str]:
    """Return a few keys from all parts of a list: servers that were created together may be in one cell."""
    return keys if len(keys) <= most else [keys[place * (len(keys) - 1) // max(1, most - 1)] for place in range(most)]
