# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a page is: a path, and a function that makes the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .libraries import Response

Handler = Callable[..., Response]
"""Called with the :class:`picture.Snapshot`, the ``werkzeug.Request`` and the variable parts of the path by name."""


@dataclass(frozen=True)
class Route:
    """A path, as ``werkzeug.routing`` writes it (``/requests/<request_id>``), and what answers it.

    Handlers are called for GET and HEAD only, from several threads.

    :ivar needs_tree: the answer is 503 as long as no tree was ever read; False: the handler is called all the same.
    """

    path: str
    handler: Handler
    needs_tree: bool = True
