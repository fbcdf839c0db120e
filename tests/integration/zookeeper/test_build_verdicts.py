# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdicts on builds in ZooKeeper."""

from __future__ import annotations

import json

from ansible_collections.stackci.nodepool.plugins.module_utils.model.build_verdict import HAND, NONE, REVOKED
from tests.support.fixtures_zookeeper import new_store

PATH = "/nodepool/stackci/image-verdicts/debian"
BUILD, OTHER = "1" * 32, "2" * 32


def test_verdicts_of_two_sessions_are_kept_together(store, zk_client, zk_chroot):
    assert store.verdicts.of_build("debian", BUILD) == NONE
    with new_store(zk_chroot) as second:
        store.verdicts.change("debian", BUILD, lambda verdict: verdict.given(REVOKED, "bad", HAND, 5.0))
        before, after = second.verdicts.change("debian", OTHER, lambda verdict: verdict.without("west", "0 of 9", 6.0))
        assert (before, after.fallen_back["west"].reason) == (NONE, "0 of 9")
        assert second.verdicts.of_build("debian", BUILD).state == REVOKED
    assert sorted(json.loads(zk_client.get(PATH)[0])) == [BUILD, OTHER]


def test_nothing_is_written_when_nothing_changes(store, zk_client):
    store.verdicts.change("debian", BUILD, lambda verdict: verdict)
    assert zk_client.exists(PATH) is None
    store.verdicts.change("debian", BUILD, lambda verdict: verdict.given(REVOKED, "bad", HAND, 5.0))
    version = zk_client.exists(PATH).version
    store.verdicts.change("debian", BUILD, lambda verdict: verdict)
    assert zk_client.exists(PATH).version == version


def test_a_document_that_cannot_be_read_is_reported_and_replaced(store, zk_client):
    zk_client.create(PATH, b'{"x": 5}', makepath=True)
    store.verdicts.change("debian", BUILD, lambda verdict: verdict.given(REVOKED, "bad", HAND, 5.0))
    assert list(json.loads(zk_client.get(PATH)[0])) == [BUILD]
