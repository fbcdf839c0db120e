# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which builds the nodes of one event were made from, so that its later nodes are made from the same ones. No I/O.

All requests of an event have its id; for a CI system they are the jobs of one change.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ..model.request import NodeRequest


@dataclass(frozen=True)
class Made:
    """What one node was made from, and for whom. *event*: the event's id; that of the request without one."""

    event: str
    request: str
    image: str
    build: str


@dataclass(frozen=True)
class Pin:
    """The build that other nodes of the event were made from.

    :ivar build: its id; "" if there are none.
    :ivar same_request: these are nodes of the same request.
    :ivar siblings: number of nodes that other open requests of the event ask for.
    """

    build: str = ""
    same_request: bool = False
    siblings: int = 0


NO_PIN = Pin()


def event_of(request: NodeRequest) -> str:
    """Return the id of a request's event; that of the request without one."""
    return request.event_id or request.id


class EventBuilds:
    """The nodes that exist, or are being made, for requests.

    :ivar open: event → number of nodes that its open requests ask for.
    """

    def __init__(self) -> None:
        self.open: Counter[str] = Counter()
        self._made: dict[str, Made] = {}
        self._of_event: dict[str, set[str]] = {}
        self._begun: list[Made] = []
        """Nodes that have no id yet."""

    def begin(self, made: Made) -> None:
        """Note that a node is being begun, until :meth:`have_begun` is called."""
        self._begun.append(made)

    def have_begun(self) -> None:
        """Forget the nodes that were being begun: those that were made are noted."""
        self._begun.clear()

    def get(self, node_id: str) -> Made | None:
        """Return what is known of a node."""
        return self._made.get(node_id)

    def note(self, node_id: str, made: Made | None) -> None:
        """Note what a node was made from; None: it is for no request, or does not count any more."""
        before = self._made.pop(node_id, None)
        if before is not None:
            nodes = self._of_event[before.event]
            nodes.discard(node_id)
            if not nodes:
                del self._of_event[before.event]
        if made is not None:
            self._made[node_id] = made
            self._of_event.setdefault(made.event, set()).add(node_id)

    def builds(self, event: str) -> dict[str, str]:
        """Return image → the build that an event's nodes are made from: that of its first node."""
        found: dict[str, str] = {}
        for node_id in sorted(self._of_event.get(event, ())):
            found.setdefault(self._made[node_id].image, self._made[node_id].build)
        return found

    def of_others(self, request: NodeRequest, image: str) -> set[str]:
        """Return the builds from which the nodes of other requests of the event are made."""
        event = event_of(request)
        made = [*map(self._made.__getitem__, self._of_event.get(event, ())), *self._begun]
        return {one.build for one in made if (one.event, one.image) == (event, image) and one.request != request.id}

    def pin(self, request: NodeRequest, image: str, besides: str = "") -> Pin:
        """Return the build from which nodes for a request are to be made.

        :param besides: id of a node that does not count: it is made anew.
        """
        event = event_of(request)
        siblings = max(0, self.open[event] - len(request.node_types))
        ids = sorted(self._of_event.get(event, set()) - {besides})
        begun = [made for made in self._begun if made.event == event]
        others = [made for made in [*map(self._made.__getitem__, ids), *begun] if made.image == image]
        mine = [made for made in others if made.request == request.id]
        build = next((made.build for made in [*mine, *others]), "")
        return Pin(build, bool(mine), siblings)
