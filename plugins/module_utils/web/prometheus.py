# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""/metrics."""

from __future__ import annotations

from .exposition import CONTENT_TYPE, exposition
from .libraries import Request, Response
from .picture import Snapshot
from .routing import Route


def metrics(snapshot: Snapshot, _request: Request) -> Response:
    """All metrics in Prometheus' text format; without ZooKeeper those of the last known state."""
    contact = snapshot.contact
    text = snapshot.remembered(
        "metrics",
        lambda: exposition(
            snapshot.reading, snapshot.config, snapshot.now, connected=contact.connected, age=contact.age
        ),
    )
    return Response(text, content_type=CONTENT_TYPE, headers={"Cache-Control": "no-cache"})


ROUTES: tuple[Route, ...] = (Route("/metrics", metrics, needs_tree=False),)
