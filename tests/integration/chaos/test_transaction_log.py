# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The transaction log tells every change that was done, and none that was not."""

from __future__ import annotations

import pytest
from kazoo.exceptions import KazooException

from tests.chaos.history import CREATE, DELETE, SET, Tree
from tests.chaos.transaction_log import TransactionLog
from tests.support.fixtures_zookeeper import bare_client, end, eventually
from tests.support.zookeeper_server import ZooKeeperServer


@pytest.fixture
def server():
    with ZooKeeperServer(tick_ms=100) as running:
        yield running


def read(server: ZooKeeperServer) -> list[tuple[str, str, bytes]]:
    changes = TransactionLog(server.directory / "data", "/tree").changes()
    return [(change.kind, change.path, change.data) for change in changes]


def test_every_kind_of_change_survives_a_kill_of_the_server(server):
    # On a busy machine the server is away for longer than the usual ten seconds.
    client = bare_client(server, "/tree", timeout=120.0)
    client.create("/a", b"1")
    client.set("/a", b"2")
    client.create("/a/e-", b"", ephemeral=True, sequence=True)
    with client.transaction() as whole:
        whole.create("/b", b"b")
        whole.set_data("/a", b"3")
        whole.delete("/b")
    server.kill()
    server.start()
    eventually(lambda: client.connected, 60)
    client.create("/c", b"c")
    with pytest.raises(KazooException):
        client.create("/c", b"again")
    refused = client.transaction()
    refused.create("/d", b"d")
    refused.delete("/nowhere")
    refused.commit()
    owner = client.client_id[0]
    end(client)
    assert read(server) == [
        (CREATE, "/a", b"1"),
        (SET, "/a", b"2"),
        (CREATE, "/a/e-0000000000", b""),
        (CREATE, "/b", b"b"),
        (SET, "/a", b"3"),
        (DELETE, "/b", b""),
        (CREATE, "/c", b"c"),
        (DELETE, "/a/e-0000000000", b""),
    ]
    changes = TransactionLog(server.directory / "data", "/tree").changes()
    assert {change.session for change in changes} == {owner}
    assert [change.owner for change in changes if change.owner] == [owner]


def test_the_end_of_the_history_is_what_zookeeper_has(server):
    client = bare_client(server, "/tree")
    for number in range(50):
        client.create(f"/{number}", str(number).encode(), ephemeral=number % 2 == 0)
    end(client)
    tree = Tree()
    for change in TransactionLog(server.directory / "data", "/tree").changes():
        tree.apply(change)
    client = bare_client(server, "/tree")
    there = {f"/{name}": client.get(f"/{name}")[0] for name in client.get_children("/")}
    end(client)
    assert {path: data for path, (data, _owner) in tree.znodes.items()} == there
    assert len(there) == 25


def test_other_files_are_refused(tmp_path):
    (tmp_path / "version-2").mkdir()
    (tmp_path / "version-2" / "log.1").write_bytes(b"no log of ZooKeeper")
    with pytest.raises(ValueError, match="no transaction log"):
        TransactionLog(tmp_path).changes()
