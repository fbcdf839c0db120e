# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A page of the web service: a path, and a function that makes the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .libraries import Response

Handler = Callable[..., Response]
"""Called with the :class:`picture.Snapshot`, the ``werkzeug.Request`` and the variable parts of the path by name."""


@dataclass(frozen=True)
class Route:
    """A path in the syntax of ``werkzeug.routing`` (``/requests/<request_id>``), and its handler.

    Handlers are called for GET and HEAD only, from several threads.

    :ivar needs_tree: True: the answer is 503 until the tree is read for the first time. False: the handler is always
        called.
    """

    path: str
    handler: Handler
    needs_tree: bool = True
