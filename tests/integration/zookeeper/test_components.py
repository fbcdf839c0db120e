# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Registrations."""

from __future__ import annotations

import json

from tests.support.fixtures_zookeeper import eventually

FIELDS = {
    "id": "host-PoolWorker.p-main-1",
    "name": "main",
    "provider_name": "p",
    "supported_labels": ["small"],
    "priority": 100,
    "paused": False,
    "state": "running",
    "version": "1.0.0",
}


def test_a_registration_as_others_see_it(store, zk_client):
    registration = store.components.register("pool", "vm", FIELDS)
    assert registration.path == "/nodepool/components/pool/vm0000000000"
    data, stat = zk_client.get(registration.path)
    assert stat.ephemeralOwner != 0
    document = json.loads(data)
    assert list(document) == sorted(document)
    assert document == FIELDS | {"kind": "pool", "hostname": "vm", "model_api": 0}
    [pool] = store.components.pools()
    assert (pool.id, pool.path, pool.supported_labels) == (FIELDS["id"], registration.path, ["small"])


def test_it_is_written_on_change_only(store, zk_client):
    registration = store.components.register("pool", "vm", FIELDS)
    registration.update(paused=False, state="running")
    assert zk_client.get(registration.path)[1].version == 0
    registration.update(paused=True)
    data, stat = zk_client.get(registration.path)
    assert (json.loads(data)["paused"], stat.version) == (True, 1)
    zk_client.set(registration.path, b"{}")
    registration.update(paused=False)
    assert json.loads(zk_client.get(registration.path)[0])["paused"] is False
    zk_client.delete(registration.path)
    registration.update(state="paused")
    assert json.loads(zk_client.get(registration.path)[0])["state"] == "paused"
    assert registration.path.endswith("0000000001")


def test_unregistering(store, zk_client):
    registration = store.components.register("launcher", "vm", {})
    registration.unregister()
    registration.unregister()
    registration.update(state="running")
    assert zk_client.get_children("/nodepool/components/launcher") == []


def test_foreign_pools_and_rubbish(store, zk_client):
    good = {"id": "foreign", "provider_name": "x", "supported_labels": ["a"], "kind": "pool", "novel": 1}
    for data in (json.dumps(good).encode(), b"", b"{", b'{"id":"no provider"}', b"[]"):
        zk_client.create("/nodepool/components/pool/vm", data, sequence=True, ephemeral=True, makepath=True)
    zk_client.create("/nodepool/components/scheduler/x", b'{"id":"a","provider_name":"b"}', makepath=True)
    eventually(lambda: len(store._session.tree.names("/nodepool/components/pool")) == 5)
    [pool] = store.components.pools()
    assert (pool.id, pool.priority, pool.paused) == ("foreign", 100, False)
