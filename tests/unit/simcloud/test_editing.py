# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""True answers in which single values are other ones."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simcloud.answers import Answer
from tests.simcloud.editing import GONE, edited

BODY = {"flavors": [{"id": "1", "ram": 1}, {"id": "2", "ram": 2}], "links": {"next": None}}


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"flavors.*.ram": None}, {**BODY, "flavors": [{"id": "1", "ram": None}, {"id": "2", "ram": None}]}),
        ({"flavors.1.ram": "two"}, {**BODY, "flavors": [{"id": "1", "ram": 1}, {"id": "2", "ram": "two"}]}),
        ({"flavors.0.ram": GONE}, {**BODY, "flavors": [{"id": "1"}, {"id": "2", "ram": 2}]}),
        ({"flavors": None, "links.*": 5}, {"flavors": None, "links": {"next": 5}}),
        ({"more": 1}, {**BODY, "more": 1}),
        ({"no.such.path": 1, "flavors.7.ram": 1, "links.next.deeper": 1}, BODY),
    ],
)
def test_a_path_leads_to_one_value_or_to_many(changes: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert edited(Answer(200, BODY), changes).body == wanted


def test_refusals_and_empty_answers_stay_as_they_are() -> None:
    assert edited(Answer(204), {"a": 1}).body is None
    assert edited(Answer(404, {"a": 2}), {"a": 1}).body == {"a": 2}
