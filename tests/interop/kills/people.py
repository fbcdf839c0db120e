# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""People who ask for nodes all the time, use them for a moment, and note what they were given."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass
from typing import Any

from kazoo.exceptions import NoNodeError

from tests.interop.kills.site import TESTING
from tests.support.launcher_requestor import Requestor

AT_ONCE = 3
PACE = 0.2
WORK = (0.2, 2.0)


@dataclass(frozen=True)
class Given:
    """A node that a request has received. *at*: when its request was fulfilled."""

    request: str
    node: str
    image: str
    provider: str
    server: str
    record: str
    at: float = 0.0


class People(threading.Thread):
    """Asks, takes, gives back.

    :ivar given: all nodes that were received. :ivar failed: requests that have failed, and why.
    :ivar quiet: set when nobody asks any more.
    """

    def __init__(self, requestor: Requestor, seed: int) -> None:
        super().__init__(daemon=True)
        self._requestor = requestor
        self._chance = random.Random(f"{seed} people")
        self._open: dict[str, str] = {}
        self._using: dict[str, float] = {}
        self.given: list[Given] = []
        self.failed: list[str] = []
        self.wrong: list[str] = []
        self.quiet = threading.Event()

    @property
    def idle(self) -> bool:
        """True when nobody waits or works."""
        return not self._open and not self._using

    @property
    def waiting(self) -> list[str]:
        """The requests that are not fulfilled yet."""
        return sorted(self._open)

    def run(self) -> None:
        """Until nobody asks any more, and all is given back."""
        try:
            while not (self.quiet.is_set() and self.idle):
                self._turn()
                time.sleep(PACE)
        except Exception as problem:  # which ends the thread, and must not end unseen
            self.wrong.append(f"people: {type(problem).__name__}: {problem}")

    def _turn(self) -> None:
        while len(self._open) < AT_ONCE and not self.quiet.is_set():
            image = self._chance.choice(sorted(TESTING))
            self._open[self._requestor.ask(f"{image}-node")] = image
        for request, image in list(self._open.items()):
            self._look(request, image)
        for node, until in list(self._using.items()):
            if time.monotonic() >= until:
                self._requestor.give_back(node)
                del self._using[node]

    def _look(self, request: str, image: str) -> None:
        document = self._requestor.request(request)
        if document["state"] == "failed":
            why = self._requestor.read(f"/nodepool/stackci/waits/{request}") or {}
            self.failed.append(f"{request} for {image}-node: {why.get('text') or why}")
            self._requestor.cancel(request)
            del self._open[request]
        elif document["state"] == "fulfilled":
            try:
                (node,) = self._requestor.accept(request)
            except NoNodeError as problem:
                self.wrong.append(f"the node of fulfilled request {request} is gone: {problem}")
                return
            self._note(request, node, image, self._requestor.node(node), document["state_time"])
            del self._open[request]
            self._using[node] = time.monotonic() + self._chance.uniform(*WORK)

    def _note(self, request: str, node: str, image: str, record: dict[str, Any], at: float) -> None:
        where, server, made_from = (str(record[key]) for key in ("provider", "external_id", "image_id"))
        self.given.append(Given(request, node, image, where, server, made_from, at))
