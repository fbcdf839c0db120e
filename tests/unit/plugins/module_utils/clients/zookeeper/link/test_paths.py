# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import StoreError


@pytest.mark.parametrize(
    ("path", "lock"),
    [
        ("/nodepool/nodes/0000000001", False),
        ("/nodepool/nodes/0000000001/lock", True),
        ("/nodepool/nodes/0000000001/lock/abc__lock__0000000000", True),
        ("/nodepool/requests-lock", False),
        ("/nodepool/requests-lock/100-0000000001", True),
        ("/nodepool/requests-lock/100-0000000001/abc__lock__0000000000", True),
        ("/nodepool/requests/100-0000000001", False),
        ("/nodepool/images/lock", False),
        ("/nodepool/images/lock/builds/x", False),
        ("/nodepool/images/lock/builds/lock", True),
        ("/nodepool/images/a/builds/lock/x", True),
        ("/nodepool/images/a/builds/b/lock/x", True),
        ("/nodepool/images/a/builds/b/providers/p/images/lock", True),
        ("/nodepool/images/a/builds/b/providers/p/images/1/lock", True),
        ("/nodepool/images/lock/builds/b/providers/lock", False),
        ("/nodepool/images/lock/builds/b/providers/lock/images/1", False),
        ("/nodepool/images/lock/builds/b/providers/lock/images/lock/x", True),
        ("/nodepool/stackci/providers/p/lock", True),
        ("/nodepool/stackci/providers/locksmith", False),
        ("/nodepool/stackci/providers/p/lockers", False),
    ],
)
def test_what_is_a_lock(path, lock):
    assert paths.is_lock(path) is lock


@pytest.mark.parametrize(
    ("path", "cached"),
    [
        ("/nodepool/nodes", True),
        ("/nodepool/nodes/1", True),
        ("/nodepool/nodesx", False),
        ("/nodepool/requests-lock/1", True),
        ("/nodepool/elections/stats/x", False),
        ("/nodepool/launchers", False),
        ("/nodepool", False),
    ],
)
def test_what_is_cached(path, cached):
    assert paths.is_cached(path) is cached


@given(st.text())
def test_a_segment_is_a_name_that_can_be_stored_and_told_apart(name):
    segment = paths.segment(name)
    assert urllib.parse.unquote(segment, errors="surrogatepass") == name
    if name:
        assert paths.own(f"leases/{segment}") == f"/nodepool/stackci/leases/{segment}"


@pytest.mark.parametrize("path", ["", "a//b", "/a", "a/", "a/..", ".", "lock", "a/lock/b", "a\x00"])
def test_other_paths_are_refused(path):
    with pytest.raises(StoreError, match="cannot be stored"):
        paths.own(path)


def test_split():
    assert paths.split("/nodepool/nodes/1") == ("/nodepool/nodes", "1")
    assert paths.split("/nodepool") == ("", "nodepool")
    assert paths.split("/nodepool/nodes/") == ("/nodepool/nodes", "")


@pytest.mark.parametrize(
    ("path", "record"),
    [
        ("/nodepool/nodes/1", "/nodepool/nodes/1"),
        ("/nodepool/nodes/1/lock/x__lock__0000000001", "/nodepool/nodes/1"),
        ("/nodepool/requests/2", "/nodepool/requests/2"),
        ("/nodepool/requests-lock/2/x", "/nodepool/requests/2"),
        ("/nodepool/images/i/builds/b/providers/p/images/lock", "/nodepool/images/i/builds/b"),
        ("/nodepool/images/i/builds/b/providers/p/images/1/lock", "/nodepool/images/i/builds/b/providers/p/images/1"),
        ("/nodepool/images/i/builds/lock/x", None),
        ("/nodepool/images/i/builds", None),
        ("/nodepool/images/i", None),
        ("/nodepool/nodes", None),
        ("/nodepool/requests-lock", None),
        ("/nodepool/stackci/pools/x", None),
    ],
)
def test_which_record_a_path_belongs_to(path, record):
    assert paths.shared_record(path) == record
