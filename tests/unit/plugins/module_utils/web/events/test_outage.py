# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Of an outage its beginning, each other cause and its end are told."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.web.events.outage import Outage, cause


def test_each_cause_and_the_end_are_one_line():
    said: list[str] = []
    outage = Outage("journal: x", said.append)
    outage.end("works")
    for why in ("is full", "is full", "is gone"):
        outage.begin(why, ": events wait")
    outage.end("works", ": all is there")
    outage.end("works")
    outage.begin("is gone")
    assert said == [
        "journal: x is full: events wait",
        "journal: x is gone: events wait",
        "journal: x works: all is there",
        "journal: x is gone",
    ]


def test_a_cause_names_the_second_file():
    assert cause(OSError(2, "No such file", "a")) == "No such file"
    assert cause(OSError(2, "No such file", "a", None, "b")) == "No such file (as b)"
    assert cause(TimeoutError()) == "TimeoutError"
