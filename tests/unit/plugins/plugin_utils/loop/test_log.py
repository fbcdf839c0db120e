# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of the journal as text and as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.log import (
    ERROR,
    INFO,
    JSON,
    TEXT,
    WARNING,
    Entry,
    rendered,
)

ABOUT = {"provider": "east", "pool": "main", "request": "100-0000000004", "node": "0000000017", "event_id": "4c1f"}


def text(message: str, **more: Any) -> str:
    return rendered(Entry(message, **more), "launcher", TEXT)


def document(entry: Entry) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(rendered(entry, "launcher", JSON))
    return found


def test_text_names_what_the_message_does_not():
    said = text("node 0000000017: ready", cycle=3, quoted=True, about=ABOUT)
    assert said == "cycle 3: node 0000000017: ready [provider east, request 100-0000000004, event_id 4c1f]"
    whole = "node 0000000017: launching in east/main for request 100-0000000004 of 4c1f"
    assert text(whole, cycle=3, quoted=True, about=ABOUT) == f"cycle 3: {whole}"
    assert text("cycle 3 ok", cycle=3) == "cycle 3 ok"


@pytest.mark.parametrize("message", ["north-east: frozen", "east2: frozen", "beast: frozen"])
def test_a_part_of_another_name_does_not_name_it(message):
    assert text(message, about={"provider": "east"}) == f"{message} [provider east]"


def test_json_has_the_documented_keys_and_nothing_that_is_unknown():
    found = document(Entry("no host:\u00fc", WARNING, 1795198332.8401, 3, True, ABOUT))
    assert list(found) == ["time", "level", "loop", "cycle", *ABOUT, "message"]
    assert found["time"] == "2026-11-20T18:12:12.840Z"
    assert (found["level"], found["loop"], found["cycle"], found["message"]) == ("warning", "launcher", 3, "no host:ü")
    assert list(document(Entry("loop launcher: ended"))) == ["time", "level", "loop", "message"]


def test_levels():
    assert [document(Entry("x", priority))["level"] for priority in (ERROR, WARNING, INFO)] == [
        "error",
        "warning",
        "info",
    ]


def test_a_line_of_json_is_one_line_whatever_others_wrote():
    entry = Entry.of_cycle({"line": 'a\nb\u2028"c"', "node": "1\n2"}, 3)
    (line,) = rendered(entry, "launcher", JSON).split("\n")
    assert json.loads(line)["node"] == "1 2"
    assert json.loads(line)["message"] == 'a b "c"'
