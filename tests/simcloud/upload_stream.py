# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The data of an upload as it arrives, and what may go wrong in the middle of it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

from aiohttp import web

from tests.simcloud.faults import Rule

PIECE = 1 << 18
BUFFERED = 1 << 18
"""Bytes that the system takes for a server that reads slowly or not at all; by itself it may take 32 MiB."""
MIDWAY = frozenset({"reset", "status", "hang", "throttle"})


class CutShort(Exception):
    """The rule strikes now."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        super().__init__(rule.fault)


def is_midway(rule: Rule) -> bool:
    """True for a rule that strikes after ``at`` bytes of an upload, and for one that slows it down."""
    return rule.fault in MIDWAY and (rule.fault == "throttle" or "at" in rule.options)


async def pieces(request: web.BaseRequest, rule: Rule | None) -> AsyncIterator[bytes]:
    """The body in pieces.

    :raises CutShort: after as many bytes as the rule says; one that hangs reads nothing more instead.
    """
    got = 0
    if rule is not None and request.transport is not None:
        connection: socket.socket = request.transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFERED)
    at = int(rule.options.get("at", 0)) if rule is not None and rule.fault != "throttle" else None
    rate = float(rule.options.get("rate", 1 << 20)) if rule is not None and rule.fault == "throttle" else None
    async for piece in request.content.iter_chunked(PIECE):
        got += len(piece)
        if rule is not None and at is not None and got >= at:
            if rule.fault == "hang":
                await asyncio.Event().wait()
            raise CutShort(rule)
        yield piece
        if rate is not None:
            await asyncio.sleep(len(piece) / rate)
