# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Random runs of a whole site on virtual time, from seeds: the checker finds nothing.

``python -m tests.chaos --virtual --seconds 300 --seed N`` is the same run with its log.
"""

from __future__ import annotations

import re

import pytest

from tests.chaos.virtual import VirtualRun, run_virtual
from tests.support.effort import EFFORT

SECONDS = 300.0 if EFFORT > 1 else 60.0
SEEDS = range(100, 150) if EFFORT > 1 else (101, 102)

RANDOM_NAME = re.compile(r"[0-9a-f]{32}")
"""kazoo's lock contenders."""


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_run_breaks_no_rule(seed):
    outcome = run_virtual(seed, SECONDS)
    assert outcome.wrong == []
    assert outcome.figures["served"]


def test_the_same_seed_is_the_same_run():
    first, second = (RANDOM_NAME.sub("", "\n".join(run_virtual(7, 15.0).log)) for _turn in range(2))
    assert first == second
    assert len(first.splitlines()) > 15


def test_what_waits_for_more_than_its_tenant_may_ever_have_is_served_when_the_limits_are_raised():
    run = VirtualRun(7)
    run.top["tenant-resource-limits"] = [{"tenant-name": "one", "max-servers": 1}]
    run.world.configure(run.document())
    with run.world as world:
        world.hunt()
        request = world.request("small", "small", tenant_name="one")
        assert not world.run(120, until=lambda: world.state(request) != "requested")
        run._raise_limits()
        assert world.run(120, until=lambda: world.state(request) == "fulfilled")
