# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The time until which a lease lasts, by the clock on the wall."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.lease import LeaseError
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lease_until import seconds_until

ZONE = ZoneInfo("Europe/Berlin")


@pytest.fixture(autouse=True)
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def at(text: str) -> float:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=ZONE)).timestamp()


@pytest.mark.parametrize(
    ("now", "until", "hours"),
    [
        ("2026-11-25 17:00", "18:00", 1),
        ("2026-11-25 18:00", "18:00", 24),
        ("2026-11-25 19:00", "8:30", 13.5),
        ("2026-11-25 17:00", "1080", 1),  # what YAML makes of 18:00 without quotes
        ("2026-10-24 18:00", "18:00", 25),  # the clocks are set back in the night
        ("2026-03-28 18:30", "18:00", 22.5),  # and forth
        ("2026-10-25 01:30", "02:30", 1),  # this hour comes twice: the first one
        ("2026-10-25 02:15+01:00", "02:30", 0.25),  # the first one has passed
        ("2026-10-25 02:45+01:00", "02:30", 23.75),
        ("2026-03-29 01:30", "02:30", 1),  # this time does not exist
        ("2026-11-25 17:00", "2026-11-26 17:00", 24),
        ("2026-11-25 17:00", "2026-11-25T18:00+02:00", 0),
        ("2026-11-25 17:00", "2026-11-25T18:00+00:00", 2),
    ],
)
def test_the_next_such_time(now: str, until: str, hours: float) -> None:
    if hours:
        assert seconds_until(until, at(now)) == hours * 3600
    else:
        with pytest.raises(LeaseError, match="which has passed"):
            seconds_until(until, at(now))


def test_it_is_never_less_than_a_second() -> None:
    assert seconds_until("18:00", at("2026-11-25 17:59:59") + 0.9) == 1


NO_TIMES = ["", "tomorrow", "24:00", "25:00", "12:61", "1440", "2026-13-01", "9999999999"]
NO_TIMES += ["18", "6", "59", "6pm", "18h"]


@pytest.mark.parametrize("until", NO_TIMES)
def test_what_is_no_time_is_told(until: str) -> None:
    with pytest.raises(LeaseError, match=r"give a time such as '18:00'|which has passed"):
        seconds_until(until, at("2026-11-25 17:00"))
