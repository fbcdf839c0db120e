# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two accounts on one ZooKeeper, through the modules: the launcher's, which owns our part, and a requestor's."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError
from kazoo.security import ACL, Id, Permissions

from tests.support.ansible_run import run_alone, run_module
from tests.support.fixtures_zookeeper import end, eventually
from tests.support.launcher_case import Site

OWN = "/nodepool/stackci"
SHARED = (f"{OWN}/leases", f"{OWN}/lease-locks")
PASSWORD = "streng-geheim"
LAUNCHER = {"username": "launcher", "password": PASSWORD, "protect": True}
REQUESTOR = {"username": "ci", "password": "auch-geheim"}


class Accounts:
    """Modules, run with the files of an account."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def run(self, module: str, account: dict[str, Any] | None, *, whole: bool = False, **options: Any) -> Any:
        secure = self.site.folder / "secure.conf"
        secure.write_text(json.dumps({"zookeeper-auth": account} if account else {}), "utf-8")
        given = {"config": str(self.site.config), "secure_config": str(secure), **options}
        ran = (run_module if whole else run_alone)(module, given, self.site.folder)
        assert "geheim" not in json.dumps(ran.result) + ran.screen
        return ran.result

    def launch(self, account: dict[str, Any] | None, **options: Any) -> Any:
        return self.run("node_launch", account, clouds_config=str(self.site.clouds_yaml), duration=60, **options)

    def znodes(self, path: str = OWN) -> Iterator[str]:
        yield path
        for name in self.site.requestor.children(path):
            yield from self.znodes(f"{path}/{name}")


@pytest.fixture
def accounts(site: Site) -> Accounts:
    site.configure()
    return Accounts(site)


def refused(result: dict[str, Any]) -> str:
    assert result["failed"], result
    return str(result["msg"])


@pytest.fixture
def owner(site: Site) -> Iterator[Any]:
    """A bare client with the launcher's account."""
    client = KazooClient(site.zookeeper.hosts + site.chroot, auth_data=[("digest", f"launcher:{PASSWORD}")])
    client.start(10)
    yield client
    end(client)


def test_the_launcher_alone_changes_its_part_and_requestors_get_their_nodes(site, accounts):
    site.configure(labels={"small": {"min-ready": 1}})
    request = site.requestor.ask("small")
    assert accounts.launch(LAUNCHER, whole=True)["ended"] == "settled"
    assert site.requestor.read(f"/nodepool/requests/{request}")["state"] == "fulfilled"

    client = site.requestor.client
    znodes = [path for path in accounts.znodes() if not path.startswith(SHARED)]
    assert {f"{OWN}/site", f"{OWN}/providers/one", f"{OWN}/access"} <= set(znodes)
    for path in znodes:
        with pytest.raises(NoAuthError):
            client.set(path, b"{}")
        with pytest.raises(NoAuthError):
            client.create(f"{path}/forged", b"{}")

    (node,) = [name for name, found in site.requestor.nodes().items() if found["allocated_to"] is None]
    acted = accounts.run("node", REQUESTOR, ids=[node], state="held", comment="look")
    assert acted["changed"], acted

    lease = {"name": "web", "labels": ["small"]}
    assert not accounts.run("nodepool_request", REQUESTOR, **lease, wait=False)["complete"]
    assert accounts.launch(LAUNCHER)["ended"] == "settled"
    done = accounts.run("nodepool_request", REQUESTOR, **lease)
    assert done["complete"]
    assert accounts.run("nodepool_request", REQUESTOR, name="web", state="absent")["changed"]
    assert accounts.run("nodepool_request", None, **{**lease, "name": "other"}, wait=False)["changed"], "anonymous"


def test_a_throttle_is_ended_by_the_launchers_account_only(site, accounts, owner):
    assert accounts.launch(LAUNCHER)["ended"] == "settled"
    breaker = {"debian/small": {"failures": 5, "until": time.time() + 600, "text": "no valid host"}}
    owner.create(f"{OWN}/breakers/one", json.dumps(breaker).encode(), acl=owner.get_acls(OWN)[0], makepath=True)
    throttle = {"provider": "one", "kind": "breaker"}
    assert "belongs to another account" in refused(accounts.run("throttle", REQUESTOR, **throttle))
    assert accounts.run("throttle", LAUNCHER, **throttle)["changed"]
    assert site.requestor.read(f"{OWN}/breakers/one") == {}


def test_an_account_that_does_not_own_the_part_cannot_launch(site, accounts):
    assert accounts.launch(LAUNCHER)["ended"] == "settled"
    site.requestor.ask("small")
    for account, reason in (
        (None, "can only be changed by digest:launcher, but this client uses no account"),
        (REQUESTOR, "can only be changed by digest:launcher, but this client uses digest:ci"),
        ({**LAUNCHER, "password": "geheim"}, "belongs to digest:launcher with another password"),
    ):
        assert reason in refused(accounts.launch(account))
    told = refused(
        accounts.run("nodepool_request", REQUESTOR, name="web", labels=["small"], launch=True, timeout=600,
                     clouds_config=str(site.clouds_yaml))
    )  # fmt: skip
    assert "can only be changed by digest:launcher" in told
    assert site.cloud.servers() == []


@pytest.mark.parametrize("before", [True, False], ids=["before-the-cycle", "while-it-works"])
def test_records_that_others_do_not_let_be_changed_stop_nobody(site, before):
    """Any client may make such a record: with an access list of its own, or one that ends with its session."""
    site.configure()
    client = site.requestor.client
    for_reading = [ACL(Permissions.READ, Id("world", "anyone")), ACL(Permissions.ALL, Id("digest", "else:x"))]
    node = {"type": ["small"], "provider": "one", "pool": "main"}
    ways: list[dict[str, Any]] = [{"acl": for_reading}, {"ephemeral": True}]

    def make() -> list[str]:
        client.ensure_path("/nodepool/nodes")
        client.ensure_path("/nodepool/requests")
        records = [("nodes/", {**node, "state": state}) for state in ("used", "ready", "building")]
        records += [("requests/100-", {"state": "requested", "node_types": [name]}) for name in ("small", "unknown")]
        made = []
        for name, document in records:
            for how in ways if name == "nodes/" else ways[:1]:
                path = client.create(f"/nodepool/{name}", json.dumps(document).encode(), sequence=True, **how)
                made.append(str(path))
        return made

    odd = make() if before else []
    with site.stay() as cycle:
        eventually(cycle.acts)
        odd = odd or make()
        site.requestor.wait_for(site.requestor.ask("small"))
        told = [f"{path} is ignored and not changed: " for path in odd]
        assert eventually(lambda: all(any(line.startswith(each) for line in cycle.lines) for each in told))
        assert not [line for line in cycle.lines if "restarting" in line], cycle.lines
    assert {site.requestor.read(path)["state"] for path in odd} == {"used", "ready", "building", "requested"}
