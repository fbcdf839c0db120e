# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Removes all that a quick start has made: nodes, keypair, security group, ZooKeeper, and files that nobody changed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

from ...clients.config_file import read_files
from ...clients.login_key import MADE
from ...clients.zookeeper.store import Store
from ...launching.node_changes import ABSENT, NodeWish
from ...model.errors import CloudConflict, ConfigError, NodepoolError, StoreError
from ...model.lease import LeaseSpec
from ...model.own_tree import LEASES
from ..by_hand.nodes_by_hand import NodesByHand
from ..frame.cycle_options import DEADLINE
from ..launcher.context.launcher_options import LauncherOptions
from ..launcher.passes.launcher_cycle import run_launcher
from ..leases.lease_cycle import Leasing
from .choosing import client_of
from .folder_notes import Notes
from .prepare import private_zookeeper
from .wish import NODEPOOL_YAML, QuickstartWish

if TYPE_CHECKING:
    from ...clients.openstack.cloud_client import CloudClient

DELETE_SECONDS = 300.0
"""Seconds for the launcher to delete the nodes, and again for servers that no record names."""
PAUSE = 1.0
BUSY_SECONDS = 10.0
Say = Callable[[str], None]


def remove(
    wish: QuickstartWish,
    *,
    preview: bool = False,
    say: Say = lambda line: None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[list[str], list[str]]:
    """Remove everything; return (what was removed, what stays and why).

    :param preview: remove nothing; return what would be removed.
    :raises NodepoolError: something could not be removed; the notes stay, and repeating goes on.
    """
    notes = Notes.read(wish.folder)
    if not notes.exists:
        return [], []
    if notes.cloud != wish.cloud:
        raise ConfigError([f"{notes.path} was made for cloud {notes.cloud}: repeat with -e cloud={notes.cloud}"])
    made = [f"keypair {notes.keypair}"] if notes.keypair else []
    made += [f"security group {notes.group}"] if notes.group else []
    made += [f"the private ZooKeeper on port {notes.port}"] if notes.port else []
    if preview:
        written = [notes.at(name) for name in sorted(notes.files) if notes.is_as_written(name)]
        return [*_nodes_there(notes, say), *made, *written, *_keys(notes)], _kept(notes)
    gone = _delete_nodes(wish, notes, say)
    with closing(client_of(wish)) as client:
        gone += _delete_servers(client, notes, say, clock, sleep)
        if notes.keypair:
            client.access.delete_keypair(notes.keypair)
        _delete_group(client, notes, clock, sleep)
    if notes.port:
        say("stopping the private ZooKeeper")
        private_zookeeper(notes).remove()
    kept = _kept(notes)
    files = [notes.at(name) for name in sorted(notes.files) if notes.is_as_written(name) and notes.remove_file(name)]
    for path in (keys := _keys(notes)):
        os.unlink(path)
    files += keys
    notes.forget()
    return [*gone, *made, *files], kept


def _keys(notes: Notes) -> list[str]:
    """Return the files of the key pair that was made."""
    paths = [notes.at(MADE), notes.at(f"{MADE}.pub")] if notes.private_key == notes.at(MADE) else []
    return [path for path in paths if os.path.exists(path)]


def _nodes_there(notes: Notes, say: Say) -> list[str]:
    """Return the nodes that would be deleted, as far as the private ZooKeeper runs and tells them."""
    path = notes.at(NODEPOOL_YAML)
    if not notes.port or not os.path.exists(path):
        return []
    if not private_zookeeper(notes).answers():
        say("the private ZooKeeper does not run, so nodes are not listed here; they would be deleted, too")
        return []
    try:
        with Store(read_files(path).parse(strict=False, part=False).zookeeper) as store:
            return [f"node {node}" for node in sorted(node.id for node in store.nodes.list())]
    except (ConfigError, StoreError) as error:
        say(f"the nodes cannot be read from ZooKeeper: {error}")
        return []


def _kept(notes: Notes) -> list[str]:
    changed = [name for name in sorted(notes.files) if os.path.exists(notes.at(name)) and not notes.is_as_written(name)]
    return [f"{notes.at(name)} stays: it was changed since it was written" for name in changed]


def _delete_nodes(wish: QuickstartWish, notes: Notes, say: Say) -> list[str]:
    """Give all nodes of the tree back and have them deleted by a launcher.

    Only where the ZooKeeper is the private one: a tree that was named has other users.
    """
    path = notes.at(NODEPOOL_YAML)
    if not notes.port or not os.path.exists(path):
        return []
    server = private_zookeeper(notes)
    try:
        if not server.answers():
            if not server.started_as():
                return []
            server.start(server.way(wish.zookeeper_home))
        config = read_files(path).parse(strict=False, part=False)
        with Store(config.zookeeper) as store:
            nodes = _give_back(store)
        if nodes:
            say(f"deleting the nodes {', '.join(nodes)}")
            options = LauncherOptions(
                config=path,
                clouds_config=wish.clouds_config,
                api_timeout=wish.api_timeout,
                serves=False,
                duration=DELETE_SECONDS,
                until=DEADLINE,
            )
            run_launcher(options, progress=say, done=lambda store: not any(store.nodes.list()))
    except (ConfigError, StoreError) as error:
        # Without ZooKeeper or with a file that was broken meanwhile, servers are found by the id of the tree.
        say(f"the nodes cannot be read from ZooKeeper: {error}")
        return []
    return [f"node {node}" for node in nodes]


def _give_back(store: Store) -> list[str]:
    for key in store.own.children(LEASES):
        name = str((store.own.get(f"{LEASES}/{key}") or {}).get("name") or "")
        if name:
            Leasing(store, LeaseSpec(name), present=False).advance()
    for request in list(store.requests.list()):
        store.requests.delete(request.id)
    nodes = sorted(node.id for node in store.nodes.list())
    NodesByHand(store, NodeWish(state=ABSENT)).carry_out(nodes, BUSY_SECONDS)
    return nodes


def _delete_servers(
    client: CloudClient, notes: Notes, say: Say, clock: Callable[[], float], sleep: Callable[[float], None]
) -> list[str]:
    """Delete what still has the id of the private tree, and wait until it is gone."""
    if not notes.site or not notes.port:
        return []
    sites = {notes.site, *notes.old_sites}
    found = [server for server in client.list_servers() if server.site in sites]
    for address in client.list_floating_ips() if found else ():
        if any(server.launch_mark and server.launch_mark in address.description for server in found):
            client.delete_floating_ip(address.id)
    for server in found:
        say(f"deleting server {server.name}")
        client.delete_server(server.id)
    end = clock() + DELETE_SECONDS
    while any(server.site in sites and server.status != "DELETED" for server in client.list_servers()):
        if clock() > end:
            raise NodepoolError(
                f"servers of the quick start are not deleted after {DELETE_SECONDS:g} s; their metadata has"
                f" stackci_site {' or '.join(sorted(sites))}: look at them (openstack server list), and repeat"
            )
        sleep(PAUSE)
    return [f"server {server.name}" for server in found]


def _delete_group(
    client: CloudClient, notes: Notes, clock: Callable[[], float], sleep: Callable[[float], None]
) -> None:
    """Delete the security group; ports of servers that were just deleted may use it for some seconds."""
    ids = [group.id for group in client.access.list_groups() if notes.group and group.name == notes.group]
    end = clock() + DELETE_SECONDS
    for group_id in ids:
        while True:
            try:
                client.access.delete_group(group_id)
                break
            except CloudConflict:
                if clock() > end:
                    raise
                sleep(PAUSE)
