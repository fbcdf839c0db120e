# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sends the metrics of calls to clouds to statsd, as openstacksdk does, which sends them for its own calls only."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ...clients.openstack.api_names import ApiCall
from ...clients.statsd import Sink, Statsd

LONG = 1000
"""Milliseconds. Longer calls are also counted in a separate counter."""


def send_api_call(sink: Sink, call: ApiCall) -> None:
    """Send the metrics of a call that has ended."""
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
    """Return the function that clients call after each call; None when no metrics are sent."""
    return partial(send_api_call, sink.bare) if sink.wanted else None
