# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What statsd is told of the calls of clouds: openstacksdk's figures, which it sends for its own calls only."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ...clients.openstack.api_names import ApiCall
from ...clients.statsd import Sink, Statsd

LONG = 1000
"""Milliseconds; longer calls are counted by themselves."""


def send_api_call(sink: Sink, call: ApiCall) -> None:
    """A call has ended."""
    if call.status is None:
        sink.incr(f"{call.name}.failed")
    else:
        name = f"{call.name}.{call.status}"
        sink.timing(name, call.seconds)
        sink.incr(name)
        if int(1000.0 * call.seconds) > LONG:
            sink.incr(f"{call.name}.over_1000")
    sink.incr(f"{call.name}.attempted")


def calls_to(sink: Statsd) -> Callable[[ApiCall], None] | None:
    """What clients are to tell their calls to; None: nobody wants to know."""
    return partial(send_api_call, sink.bare) if sink.wanted else None
