# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts hosts into Ansible's inventory, quickly, and beside those of other inventory sources."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ansible.utils.path import basedir

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import NodepoolError
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.hosts import Host
from ansible_collections.stackci.nodepool.plugins.plugin_utils.untrusted import listed

_MOST_NAMED = 5


@contextmanager
def no_collection() -> Iterator[None]:
    """Switch the garbage collector off: it would visit all of Ansible's objects while hosts are made."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


@contextmanager
def source_of_hosts(data: Any) -> Iterator[dict[str, Any]]:
    """Yield the variables that ansible-core sets for the source of a host.

    ansible-core itself would ask the file system for the folder of the source once for each host.
    """
    source, data.current_source = data.current_source, None
    try:
        yield {"inventory_file": source, "inventory_dir": basedir(source) if source else None}
    finally:
        data.current_source = source


def refuse_clashes(data: Any, found: list[Host]) -> None:
    """Check that no node takes the name of a host or a group of another inventory source.

    :raises NodepoolError: one does; the error names both.
    """
    clashes = []
    for host in found:
        there, node = data.hosts.get(host.name), host.variables["nodepool"]
        if there is None and host.name not in data.groups:
            continue
        if there is not None and (there.vars.get("nodepool") or {}).get("server_id") == node["server_id"]:
            continue  # another inventory of this plugin lists the same server
        kind = "group" if there is None else "host"
        source = f" of {there.vars.get('inventory_file')}" if there is not None else ""
        which = f"node {node['node_id']} (provider {node['provider']}, server {node['server_id']})"
        clashes.append(f"{which} and the {kind} {host.name}{source}")
    if clashes:
        more = f" and {len(clashes) - _MOST_NAMED} more" if len(clashes) > _MOST_NAMED else ""
        raise NodepoolError(
            f"these have the same name and would become one host: {'; '.join(clashes[:_MOST_NAMED])}{more}. Rename one,"
            " or give the nodes other names with hostname or hostnames, for instance nodepool.provider ~ '-' ~"
            " nodepool.node_id"
        )


def fill(inventory: Any, found: list[Host], group_name: Callable[[str], str]) -> None:
    """Add hosts, variables and native groups.

    :param group_name: returns the name of a group with the characters that a group may have.
    :raises NodepoolError: a node has the name of a host or a group of another inventory source.
    """
    # ansible-core wraps the inventory in an object that copies each variable and tags each value within it with the
    # inventory's file, which takes three times as long as everything else. These values are not from that file, and
    # they are no templates with or without the wrapper: the wrapper does not trust them (trusted_by_default), and
    # untagged text is not trusted.
    data: Any = getattr(inventory, "__wrapped__", inventory)
    groups: dict[str, Any] = {}
    refuse_clashes(data, found)
    with source_of_hosts(data) as source:
        for host in found:
            variables = host.variables if host.name in data.hosts else {**source, **host.variables}
            made = data.hosts[data.add_host(host.name)]
            for name in host.groups:
                if name in groups:
                    groups[name].add_host(made)
                else:
                    group = data.add_group(group_name(name))
                    data.add_child(group, host.name)
                    groups[name] = data.groups[group]
            for key, value in variables.items():
                made.set_variable(key, value)


def mark_listed(inventory: Any, found: list[Host]) -> None:
    """Mark what the hosts have got, also by expressions, for a list that is printed."""
    data: Any = getattr(inventory, "__wrapped__", inventory)
    for host in found:
        data.hosts[host.name].vars = listed(data.hosts[host.name].vars)
