# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manual has every reason for which a request waits or is declined, and every wait has what ends it."""

from __future__ import annotations

import re
from pathlib import Path

from ansible_collections.stackci.nodepool.plugins.module_utils.model import reasons
from ansible_collections.stackci.nodepool.plugins.module_utils.model.reasons import Reason
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.explain import ENDS

MANUAL = Path(__file__).resolve().parents[6] / "docs" / "operating.md"
CODES = {value for name, value in vars(reasons).items() if name.isupper() and isinstance(value, str) and name[0] != "_"}
TROUBLES = {code for code in CODES if Reason(code).owner is not None}


def listed(heading: str) -> set[str]:
    """The codes in the first column of the table with this first line."""
    text = MANUAL.read_text("utf-8")
    assert text.count(f"\n{heading}\n") == 1
    rows = text.partition(f"\n{heading}\n")[2].partition("\n\n")[0].splitlines()[1:]
    return {code for row in rows for code in re.findall(r"`([a-z-]+)`", row.split("|")[1])}


def test_every_wait_has_an_end_and_a_row_in_the_manual():
    assert listed("| code | what blocks | what ends it |") == set(ENDS)


def test_every_other_trouble_is_a_decline_and_has_a_row_in_the_manual():
    assert listed("| code | meaning |") == TROUBLES - set(ENDS)
