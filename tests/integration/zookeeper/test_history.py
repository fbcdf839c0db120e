# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server's transaction log tells every write, in its order, also of what lived for a moment only."""

from __future__ import annotations

import uuid

from tests.support.fixtures_zookeeper import bare_client, end, eventually
from tests.support.zookeeper_history import writes


def test_every_write_below_a_path_is_told_in_its_order(zookeeper):
    root = f"/test-{uuid.uuid4().hex}"
    client, other = bare_client(zookeeper, root), bare_client(zookeeper, root)
    session = client.client_id[0]
    client.create("/node", b"one")
    client.set("/node", b"two")
    with client.transaction() as both:
        both.create("/node/a", b"three")
        both.delete("/node/a")
    other.create("/gone-", b"", ephemeral=True, sequence=True)
    end(other)
    client.delete("/node")
    client.create("/last", b"")
    data = zookeeper.directory / "data"
    eventually(lambda: any(write.path == f"{root}/last" for write in writes(data, root)))
    told = [(write.path.removeprefix(root), write.data, write.created) for write in writes(data, root)]
    assert told == [
        ("", b"", True),
        ("/node", b"one", True),
        ("/node", b"two", False),
        ("/node/a", b"three", True),
        ("/node/a", None, False),
        ("/gone-0000000001", b"", True),
        ("/gone-0000000001", None, False),
        ("/node", None, False),
        ("/last", b"", True),
    ]
    own = writes(data, f"{root}/node")
    assert {write.session for write in own} == {session}
    assert [write.zxid for write in own] == sorted(write.zxid for write in own)
