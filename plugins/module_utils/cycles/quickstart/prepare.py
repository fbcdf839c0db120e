# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prepares a first node: reads the cloud, chooses, makes what is missing, writes nodepool.yaml, starts ZooKeeper.

Everything is noted before it is made, and made only where it is missing: a run that was killed is repeated.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace

from ...clients.config_file import read_files
from ...clients.login_key import MADE, LoginKey, made_key, named_key, usable_own_key
from ...clients.zookeeper.private_zookeeper import HOST, PrivateZooKeeper, check_way, free_port, is_free
from ...clients.zookeeper.store import Store
from ...launching.first_config import FirstPlan, first_config
from ...model.config.types import NodepoolConfig
from ...model.errors import wrong
from ..frame.tree_identity import site_of
from .choosing import client_of, decide, told
from .command_file import write_command
from .folder_notes import Notes
from .missing_programs import check_needs
from .wish import NODEPOOL_YAML, ZOOKEEPER, QuickstartWish

Say = Callable[[str], None]


@dataclass
class Prepared:
    """What is ready. *choices*: sentences about what was chosen and why. *command*: how to call nodepoolctl."""

    config: str
    text: str
    label: str
    provider: str
    user: str
    private_key: str
    zookeeper: str
    command: str = ""
    changed: bool = False
    yours: bool = False
    choices: list[str] = field(default_factory=list)


def prepare(wish: QuickstartWish, *, preview: bool = False, say: Say = lambda line: None) -> Prepared:
    """Prepare everything that a lease needs.

    :param preview: only read the cloud; return the configuration that would be written.
    :raises NodepoolError: something is missing, ambiguous or refused; the message names the option or key to change.
    """
    check_needs()
    notes = Notes.read(wish.folder)
    if notes.cloud and notes.cloud != wish.cloud:
        raise wrong(
            f"{notes.path} was made for cloud {notes.cloud}: name another folder with -e quickstart_folder=FOLDER, or"
            f" remove this one with -e cloud={notes.cloud} -e state=absent"
        )
    notes.cloud = wish.cloud
    kept = _kept(wish, notes)
    if preview:
        return _previewed(wish, notes, kept)
    if not wish.zookeeper and not notes.port:
        # An error before anything is made.
        check_way(private_zookeeper(notes).way(wish.zookeeper_home, wish.zookeeper_way))
    if wish.public_key:
        named_key(wish.public_key)  # likewise an error before a security group is made
    if not kept:
        then = "after an interruption run this again, or -e state=absent removes all"
        say(f"all that is made is noted in {wish.folder}: {then}")
    plan = None if kept else decide(wish, notes, say=say)
    notes.write()  # only now: a mistyped cloud or an ambiguous choice leaves nothing behind
    key = _key(wish, notes)
    _give_key(wish, notes, key, say)
    changed = _start(wish, notes, say) if not wish.zookeeper else False
    choices = []
    if plan is not None:
        plan = _with_servers(plan, wish, notes)
        notes.wish = wish.choices()
        changed = notes.write_file(NODEPOOL_YAML, first_config(plan)) or changed
        choices = told(plan)
    prepared = _prepared(wish, notes)
    prepared.changed, prepared.choices, prepared.command = changed, choices, write_command(wish, notes)
    _note_site(notes, prepared)
    return prepared


def _kept(wish: QuickstartWish, notes: Notes) -> bool:
    """Return True if the configuration that is there is used: by the same wish, or changed by somebody.

    :raises ConfigError: it was changed, and the wish differs from the one by which it was made.
    """
    if not os.path.exists(notes.at(NODEPOOL_YAML)):
        return False
    same = not notes.wish or notes.wish == wish.choices()
    if notes.is_as_written(NODEPOOL_YAML):
        return same
    if not same:
        differing = [name for name, value in wish.choices().items() if notes.wish.get(name) != value]
        raise wrong(
            f"{notes.at(NODEPOOL_YAML)}: you have changed this file, so it is not written again for another"
            f" {', '.join(differing)}: change it there, or remove the file"
        )
    return True


def _previewed(wish: QuickstartWish, notes: Notes, kept: bool) -> Prepared:
    if kept:
        return _prepared(wish, notes)
    plan = decide(wish, notes, makes=False)
    notes.port = notes.port or 2181
    plan = _with_servers(plan, wish, notes)
    where = ",".join(f"{host}:{port}" for host, port in plan.servers)
    return Prepared(
        notes.at(NODEPOOL_YAML), first_config(plan), plan.label, plan.cloud, plan.image.user, notes.private_key, where,
        changed=True, choices=told(plan),
    )  # fmt: skip


# -- the key ---------------------------------------------------------------------------------------------------------


def _key(wish: QuickstartWish, notes: Notes) -> LoginKey:
    """Return the key for the login: the named one, the noted one, a usable one of the person's own, or a new one."""
    if wish.public_key:
        key = named_key(wish.public_key)
    elif notes.private_key and os.path.exists(f"{notes.private_key}.pub"):
        key = named_key(notes.private_key)
    elif notes.private_key != notes.at(MADE) and (own := usable_own_key(os.path.expanduser("~"))) is not None:
        key = own
    else:
        _note_key(notes, notes.at(MADE))
        return made_key(wish.folder)
    _note_key(notes, key.private_path)
    return key


def _note_key(notes: Notes, private: str) -> None:
    if private != notes.private_key:
        notes.private_key = private
        notes.write()


def _give_key(wish: QuickstartWish, notes: Notes, key: LoginKey, say: Say) -> None:
    """Make the keypair if the cloud does not have it."""
    with closing(client_of(wish)) as client:
        if notes.keypair and notes.keypair in client.list_keypairs():
            return
        notes.keypair = notes.name
        notes.write()
        say(f"uploading the public key of {key.private_path} as keypair {notes.keypair}")
        client.access.create_keypair(notes.keypair, key.public_text)


# -- ZooKeeper -------------------------------------------------------------------------------------------------------


def private_zookeeper(notes: Notes) -> PrivateZooKeeper:
    """Return the private ZooKeeper of the folder, started or not."""
    return PrivateZooKeeper(notes.at(ZOOKEEPER), notes.name, notes.port)


def _start(wish: QuickstartWish, notes: Notes, say: Say) -> bool:
    """Start the private ZooKeeper, unless the configuration that is kept names another one."""
    if os.path.exists(notes.at(NODEPOOL_YAML)) and notes.port and notes.is_as_written(NODEPOOL_YAML) is False:
        servers = _parsed(notes.at(NODEPOOL_YAML)).zookeeper.servers
        if (HOST, notes.port) not in [(server.host, server.port) for server in servers]:
            return False
    server = private_zookeeper(notes)
    if notes.port and server.answers():
        return False
    if not notes.port or _is_taken(notes):
        if notes.port and os.path.exists(notes.at(NODEPOOL_YAML)):
            check_port(notes)
        notes.port = free_port()
        notes.write()
    way = server.way(wish.zookeeper_home, wish.zookeeper_way)
    say(f"starting a private ZooKeeper as {way} on {HOST}:{notes.port}")
    return private_zookeeper(notes).start(way)


def check_port(notes: Notes) -> None:
    """Check that no other program has the port of a private ZooKeeper that does not run.

    :raises ConfigError: one has.
    """
    if _is_taken(notes):
        raise wrong(
            f"port {notes.port} of {HOST}, which zookeeper-servers in {notes.at(NODEPOOL_YAML)} names, is used by"
            " another program: end that program"
        )


def _is_taken(notes: Notes) -> bool:
    """Return True if another program listens on the port; the private ZooKeeper listens before it answers."""
    return not is_free(notes.port) and not private_zookeeper(notes).runs()


def _with_servers(plan: FirstPlan, wish: QuickstartWish, notes: Notes) -> FirstPlan:
    if wish.zookeeper:
        servers, chroot = wish.servers()
        return replace(plan, servers=servers, chroot=chroot, servers_from="the one that you named")
    which = "a private one; the playbook with -e state=stopped stops it, with -e state=started starts it again"
    return replace(plan, servers=((HOST, notes.port),), servers_from=which)


def _note_site(notes: Notes, prepared: Prepared) -> None:
    """Note the id of the tree, by which servers are found when ZooKeeper is gone."""
    with closing(Store(_parsed(prepared.config).zookeeper)) as store:
        store.open(watch=False, mutable=True)
        site = site_of(store, create=True)
    if site != notes.site:
        if notes.site:
            notes.old_sites.append(notes.site)
        notes.site = site
        notes.write()


# -- the result ------------------------------------------------------------------------------------------------------


def _parsed(path: str) -> NodepoolConfig:
    return read_files(path).parse(strict=False, part=False)


def _prepared(wish: QuickstartWish, notes: Notes) -> Prepared:
    """Return what the configuration in the folder says.

    :raises ConfigError: it cannot be used, or has no label with this cloud.
    """
    path = notes.at(NODEPOOL_YAML)
    config = _parsed(path)
    for provider in config.providers.values():
        if provider.cloud != wish.cloud:
            continue
        for pool in provider.pools.values():
            for label in pool.labels.values():
                settings = config.image_settings(provider, label)
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                servers = ",".join(f"{server.host}:{server.port}" for server in config.zookeeper.servers)
                return Prepared(
                    path,
                    text,
                    label.name,
                    provider.name,
                    settings.username or "",
                    notes.private_key,
                    servers,
                    yours=not notes.is_as_written(NODEPOOL_YAML),
                )
    raise wrong(f"{path}: no pool of a provider with cloud: {wish.cloud} has a label: add one, or remove the file")
