# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The life of a request or node as a picture."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.web.page.timeline import (
    KINDS,
    MOST_LINES,
    WIDTH,
    of_request,
    timeline,
)

NOW = 1_795_198_000.0
names = st.sampled_from([*KINDS, "adopted", "phase booting", "what nobody knows"])
moments = st.floats(allow_nan=True) | st.floats(NOW - 1e6, NOW + 100)
lives = st.lists(st.tuples(names, moments).map(lambda item: {"step": item[0], "at": item[1]}), max_size=12)


def steps(**found):
    return [{"step": name.replace("_", "-"), "at": NOW - age} for name, age in found.items()]


def test_a_node_from_its_record_to_now():
    life = steps(recorded=600, asked=598, created=596, active=540, ready=500, in_use=400)
    (line,) = timeline([("node", life)], NOW)
    assert [(piece.kind, piece.seconds) for piece in line.bars] == [
        ("waiting", 2),
        ("building", 58),
        ("ssh", 40),
        ("ready", 100),
        ("in use", 400),
    ]
    assert line.bars[-1].x + line.bars[-1].width == WIDTH and not line.ended


def test_a_deleted_node_ends_with_its_deletion():
    (line,) = timeline([("node", steps(recorded=600, ready=500, used=200, deleted=100))], NOW)
    assert [piece.kind for piece in line.bars] == ["waiting", "ready", "deleting"]
    assert line.ended and sum(piece.seconds for piece in line.bars) == 500
    assert line.bars[-1].x + line.bars[-1].width == WIDTH


def test_a_request_and_its_nodes_have_one_scale():
    row = {"state": "pending", "created_age": 100.0, "age": 50.0}
    lines = timeline([("request", of_request(row, NOW)), ("node", steps(recorded=50, active=25))], NOW)
    assert [line.name for line in lines] == ["request", "node"]
    assert lines[1].bars[0].x == WIDTH / 2 and lines[0].bars[0].seconds == 100


def test_nothing_known_is_nothing_drawn():
    assert timeline([("node", [])], NOW) == []
    assert of_request({"state": None, "created_age": None, "age": None}, NOW) == []


@given(st.lists(st.tuples(st.text(max_size=3), lives), max_size=2 * MOST_LINES))
def test_bars_follow_each_other_within_the_picture(found):
    lines = timeline(found, NOW)
    assert len(lines) <= MOST_LINES + 1
    for line in lines:
        assert line.bars
        for piece in line.bars:
            assert 0 <= piece.x <= WIDTH and piece.width > 0 and piece.x + piece.width <= WIDTH + 0.2
            assert piece.seconds >= 0 and math.isfinite(piece.begin)
        assert [piece.begin for piece in line.bars] == sorted(piece.begin for piece in line.bars)
