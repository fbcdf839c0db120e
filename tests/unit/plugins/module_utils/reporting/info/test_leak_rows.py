# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.leak_rows import leak_rows, undeletable
from tests.support import busy_tree
from tests.support.tree_reading import NOW, reading_of


def test_leaks_with_the_oldest_first():
    reading = reading_of(busy_tree.documents(NOW))
    assert [(row["what"], row["age"]) for row in leak_rows(reading, NOW)] == [
        ("floating-ip 2f1be1a1-9a37-4f4b-9f40-3a7d7f1f2f10", 4000.0),
        ("port 9c0a", 1200.0),
    ]


def test_odd_sightings_are_no_leaks():
    reading = reading_of({"/nodepool/stackci/sightings/west": {"seen": 7}, "/nodepool/stackci/sightings/east": b"x"})
    assert leak_rows(reading, NOW) == []


def test_what_several_attempts_have_not_deleted():
    seen = {"port/a": {"first": NOW - 60, "tries": 3, "answer": "409"}, "port/b": {"first": NOW - 90, "tries": 2}}
    rows = leak_rows(reading_of({"/nodepool/stackci/sightings/west": {"seen": seen}}), NOW)
    assert [row["what"] for row in undeletable(rows)] == ["port a"]
