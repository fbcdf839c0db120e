# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tree whose part of the collection belongs to our launcher's account, with Zuul and Nodepool, which have none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kazoo.exceptions import NoAuthError

from tests.interop.lab import NODEPOOL, ZUUL, Lab, World, row
from tests.interop.rows.rolling import roll, theirs
from tests.interop.zuul_client import ZuulClient
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import label, pool, provider
from tests.support.launcher_process import LauncherProcess
from tests.support.zookeeper_server import HOST

OWN = "/nodepool/stackci"
SHARED = (f"{OWN}/leases", f"{OWN}/lease-locks")


def account(world: World) -> str:
    """Write the account of our launcher; the path of its file."""
    secure = world.site.folder / "secure.conf"
    auth = {"username": "launcher", "password": "secret", "protect": True}
    secure.write_text(json.dumps({"zookeeper-auth": auth}), encoding="utf-8")
    return str(secure)


def closed(world: World) -> int:
    """The number of znodes of the collection; nobody without the account may change them."""
    client = world.site.requestor.client
    waiting, number = [OWN], 0
    while waiting:
        path = waiting.pop()
        waiting += [f"{path}/{name}" for name in world.site.requestor.children(path)]
        if path.startswith(SHARED):
            continue
        number += 1
        try:
            client.set(path, b"{}")
        except NoAuthError:
            continue
        raise AssertionError(f"everyone may change {path}")
    return number


@contextmanager
def ours(world: World) -> Iterator[Any]:
    """Our launcher's playbook with the account; killed at the end."""
    options: dict[str, Any] = {"launcher_until": "deadline", "nodepool_secure_config": account(world)}
    with LauncherProcess(world.site, launcher_duration=1800, **options) as process:
        yield process
        closed(world)


def _life(lab: Lab, *, plain: bool = False) -> str:
    world = lab.world()
    servers = [{"host": HOST, "port": lab.zookeeper.port, "chroot": world.site.chroot}]
    top: dict[str, Any] = {"zookeeper_servers": servers, "zookeeper_tls": None} if plain else {}
    world.site.configure(provider("one", pool("main", label("small"), label("medium"))), **top)
    with world.site.stay(secure_config=account(world)) as cycle, ZuulClient(lab, world) as zuul:
        eventually(cycle.acts, 120)
        request = zuul.do("ask", labels=["small", "medium"])
        zuul.wait(request)
        nodes = zuul.do("accept", request=request)
        number = closed(world)
        zuul.do("give_back", request=request)
        world.site.requestor.wait_gone(nodes, 120)
    assert world.site.cloud.servers() == []
    return f"served and returned; {number} znodes of the collection were closed"


@row("accounts-zuul-tls", "Zuul's job on a protected tree; all clients use TLS", ZUUL)
def accounts_zuul_tls(lab: Lab) -> str:
    """As a site with TLS has it."""
    return _life(lab)


@row("accounts-zuul-plain", "the same, our launcher by the plain port, as on ZooKeeper's own host", ZUUL)
def accounts_zuul_plain(lab: Lab) -> str:
    """Zuul insists on TLS."""
    return _life(lab, plain=True)


@row("accounts-nodepool", "our launcher on a protected tree is killed, Nodepool's takes over", NODEPOOL)
def accounts_nodepool(lab: Lab) -> str:
    """A stock launcher reads nothing of the part."""
    return roll(lab, ours, theirs)


@row("accounts-back", "Nodepool's launcher is killed, ours takes over and protects the tree", NODEPOOL)
def accounts_back(lab: Lab) -> str:
    """And the other way round."""
    return roll(lab, theirs, ours)
