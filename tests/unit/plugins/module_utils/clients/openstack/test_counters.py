# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.counters import CallCount, CallCounters


def test_calls_are_counted_by_kind_and_status_with_their_times() -> None:
    counters = CallCounters()
    for status, seconds in (("202", 0.5), ("202", 1.5), ("timeout", 30.0)):
        counters.started()
        counters.ended("POST /servers", status, seconds)
    counters.started()
    assert counters.snapshot() == {
        ("POST /servers", "202"): CallCount(2, 2.0, 1.5),
        ("POST /servers", "timeout"): CallCount(1, 30.0, 30.0),
    }
    assert counters.document() == {"POST /servers": {"202": 2, "timeout": 1}}
    assert (counters.total, counters.running) == (3, 1)
