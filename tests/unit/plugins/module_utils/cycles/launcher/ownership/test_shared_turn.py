# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.ownership.shared_turn import (
    SharedTurn,
    shares,
    unmet_here,
    without_shared,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.actions import Admit, LaunchSpare, Plan
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.snapshot import (
    OpenRequest,
    OtherPool,
    Snapshot,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model import reasons
from ansible_collections.stackci.nodepool.plugins.module_utils.model.reasons import Reason
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import Limits
from tests.support.memory_zookeeper import MemoryZooKeeper
from tests.support.virtual_time import Agenda

WHY = Reason(reasons.FITS, {"where": "east/main"})


@pytest.fixture
def keeper():
    return MemoryZooKeeper(Agenda(), lag=1.0)


def admit(request_id):
    return Admit(request_id, "pool", None, (), WHY)


def request(request_id, tenant):
    return OpenRequest(request_id, ("100", 0, request_id), ("small",), tenant=tenant)


def limited(*tenants):
    return {name: Limits({"instances": 5}) for name in tenants}


def test_one_launcher_at_a_time_and_it_knows_what_the_other_did(keeper):
    stores = keeper.store(), keeper.store()
    one, two = map(SharedTurn, stores)
    assert one.take() and not two.take()
    stores[0].own.put("site", {"id": "x"})
    one.end(alone=False)
    assert not one.has and two.take() and stores[1].own.get("site") == {"id": "x"}


def test_a_launcher_that_is_alone_keeps_its_turn_without_another_write(keeper):
    turn = SharedTurn(keeper.store())
    assert turn.take()
    turn.end(alone=True)
    writes = keeper.writes
    assert turn.has and turn.take() and keeper.writes == writes
    turn.lose()
    assert not turn.has


def test_a_turn_ends_with_its_session(keeper):
    store = keeper.store()
    turn = SharedTurn(store)
    assert turn.take()
    store.session.expire()
    assert not turn.has


def test_only_what_is_shared_waits_for_the_turn():
    spare = LaunchSpare("small", "pool", None, WHY)
    plan = Plan((admit("1"), admit("2")), (), (), (spare,), (), {}, {})
    both = request("1", "bounded"), request("2", "free")
    snapshot = Snapshot(requests=both, tenant_limits=limited("bounded"))
    assert shares(plan, snapshot)
    left = without_shared(plan, snapshot)
    assert [one.request_id for one in left.admit] == ["2"] and left.spare == ()
    assert not shares(left, snapshot)
    unlimited = Snapshot(requests=both)
    assert not shares(Plan((admit("1"),), (), (), (), (), {}, {}), unlimited)


def test_a_spare_that_another_launcher_may_make_is_not_called_unmet():
    plan = Plan((), (), (), (), (), {"here": 2, "there": 1, "gone": 1}, {"here": "a", "there": "b", "gone": "c"})
    others = (
        OtherPool("1", "west", "main", frozenset({"there"})),
        OtherPool("2", "west", "full", frozenset({"here"}), paused=True),
        OtherPool("3", "west", "past", frozenset({"gone"}), present=False),
    )
    assert unmet_here(plan, Snapshot(others=others)) == ({"here": 2, "gone": 1}, {"here": "a", "gone": "c"})
