# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long tests are patient where others run beside: no assertion, for the figures are the benchmark's."""

from __future__ import annotations

import os

_LEAST, _MOST = 1.5, 20.0
_HICCUP = 0.5
"""Seconds for which a thread may just not be run, however little is going on."""


def allowed(seconds: float) -> float:
    """What *seconds* of a quiet machine may become on this one, now.

    For time-outs alone: what does not come at all is waited for no longer than this.
    """
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    return (seconds + _HICCUP) * min(max(load, _LEAST), _MOST)
