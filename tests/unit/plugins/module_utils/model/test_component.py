# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.component import (
    PoolComponent,
    registration,
    stock_providers,
)

STOCK = (
    b'{"hostname":"vm","id":"localhost-PoolWorker.fake-provider-main-62ee","kind":"pool","model_api":0,"name":"main",'
    b'"paused":false,"priority":100,"provider_name":"fake-provider","state":"running","supported_labels":["small"],'
    b'"version":"11.0.0"}'
)


def read(kind, *arguments) -> Any:
    """What *kind* makes of a document that it can read."""
    return kind.from_bytes(*arguments)


def test_a_registration_has_sorted_keys_and_model_api_zero():
    data = registration("pool", "vm", {"provider_name": "p", "id": "i", "model_api": 9, "kind": "x", "hostname": "y"})
    document = json.loads(data)
    assert list(document) == sorted(document)
    assert (document["kind"], document["hostname"], document["model_api"]) == ("pool", "vm", 0)
    assert (document["state"], document["id"]) == ("initializing", "i")
    assert document["version"] == "unknown"


def test_the_stock_registration_is_what_we_would_write():
    fields = json.loads(STOCK)
    assert registration("pool", "vm", fields) == STOCK


def test_a_foreign_pool_is_read():
    pool = read(PoolComponent, "vm0000000001", STOCK, 3)
    assert pool.id == "localhost-PoolWorker.fake-provider-main-62ee"
    assert (pool.name, pool.provider_name, pool.supported_labels) == ("main", "fake-provider", ["small"])
    assert (pool.priority, pool.paused, pool.state, pool.broken) == (100, False, "running", False)


@pytest.mark.parametrize("document", [b"{}", b'{"id":"a"}', b'{"id":[],"provider_name":"p"}'])
def test_a_broken_pool_is_marked(document):
    assert read(PoolComponent, "x", document).broken


@pytest.mark.parametrize(("value", "priority"), [(None, 100), ("abc", 100), (0, 0), ("50", 50)])
def test_a_bad_priority_is_the_default(value, priority):
    data = json.dumps({"id": "a", "provider_name": "p", "priority": value}).encode()
    assert read(PoolComponent, "x", data).priority == priority


def test_the_providers_of_nodepools_launchers_are_those_of_pools_that_are_not_ours():
    stock = read(PoolComponent, "vm0000000001", STOCK)
    nameless = PoolComponent(id="vm-PoolWorker.pods-main-1", provider_name="pods")
    ours = PoolComponent(id="stackci-PoolWorker.east-main-0123", provider_name="east", hostname="here")
    assert stock_providers([stock, ours, nameless]) == {"fake-provider": "vm", "pods": "another host"}
    assert stock_providers([]) == {}
