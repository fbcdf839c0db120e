# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of clouds and of ZooKeeper are data for each ansible-core."""

from __future__ import annotations

from typing import Any

import pytest
from ansible import context
from ansible.utils.unsafe_proxy import wrap_var

from ansible_collections.stackci.nodepool.plugins.plugin_utils import untrusted as room

HOSTILE = "{{ lookup('pipe', 'id') }}"
ROWS: list[dict[str, Any]] = [{"comment": HOSTILE, "addresses": [{"address": "192.0.2.1", "version": 4}]}]
MARKED: list[dict[str, Any]] = [{"comment": ("marked", HOSTILE), "addresses": [{"address": "192.0.2.1", "version": 4}]}]


@pytest.fixture
def lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command is ansible-inventory --list."""
    monkeypatch.setattr(context, "CLIARGS", {"list": True})


def test_a_core_that_evaluates_only_trusted_texts_needs_nothing() -> None:
    assert room.untrusted(ROWS) is ROWS and room.listed(ROWS) is ROWS


def test_an_older_core_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "trust_as_template", None)
    monkeypatch.setattr(room, "wrap_var", lambda value: ("wrapped", wrap_var(value)))
    assert room.untrusted(ROWS) == ("wrapped", ROWS)


@pytest.mark.usefixtures("lists")
def test_a_list_marks_only_what_could_be_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "trust_as_template", lambda text: ("trusted", text))
    (row,) = room.listed(ROWS)
    assert row["comment"] == HOSTILE and row["addresses"] == [{"address": ("trusted", "192.0.2.1"), "version": 4}]
    monkeypatch.setattr(room, "trust_as_template", None)
    monkeypatch.setattr(room, "wrap_var", lambda value: ("marked", value))
    assert room.untrusted(ROWS) == MARKED and room.listed(ROWS) is ROWS


@pytest.mark.usefixtures("lists")
@pytest.mark.parametrize("text", ["lookup('pipe', 'id')", "a | b", "a[0]", "{% if a %}", "{# a", "a\\nb"])
def test_a_text_that_somebody_could_have_evaluated_stays_marked(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(room, "trust_as_template", lambda text: ("trusted", text))
    assert room.listed({"key": text}) == {"key": text}
