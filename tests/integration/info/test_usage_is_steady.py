# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A life that is counted while the usage is read is there once, with a real ZooKeeper."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper import tree_reading
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.session import Session
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.steady import TRIES
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.life_shares import next_share
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node_use import NodeUse
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.usage_rows import (
    DAYS,
    ENTRIES,
    MOVES,
    ROOTS,
    usage_by_day,
)
from tests.support.fixtures_zookeeper import bare_client, end
from tests.support.zookeeper_server import HOST, ZooKeeperServer

BEGAN = 1_795_600_000.0
USE = NodeUse("0000000001", label="small", tenant="t", made=BEGAN, ready=BEGAN, taken=BEGAN, left=BEGAN + 3600)


@pytest.mark.parametrize("often", [1, TRIES])
def test_a_life_that_is_counted_between_the_readings_of_two_folders_is_there_once(
    zookeeper: ZooKeeperServer, monkeypatch: pytest.MonkeyPatch, often: int
) -> None:
    chroot = f"/test-{uuid.uuid4().hex}"
    client = bare_client(zookeeper, chroot)
    opened: list[int] = []
    USE.gone = BEGAN + 3600
    share = next_share(USE, USE.gone)
    day, entry = f"{DAYS}/{share.day}", f"{ENTRIES}/{USE.node_id}"
    client.create(entry, json.dumps(USE.document()).encode(), makepath=True)
    client.ensure_path(DAYS)

    class Torn(Session):
        """The entry is counted when it has been read and the day has not; in the last reading nothing happens."""

        def open(self, **how: Any) -> None:
            super().open(**how)
            opened.append(1)
            if len(opened) == 1:
                client.create(day, json.dumps(share.usage.document()).encode())
                client.delete(entry)
                self.tree.put(day, *client.get(day))
            elif len(opened) < often:
                client.set(day, client.get(day)[0])

    monkeypatch.setattr(tree_reading, "Session", Torn)
    text = (
        f"zookeeper-servers: [{{host: {HOST}, port: {zookeeper.port}, chroot: {chroot}}}]\nlabels: []\nproviders: []\n"
    )
    try:
        reading = tree_reading.read_tree(parse_config(text).zookeeper, ROOTS, locks=(), moves=MOVES)
    finally:
        end(client)
    assert share.rest is None
    assert usage_by_day(reading, BEGAN + 9000).days[share.day].total("used", "nodes") == 3_600_001
    assert len(opened) == max(2, often)
