# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.documents import seconds, text, whole, words
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.fields import (
    Fields,
    age,
    age_text,
    refuse_unknown,
)


@pytest.mark.parametrize(
    ("passed", "shown"),
    [(0, "00:00:00:00"), (182.9, "00:00:03:02"), (93784, "01:02:03:04"), (100 * 86400, "100:00:00:00"), (None, None)],
)
def test_an_age_as_nodepool_shows_it(passed, shown):
    assert age_text(passed) == shown


def test_an_age_is_never_negative():
    assert (age(110.0, 100.0), age(99.96, 100.0), age(None, 100.0)) == (0.0, 0.0, None)


def test_what_is_wrong_is_told_and_what_is_missing_is_not():
    fields = Fields({"a": [1], "b": "x", "c": None, "d": ["x", 3, {}], "e": {}, "f": True, "g": "7"})
    assert [fields.read("a"), fields.read("b"), fields.read("c"), fields.read("z")] == [None, "x", None, None]
    assert [fields.read("d", words), fields.read("e", words), fields.read("z", words)] == [["x", "3"], [], []]
    assert [fields.read("f", seconds), fields.read("g", whole)] == [None, 7]
    assert fields.problems == [
        "'a' is a list, not a text",
        "'d' is a list, not a list of texts",
        "'e' is an object, not a list of texts",
        "'f' is a truth value, not a finite number",
    ]


def test_a_bare_string_is_a_list_of_one():
    fields = Fields({"type": "small"})
    assert (fields.read("type", words), fields.problems) == (["small"], [])


@pytest.mark.parametrize("moment", [-1, 1e12])
def test_a_time_that_is_none(moment):
    fields = Fields({"at": moment})
    assert (fields.moment("at"), fields.problems) == (None, ["'at' is not a plausible UNIX time"])


def test_what_is_needed_is_asked_for_only_where_there_is_a_document():
    fields, without = Fields({"state": "ready"}), Fields({}, "it is not JSON")
    fields.need("state", "type")
    without.need("state", "type")
    assert (fields.problems, without.problems) == (["it has no 'type'"], ["it is not JSON"])


def test_text_of_a_number():
    assert Fields({"a": 5}).read("a", text) == "5"


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(ConfigError) as caught:
        refuse_unknown("labels", ["smal", "zzz"], ["small", "big"], "there is no label")
    assert caught.value.problems == [
        "labels: there is no label 'smal'; did you mean small?",
        "labels: there is no label 'zzz'; there are big, small",
    ]
    with pytest.raises(ConfigError, match=r"ids: ZooKeeper has no node '1'; there are none"):
        refuse_unknown("ids", ["1"], [], "ZooKeeper has no node")
    refuse_unknown("ids", [], [], "ZooKeeper has no node")
