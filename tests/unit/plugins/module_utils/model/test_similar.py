# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names that are like one that does not exist."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.similar import did_you_mean, hint, near


@pytest.mark.parametrize(
    ("typed", "nearest"),
    [
        ("17", ["0000000017"]),
        ("0000000018", ["0000000017", "0000000117"]),
        ("100-17", ["100-0000000017"]),
        ("debain", ["debian"]),
        ("x", []),
    ],
)
def test_the_nearest_names(typed, nearest):
    there = ["0000000017", "0000000117", "100-0000000017", "debian"]
    found = near(typed, there)
    assert found[: len(nearest)] == nearest
    assert bool(found) == bool(nearest)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["debian", "rocky"], "did you mean debian?"),
        ([], "there are none"),
        ([f"l{n:02}" for n in range(12)], f"there are {', '.join(f'l{n:02}' for n in range(10))} and 2 more"),
    ],
)
def test_a_hint_names_what_is_alike_or_what_there_is(names, text):
    assert hint("debain", names) == text
    assert did_you_mean("debain", names) == ("did you mean debian?" if "debian" in names else "")
