# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodepool 11.0.0's figures for the same work, measured elsewhere: another machine, host key scan off.

P50/P90/P99/max in seconds. They stand beside ours for orientation; only figures of one run compare.
"""

from __future__ import annotations

BURST_TOTAL = "28.9/29.0/29.0/29.0"
BURST_OVERHEAD = "6.0/7.2/7.5/7.5"
BURST_CALLS = "8.5"
BURST_GONE = "6.8"
BURST_CPU = "5.3"
BURST_MEMORY = "158"
SLOW_TOTAL = "44.8"
SLOW_OVERHEAD = "20.7, max 22.6"
ALONE_CALLS = "12–26 alone"
IDLE_CALLS = "1"
IDLE_CPU = "0.09"
THOUSAND_UP = "87"
THOUSAND_OVERHEAD = "45/57/60"
THOUSAND_REST_CPU = "0.53"
THOUSAND_MEMORY = "243"
THOUSAND_GONE = "738 of 1,000 after 45 s"
