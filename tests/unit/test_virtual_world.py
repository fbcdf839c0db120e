# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stand-ins of the virtual world have the faces of what they stand for."""

from __future__ import annotations

import inspect
from copy import deepcopy
from functools import partial

import pytest
from kazoo.exceptions import BadVersionError, RolledBackError
from kazoo.protocol.serialization import Create2, Delete, SetData

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.cloud_client import CloudClient
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.ssh import Scanner
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.multi import Multi
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.inbox import Inbox
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.workers import WorkerSet
from ansible_collections.stackci.nodepool.plugins.module_utils.model.component import ComponentKind
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import StoreError
from tests.support.memory_zookeeper import MemoryZooKeeper
from tests.support.virtual_client import VirtualClient
from tests.support.virtual_cloud import VirtualCloud
from tests.support.virtual_time import Agenda, Fiber, VirtualInbox, VirtualScanner, VirtualWorkers

PAIRS = [(CloudClient, VirtualClient), (WorkerSet, VirtualWorkers), (Scanner, VirtualScanner), (Inbox, VirtualInbox)]


def verbs(kind: type) -> set[str]:
    return {name for name, value in inspect.getmembers(kind) if not name.startswith("_") and callable(value)}


@pytest.mark.parametrize(("real", "stand_in"), PAIRS, ids=lambda kind: kind.__name__)
def test_every_verb_is_there_with_the_same_parameters(real, stand_in):
    assert verbs(real) - verbs(stand_in) <= {
        "get_server",
        "abort_uploads",
        "probe",
    }, "the launcher never asks for a single server, uploads nothing, and no label here names a probe"
    for name in sorted(verbs(real) & verbs(stand_in)):
        wanted = list(inspect.signature(getattr(real, name)).parameters)
        assert list(inspect.signature(getattr(stand_in, name)).parameters)[: len(wanted)] == wanted, name


def test_a_registration_is_renewed_by_a_new_session_while_a_fiber_changes_it():
    agenda = Agenda()
    keeper = MemoryZooKeeper(agenda)
    store = keeper.store()
    made = store.components.register(ComponentKind.POOL, "host", {"id": "1", "paused": False})
    keeper.travel = 0.5
    changes = Fiber(agenda, lambda: made.update(paused=True))
    agenda.after(0.2, lambda: store.session.expire(0.1))
    ends = Fiber(agenda, made.unregister)
    agenda.run(10)
    assert changes.ended and ends.ended and changes.error is None and ends.error is None
    assert made.path is None and not [path for path in keeper.znodes if "/pool/" in path]


def test_a_registration_ends_although_a_new_session_begins_within_that():
    agenda = Agenda()
    keeper = MemoryZooKeeper(agenda)
    store = keeper.store()
    made = store.components.register(ComponentKind.POOL, "host", {"id": "1", "paused": False})
    owner, ends = store.session.owner, Fiber(agenda, made.unregister)

    def swap(_request: object) -> None:
        store.session.before = None
        keeper.end_session(store.session.owner)
        store.session._end()
        store.session._connect_anew()

    store.session.before = swap
    agenda.run(10)
    assert store.session.owner != owner and ends.ended and ends.error is None
    assert made.path is None and not [path for path in keeper.znodes if "/pool/" in path]


def test_what_is_on_its_way_when_its_session_ends_is_lost():
    agenda = Agenda()
    keeper = MemoryZooKeeper(agenda)
    store = keeper.store()
    keeper.travel = 0.5
    writes = Fiber(agenda, lambda: store.own.put("drain/east", {}))
    agenda.after(0.2, lambda: store.session.expire(0.1))
    agenda.run(10)
    assert isinstance(writes.error, StoreError) and not [path for path in keeper.znodes if "drain" in path]


def test_each_fiber_has_a_number_and_a_fence_of_its_own():
    agenda = Agenda()
    session = MemoryZooKeeper(agenda).store().session
    seen = []

    def work(generation: int) -> None:
        session.fence(generation)
        agenda.sleep(1)
        seen.append((agenda.ident(), session._own.generation))

    for generation in (1, 2):
        Fiber(agenda, partial(work, generation))
    agenda.run(5)
    assert [generation for _number, generation in seen] == [1, 2]
    assert len({agenda.ident(), *(number for number, _generation in seen)}) == 3


def test_a_floating_ip_of_a_server_that_goes_stays_and_has_no_port():
    cloud = VirtualCloud(Agenda(), direct=False)
    (machine,) = cloud.add_foreign()
    made = cloud.create_floating_ip(f"port-{machine.id}", "")
    cloud.remove(machine)
    floating, owner = cloud.floating_ips[made.id]
    assert (floating.port_id, floating.status, owner) == (None, "DOWN", None)


def test_a_transaction_that_fails_leaves_all_as_it_was():
    keeper = MemoryZooKeeper(Agenda())
    store = keeper.store()
    for path in ("/nodepool/stackci/old/child", "/nodepool/stackci/kept"):
        keeper.store_raw(path, b"{}")
    znodes, names = deepcopy(keeper.znodes), deepcopy(keeper.names)
    heard: list[str] = []
    store.on_change(heard.append)

    operations = (
        SetData("/nodepool/stackci/kept", b'{"new":1}', -1),
        Create2("/nodepool/stackci/kept/made-", b"", [], 2),
        Create2("/nodepool/stackci/new", b"", [], 0),
        Create2("/nodepool/stackci/new/below", b"", [], 0),
        Delete("/nodepool/stackci/old/child", -1),
        Delete("/nodepool/stackci/old", -1),
        SetData("/nodepool/stackci/kept", b"", 7),
        Create2("/nodepool/stackci/never", b"", [], 0),
    )
    answers = keeper.answer(Multi(operations), store.session)

    assert [type(answer) for answer in answers] == [RolledBackError] * 6 + [BadVersionError, RolledBackError]
    assert (keeper.znodes, keeper.names) == (znodes, names)
    assert heard == []
