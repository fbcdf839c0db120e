# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The event filter passes on what was asked for, as ansible-rulebook calls it: by the path of the file."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

FILE = Path(__file__).resolve().parents[6] / "extensions" / "eda" / "plugins" / "event_filter" / "choose.py"
MODULE = runpy.run_path(str(FILE))
choose = MODULE["main"]

FAILED = {
    "type": "request_failed", "severity": "warning", "labels": ["small", "large"], "owner": "image", "subject": "1",
}  # fmt: skip
TROUBLE = {
    "type": "provider_in_trouble",
    "severity": "critical",
    "provider": "east",
    "owner": "cloud",
    "subject": "east",
}
LIVE = {"type": "build_live", "severity": "info", "provider": "east", "image": "debian-12", "subject": "debian-12"}


@pytest.mark.parametrize(
    ("wanted", "passed"),
    [
        ({}, [FAILED, TROUBLE, LIVE]),
        ({"types": ["build_live"]}, [LIVE]),
        ({"severity": "warning"}, [FAILED, TROUBLE]),
        ({"severity": "critical"}, [TROUBLE]),
        ({"labels": ["large", "other"]}, [FAILED, TROUBLE, LIVE]),
        ({"labels": ["other"]}, [TROUBLE, LIVE]),
        ({"labels": ["large"], "strict": True}, [FAILED]),
        ({"providers": "west"}, [FAILED]),
        ({"providers": ["east"], "owners": ["image"]}, [FAILED, LIVE]),
        ({"images": ["debian-12"], "strict": True}, [LIVE]),
        ({"pools": ["main"], "strict": True}, []),
        ({"labels": [], "strict": True}, [FAILED, TROUBLE, LIVE]),
    ],
)
def test_what_was_asked_for_is_passed_on(wanted, passed):
    assert [event for event in (FAILED, TROUBLE, LIVE) if choose(dict(event), **wanted) == event] == passed
    assert all(choose(dict(event), **wanted) in (event, []) for event in (FAILED, TROUBLE, LIVE))


def test_an_event_of_another_source_has_no_severity():
    assert choose({"x": 1}, severity="critical") == {"x": 1}
    assert choose({"x": 1}, severity="critical", strict=True) == []
    assert choose({"x": 1, "severity": "high"}, severity="critical") == {"x": 1, "severity": "high"}


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"label": ["a"]}, "label: there is no such argument"),
        ({"labels": {"a": 1}}, "labels: must be a list of texts"),
        ({"labels": [1]}, "labels: must be a list of texts"),
        ({"types": ["build_live", "request_fialed"]}, "types: there is no request_fialed; there are .*request_failed"),
        ({"owners": "clowd"}, "owners: there is no clowd; there are account, capacity, cloud, "),
        (
            {"severity": "high", "strict": "no"},
            "severity: must be one of info, warning, critical; strict: must be true",
        ),
    ],
)
def test_a_wrong_argument_is_told(wanted, said):
    with pytest.raises(ValueError, match=said):
        choose({}, **wanted)


VALUES = {name: st.sampled_from(MODULE["KNOWN"].get(name, ("a", "b", "c"))[:3]) for name in MODULE["FIELDS"]}
HAD = {MODULE["FIELDS"][name]: values | st.lists(values) for name, values in VALUES.items()}


@given(
    event=st.fixed_dictionaries({}, optional=HAD),
    wanted=st.fixed_dictionaries({}, optional={name: st.lists(values) for name, values in VALUES.items()}),
)
def test_strict_passes_on_less_and_each_argument_counts(event, wanted):
    loose, strict = choose(event, **wanted), choose(event, strict=True, **wanted)
    assert loose == event or strict == []
    assert (loose == event) == all(choose(event, **{name: values}) == event for name, values in wanted.items())
