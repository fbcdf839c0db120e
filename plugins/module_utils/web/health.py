# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""/health and /ready."""

from __future__ import annotations

from .libraries import Request, Response
from .picture import Snapshot
from .routing import Route


def health(_snapshot: Snapshot, _request: Request) -> Response:
    """This process answers; nothing else is looked at."""
    return Response("OK\n", mimetype="text/plain")


ROUTES = (Route("/health", health, needs_tree=False),)
