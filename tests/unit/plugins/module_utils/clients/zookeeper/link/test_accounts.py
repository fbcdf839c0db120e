# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which access list a znode is created with, and what is shown of accounts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kazoo.security import ACL, OPEN_ACL_UNSAFE, Id, Permissions

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import accounts, paths
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.accounts import AccessLists
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import ZooKeeperAuth
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import MissingLibraryError
from tests.support.effort import examples

OWNER = ZooKeeperAuth("launcher", "geheim", protect=True)
SEGMENTS = st.text("abcdefgh-_:0123456789", min_size=1, max_size=12)
PATHS = st.lists(SEGMENTS, max_size=4).map("/".join)


@settings(max_examples=examples(100))
@given(PATHS)
def test_everything_of_nodepools_schema_is_open(path):
    lists = AccessLists(OWNER)
    for root in (paths.NODES, paths.REQUESTS, paths.REQUEST_LOCKS, paths.IMAGES, paths.COMPONENTS, paths.ROOT):
        assert lists.of(f"{root}/{path}") is OPEN_ACL_UNSAFE or f"{root}/{path}".startswith(f"{paths.OWN}/")
    for shared in accounts.SHARED:
        assert lists.of(f"{shared}/{path}") is OPEN_ACL_UNSAFE


@settings(max_examples=examples(100))
@given(PATHS.filter(lambda path: path.partition("/")[0] not in ("leases", "lease-locks")))
def test_our_part_is_ours_and_readable(path):
    entries = AccessLists(OWNER).of(f"{paths.OWN}/{path}".rstrip("/"))
    assert accounts.rights(entries, AccessLists(OWNER).ids) == Permissions.ALL
    assert accounts.rights(entries, frozenset()) == Permissions.READ
    assert accounts.rights(entries, AccessLists(replace(OWNER, password="x")).ids) == Permissions.READ
    assert AccessLists(replace(OWNER, protect=False)).of(f"{paths.OWN}/{path}") is OPEN_ACL_UNSAFE
    assert AccessLists(None).of(f"{paths.OWN}/{path}") is OPEN_ACL_UNSAFE


def test_a_similar_name_is_not_our_part():
    assert AccessLists(OWNER).of(f"{paths.OWN}-else/x") is OPEN_ACL_UNSAFE
    assert AccessLists(OWNER).of(f"{paths.OWN}/leases-else") is not OPEN_ACL_UNSAFE


def test_while_a_password_is_replaced_both_own_it():
    both = AccessLists(replace(OWNER, password="neu", former_password="geheim"))
    entries = both.of(paths.OWN)
    for password in ("neu", "geheim"):
        assert accounts.rights(entries, AccessLists(replace(OWNER, password=password)).ids) == Permissions.ALL


def test_owners_are_named_without_what_is_derived_from_the_password():
    assert accounts.owners(AccessLists(OWNER).of(paths.OWN)) == ["digest:launcher"]
    assert accounts.owners(AccessLists(replace(OWNER, scheme="sasl")).of(paths.OWN)) == ["sasl:launcher"]
    assert accounts.owners([ACL(1, Id("x509", "CN=a:b"))]) == ["x509:CN=a:b"]


@pytest.mark.parametrize("auth", [OWNER, replace(OWNER, scheme="sasl"), replace(OWNER, former_password="geheim2")])
def test_passwords_are_not_shown(auth):
    shown = repr([accounts.credentials(auth), accounts.sasl_options(auth), auth, accounts.name_of(auth)])
    assert "geheim" not in shown


def test_sasl_needs_its_library(monkeypatch):
    monkeypatch.setattr(accounts, "SASL_IMPORT_ERROR", "no module")
    accounts.require_sasl(None)
    accounts.require_sasl(OWNER)
    with pytest.raises(MissingLibraryError, match="pure-sasl"):
        accounts.require_sasl(replace(OWNER, scheme="sasl"))


def test_each_creation_sends_the_access_list_of_its_path():
    folder = Path(accounts.__file__).parent.parent.parent
    creations = [
        (path.name, line.strip())
        for path in sorted(folder.rglob("*.py"))
        for line in path.read_text("utf-8").splitlines()
        if "Create2(" in line or "makepath" in line or ".ensure_path(" in line
    ]
    assert len(creations) == 3, creations
    without = [line for _name, line in creations if "access.of(path)" not in line]
    assert without == ['self.perform(Create2(path, b"", OPEN_ACL_UNSAFE, 0), client=client)'], "only the chroot"
