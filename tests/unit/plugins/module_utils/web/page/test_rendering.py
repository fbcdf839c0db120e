# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest
from markupsafe import Markup

from ansible_collections.stackci.nodepool.plugins.module_utils.model.bounded_text import ODD
from ansible_collections.stackci.nodepool.plugins.module_utils.web.page import rendering
from ansible_collections.stackci.nodepool.plugins.module_utils.web.page.rendering import (
    BRIEF,
    LONGEST,
    brief,
    counted,
    moment,
    number,
    quantity,
    rendered,
    share,
    shown,
    static,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (7, 7),
        ("plain", "plain"),
        ("two\nlines\ttab", "two lines tab"),
        ("\x1b[2Jx\x00", f"{ODD}[2Jx{ODD}"),
        ("\u202eabc", f"{ODD}abc"),
        ("\ud800", ODD),
        (Markup("<b>"), "<b>"),
    ],
)
def test_what_is_shown_of_a_value(value, text):
    assert shown(value) == text


def test_a_long_value_is_cut():
    assert len(shown("x" * 2**20)) == LONGEST and len(brief("x" * 2**20)) == BRIEF
    assert shown("x" * 2**20).endswith("\N{HORIZONTAL ELLIPSIS}")


def test_numbers_and_quantities():
    assert [number(value) for value in (None, 0, 6000, 2.5, 1e6)] == ["", "0", "6,000", "2.5", "1,000,000"]
    assert quantity(360448, "ram") == "352" and quantity(360448, "cores") == "360,448"


@pytest.mark.parametrize(
    ("value", "limit", "percent"), [(0, 10, 0), (3, 10, 30), (12, 10, 100), (1, 0, 100), (-5, 10, 0)]
)
def test_a_bar_is_between_nothing_and_all(value, limit, percent):
    assert share(value, limit) == percent


def test_labels_that_are_asked_for_twice_are_counted():
    assert counted(["small", "small", "big"]) == "2 \N{MULTIPLICATION SIGN} small, big"


def test_a_moment_is_told_in_utc():
    assert moment(1795198332.9) == "2026-11-20T18:12:12Z"
    assert moment(1e15) == moment(float("inf")) == "9999-12-31T23:59:59Z"
    assert moment(-1e15).endswith("1-01-01T00:00:00Z")


def test_what_a_template_does_not_know_is_an_error():
    with pytest.raises(Exception, match="layout"):
        rendered("overview.html")


def test_the_static_files_load_nothing_from_elsewhere():
    for name in ("page.css", "page.js", "icon.svg"):
        text = static(name).decode()
        assert "SPDX-License-Identifier" in text
        assert "@import" not in text and "url(" not in text and "https://" not in text


@pytest.mark.parametrize(
    ("used", "others", "look"),
    [(84, 0, "bar"), (60, 25, "bar high"), (80, 20, "bar high"), (101, 0, "bar over"), (90, 20, "bar over")],
)
def test_a_limit_that_is_reached_is_no_error_and_one_that_is_exceeded_looks_like_one(used, others, look):
    item = {"resource": "instances", "used": used, "others": others, "limit": 100}
    parts: Any = rendering._environment().get_template("parts.html").module
    assert f'<svg class="{look}" ' in parts.bar(item)


def test_a_percentage_that_is_not_nothing_is_not_told_as_nothing():
    assert [rendering.percent(*case) for case in ((0, 900), (1, 900), (300, 900), (0, 0))] == [
        "0 %",
        "<1 %",
        "33 %",
        "0 %",
    ]
