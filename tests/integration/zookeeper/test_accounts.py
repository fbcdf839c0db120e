# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clients with accounts, and a part of the tree that only one of them may change."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError
from kazoo.security import ACL, OPEN_ACL_UNSAFE, Id, Permissions

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths, tree_client
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.accounts import SHARED
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.store import Store
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import (
    ZooKeeperAuth,
    ZooKeeperSettings,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import StoreDenied
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lease import lock_path
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node, NodeState
from tests.support.fixtures_zookeeper import break_connection, end, eventually, settings_for
from tests.support.zookeeper_server import ZooKeeperServer

LAUNCHER = ZooKeeperAuth("launcher", "geheim:1", protect=True)
REQUESTOR = ZooKeeperAuth("requestor", "geheim-2")
BY_SASL = ZooKeeperAuth("launcher", "geheim-3", scheme="sasl", protect=True)


@pytest.fixture(scope="module")
def by_sasl() -> Iterator[ZooKeeperServer]:
    """A server with accounts of SASL."""
    with ZooKeeperServer(tick_ms=100, accounts={"launcher": "geheim-3", "requestor": "geheim-2"}) as server:
        yield server


@pytest.fixture(params=["digest", "sasl"])
def protected(request: pytest.FixtureRequest) -> tuple[ZooKeeperServer, ZooKeeperSettings]:
    """A server, and the launcher's settings with a new tree on it, for each scheme."""
    scheme = request.param
    server = request.getfixturevalue("by_sasl" if scheme == "sasl" else "zookeeper")
    settings = settings_for(server, f"/test-{uuid.uuid4().hex}")
    return server, replace(settings, auth=BY_SASL if scheme == "sasl" else LAUNCHER)


def as_(settings: ZooKeeperSettings, auth: ZooKeeperAuth | None) -> ZooKeeperSettings:
    return replace(settings, auth=auth)


def requestor(settings: ZooKeeperSettings) -> ZooKeeperSettings:
    """The settings of the other client, which has an account of the same scheme."""
    assert settings.auth is not None
    return as_(settings, replace(REQUESTOR, scheme=settings.auth.scheme))


def fill(store: Store) -> None:
    """Make znodes in all ways in which the store makes them."""
    store.own.put("freezes/a", {"x": 1})
    store.own.put("freezes/a", {"x": 2})
    store.own.change("breakers/a", lambda _before: {"y": 1})
    store.own.create_once("site", {"id": "1"})
    store.own.folder("launches")
    batch = store.batch()
    store.own.put("launches/1", {"z": 1}, batch)
    store.own.put("launches/2", {"z": 2}, batch)
    batch.commit()
    batch = store.batch()
    batch.create(f"{paths.OWN}/launches/seq-", b"{}", sequence=True)
    batch.send_later()
    store.catch_up()
    held = store.own.lock("providers/east")
    assert held is not None
    assert store.own.lock(lock_path("lease")) is not None
    store.own.create_once("leases/lease", {"name": "lease"})


def below(client: Any, path: str) -> Iterator[str]:
    yield path
    for name in client.get_children(path):
        yield from below(client, f"{path}/{name}")


@pytest.fixture
def anyone(protected: tuple[ZooKeeperServer, ZooKeeperSettings]) -> Iterator[Any]:
    """A client without an account in the tree of *protected*."""
    server, settings = protected
    client = KazooClient(server.hosts + settings.servers[0].chroot)
    client.start(10)
    yield client
    end(client)


def test_only_the_launcher_may_change_what_it_makes(protected, anyone):
    _server, settings = protected
    with Store(settings) as store:
        assert not store.protect(), "it is made in this way"
        assert not store.protect()
        fill(store)
        store.nodes.create(Node(state=NodeState.USED, provider="east", pool="main", type=["small"]))
        with Store(requestor(settings)) as other:
            for write in (
                lambda: other.own.put("freezes/a", {"x": 3}),
                lambda: other.own.put("freezes/b", {"x": 3}),
                lambda: other.own.delete("freezes/a"),
                lambda: other.own.lock("providers/west"),
                lambda: in_batch(other),
            ):
                with pytest.raises(StoreDenied, match=r"belongs to another account.*zookeeper-auth"):
                    write()
            assert other.own.get("freezes/a") == {"x": 2}, "others may read"
            other.own.create_once("leases/mine", {"name": "mine"})
            other.own.put("leases/lease", {"name": "lease", "by": "requestor"})
            lock = other.own.lock(lock_path("mine"))
            assert lock is not None
            lock.release()
            (node,) = eventually(other.nodes.list)
            held = other.nodes.lock(node.id)
            assert held is not None
            held.release()
        znodes = [path for path in below(anyone, paths.OWN) if not path.startswith(SHARED)]
        assert len(znodes) > 10
        for path in znodes:
            with pytest.raises(NoAuthError):
                anyone.set(path, b"{}")
            with pytest.raises(NoAuthError):
                anyone.create(f"{path}/new", b"")
            with pytest.raises(NoAuthError):
                anyone.set_acls(path, OPEN_ACL_UNSAFE)
        assert "geheim" not in repr(anyone.get_acls(paths.OWN))


def in_batch(store: Store) -> None:
    batch = store.batch()
    batch.create(f"{paths.OWN}/launches/3", b"{}")
    batch.commit()


def test_a_part_that_everyone_could_change_is_taken_over(protected, anyone):
    _server, settings = protected
    with Store(as_(settings, None)) as before:
        assert not before.protect()
        fill(before)
        with Store(settings) as store:
            assert store.protect()
            assert not store.protect()
            for path in below(anyone, paths.OWN):
                if not path.startswith(SHARED):
                    with pytest.raises(NoAuthError):
                        anyone.set(path, b"{}")
            store.own.put("freezes/a", {"x": 4})
        with pytest.raises(
            StoreDenied,
            match=r"can only be changed by (digest|sasl):launcher, but this client"
            r" uses no",
        ):
            before.protect()


def test_what_was_left_half_protected_is_finished(protected, anyone):
    _server, settings = protected
    with Store(as_(settings, None)) as before:
        fill(before)
    with Store(settings) as store:
        assert store.protect()
        store.own.delete("access")
        store._session.access._protect = False
        store.own.put("tombstones/x", {"killed": "before the walk came here"})
        store._session.access._protect = True
        assert store.protect()
        with pytest.raises(NoAuthError):
            anyone.set(f"{paths.OWN}/tombstones/x", b"{}")


def test_the_part_is_opened_again_when_it_is_protected_no_longer(protected, anyone):
    _server, settings = protected
    with Store(settings) as store:
        store.protect()
        fill(store)
    with Store(replace(settings, auth=replace(settings.auth, protect=False))) as store:
        assert store.protect()
        assert not store.protect()
        for path in below(anyone, paths.OWN):
            if "lock" not in path:
                anyone.set(path, b"{}")


def test_the_requestor_is_told_whose_the_part_is(protected):
    _server, settings = protected
    with Store(settings) as store:
        store.protect()
    with Store(requestor(settings)) as other, pytest.raises(StoreDenied) as told:
        other.protect()
    scheme = settings.auth.scheme
    assert str(told.value) == (
        f"/nodepool/stackci in ZooKeeper can only be changed by {scheme}:launcher, but this client uses"
        f" {scheme}:requestor: set that account as zookeeper-auth in secure_config"
    )


def test_the_account_survives_a_new_connection_and_a_new_session(protected):
    _server, settings = protected
    with Store(settings) as store:
        store.protect()
        break_connection(store)
        eventually(lambda: store.state != "connected")
        eventually(lambda: store.state == "connected")
        store.own.put("freezes/a", {"x": 1})
        generation = store.generation
        store._session.client.dead = True
        store._session.client._session_callback("EXPIRED_SESSION")
        eventually(lambda: store.generation > generation and store.state == "connected")
        store.own.put("freezes/a", {"x": 2})


def test_a_password_is_replaced(zookeeper, zk_chroot):
    old, new = LAUNCHER, replace(LAUNCHER, password="neu", former_password=LAUNCHER.password)
    with Store(as_(zk_chroot, old)) as store:
        store.protect()
        fill(store)
    refusal = r"belongs to digest:launcher with another password.*former-password"
    without = as_(zk_chroot, replace(new, former_password=""))
    with Store(without) as store, pytest.raises(StoreDenied, match=refusal):
        store.protect()
    with Store(as_(zk_chroot, new)) as store, Store(as_(zk_chroot, old)) as late:
        assert store.protect()
        late.own.put("freezes/late", {"of": "a host that has the old one"})
        assert store.protect()
        store.own.put("freezes/late", {"x": 1})
    with Store(as_(zk_chroot, replace(new, former_password=""))) as store:
        assert store.protect()
        store.own.put("freezes/late", {"x": 2})
    with Store(as_(zk_chroot, old)) as store, pytest.raises(StoreDenied):
        store.own.put("freezes/late", {"x": 3})


@pytest.mark.parametrize(("username", "password"), [("launcher", "geheim-falsch"), ("nobody", "geheim-falsch")])
def test_a_login_that_sasl_refuses_fails_at_once(by_sasl, username, password):
    auth = replace(BY_SASL, username=username, password=password)
    store = Store(replace(settings_for(by_sasl), auth=auth), connect_timeout=60.0)
    with pytest.raises(StoreDenied) as told:
        store.open()
    assert str(told.value) == (
        f"{by_sasl.hosts}: ZooKeeper does not accept the account sasl:{username}: check the password of"
        f" zookeeper-auth, and that the section Server of ZooKeeper's JAAS file has the account"
    )


def test_a_server_that_takes_nobody_without_an_account_is_told():
    config = {"enforce.auth.enabled": "true", "enforce.auth.schemes": "digest"}
    with ZooKeeperServer(tick_ms=100, config=config) as server:
        settings = settings_for(server, "/ci")
        with Store(as_(settings, REQUESTOR)) as store:
            store.own.put("freezes/a", {"x": 1})
        with pytest.raises(StoreDenied) as told:
            Store(settings).open()
        with pytest.raises(StoreDenied):
            Store(settings).open(watch=False)
    assert str(told.value) == (
        "ZooKeeper does not create the chroot /ci for a client without an account (enforce.auth.enabled in its"
        " zoo.cfg): set one as zookeeper-auth in secure_config, with a scheme from enforce.auth.schemes"
    )


def test_what_others_forbid_to_read_is_told(zookeeper, zk_chroot):
    with Store(as_(zk_chroot, LAUNCHER)) as store:
        fill(store)
        hidden = [ACL(Permissions.ALL, Id("digest", "else:x"))]
        path = f"{paths.OWN}/freezes/a"
        client = KazooClient(zookeeper.hosts + zk_chroot.servers[0].chroot, auth_data=[("digest", "launcher:geheim:1")])
        client.start(10)
        client.set_acls(path, hidden)
        end(client)
    with Store(as_(zk_chroot, LAUNCHER)) as store:
        assert store.own.get("freezes/a") is None
        (told,) = store.odd_documents()
        assert told.startswith(
            f"{path} is ignored and not changed: its access list in ZooKeeper does not allow this client to read it"
        )
        assert store.own.get("breakers/a") == {"y": 1}


def test_a_server_without_sasl_is_told(zookeeper, zk_chroot):
    with pytest.raises(StoreDenied, match=r"does not accept the account sasl:launcher"):
        Store(as_(zk_chroot, BY_SASL), connect_timeout=60.0).open()


def test_an_account_that_is_refused_later_is_told_and_taken_again():
    with ZooKeeperServer(tick_ms=100, accounts={"launcher": "geheim-3"}) as server:
        settings = replace(settings_for(server, "/ci", timeout=1.0), auth=BY_SASL)
        with Store(settings) as store:
            server.accounts = {"launcher": "another"}
            server.restart()
            assert "does not accept the account sasl:launcher" in eventually(lambda: store.refusal, 60)
            server.accounts = {"launcher": "geheim-3"}
            server.restart()
            eventually(lambda: store.state == "connected", 60)
            assert store.refusal == ""
            store.own.put("freezes/a", {"x": 1})


def test_passwords_are_in_no_line_of_the_log(protected, caplog):
    _server, settings = protected
    caplog.set_level("DEBUG")
    caplog.set_level(1, logger=tree_client.__name__)
    with Store(settings) as store:
        store.protect()
        store.own.put("freezes/a", {"x": 1})
    assert "Sending request" in caplog.text
    assert "geheim" not in caplog.text
