# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.action.nodepool_status import CLEAR, follow, screen, shown

AWAY = {"failed": True, "msg": "no connection to ZooKeeper within 10 s", "error_kind": "StoreError"}


def looks(*results):
    """Follow these; what was shown until Ctrl-C, which comes after the last."""
    left: list[Any] = list(results)
    shown: list[Any] = []

    def pause():
        if not left:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        follow(lambda: left.pop(0), shown.append, pause)
    return shown


def test_it_looks_until_it_is_interrupted():
    assert looks({"lines": ["a"]}, {"lines": ["b"]}) == [{"lines": ["a"]}, {"lines": ["b"]}]


def test_zookeeper_may_be_away_meanwhile():
    assert looks({"lines": ["a"]}, AWAY, {"lines": ["b"]})[1:] == [AWAY, {"lines": ["b"]}]


def test_a_first_look_that_fails_is_the_result():
    def refuse(*_given: Any) -> None:
        raise AssertionError("it went on")

    assert follow(lambda: AWAY, refuse, refuse) is AWAY


def test_a_screen_says_when_and_why():
    assert screen({"lines": ["a", "b"]}, 5.0, "03:00:00", clear=False) == [
        "\n03:00:00, every 5 s until Ctrl-C",
        "a",
        "b",
    ]
    assert screen(AWAY, 5.0, "03:00:00", clear=True) == [f"{CLEAR}03:00:00, every 5 s until Ctrl-C", AWAY["msg"]]


def test_the_lines_of_a_failure_are_on_the_screen_and_not_once_more_in_what_ansible_shows_of_it():
    failed = {"failed": True, "msg": "no launcher is registered in this tree", "lines": ["a", "b"]}
    assert shown(failed) == ["a", "b"] and "lines" not in failed
    good = {"lines": ["a"]}
    assert shown(good) == ["a"] and good == {"lines": ["a"]}
    assert shown(dict(AWAY)) == []
