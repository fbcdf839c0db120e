# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs ssh to a node, with its recorded host keys."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.known_hosts import ONE_KEY, known_hosts_lines
from ansible_collections.stackci.nodepool.plugins.module_utils.model import connection
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import NodepoolError, UnknownName
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lines import amount
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import DEFAULT_PORT

from .commands import LEASE_INFO, NODE_INFO

NODE_ID = re.compile(r"[0-9]{10}")
SILENT_SECONDS = 60
"""After three times that without a word from the node ssh ends. By itself it waits for hours for a server that was
deleted or lost, and with it a job of a CI whose lease is over."""
Ask = Callable[[Any, Mapping[str, Any]], dict[str, Any]]


def connect(options: Mapping[str, Any], ask: Ask, run: Callable[[Sequence[str]], int] | None = None) -> int:
    """Run ssh and return its exit status.

    :param options: ``target``, and ``number``, ``identity``, ``command`` if given.
    :param ask: calls the function of a module.
    :param run: runs a program and returns its exit status.
    :raises UnknownName: there is no such node or lease.
    :raises NodepoolError: the node has no address yet.
    """
    node = _node(options, ask)
    if not node["address"]:
        raise NodepoolError(f"node {node['id']} ({node['state']}) has no address yet")
    with tempfile.TemporaryDirectory(prefix="nodepoolctl-") as folder:
        known_hosts = os.path.join(folder, "known_hosts")
        with open(known_hosts, "w", encoding="utf-8") as file:
            file.write("\n".join([*known_hosts_lines(node["address"], _port(node), node["host_keys"]), ""]))
        return (run or _run)(ssh_words(node, known_hosts, options))


def ssh_words(node: Mapping[str, Any], known_hosts: str, options: Mapping[str, Any]) -> list[str]:
    """Return the command line of ssh."""
    words = ["ssh", "-o", f'UserKnownHostsFile="{known_hosts}"', "-o", "GlobalKnownHostsFile=/dev/null"]
    # Nodes of pools with host-key-checking: false have no recorded keys.
    words += ["-o", f"StrictHostKeyChecking={'yes' if node['host_keys'] else 'accept-new'}", "-o", "LogLevel=ERROR"]
    # A connection that ~/.ssh/config keeps may be that of a deleted node whose address this one has.
    words += ["-o", f"ServerAliveInterval={SILENT_SECONDS}", "-o", "ControlPath=none"]
    words += ["-i", options["identity"], *ONE_KEY] if options.get("identity") else []
    user = connection.user(node["username"])
    words += ["-p", str(_port(node)), *(["-l", user] if user else []), node["address"]]
    return [*words, "--", *options["command"]] if options.get("command") else words


def _port(node: Mapping[str, Any]) -> int:
    return connection.port(node["port"], DEFAULT_PORT)


def _node(options: Mapping[str, Any], ask: Ask) -> dict[str, Any]:
    target, number = options["target"], options.get("number", 1)
    if not NODE_ID.fullmatch(target):
        (lease,) = ask(LEASE_INFO, {"names": [target]})["leases"]
        held = [node["id"] for node in lease["nodes"] if node["held"]]
        if not 1 <= number <= len(held):
            raise UnknownName([f"lease {target} has {amount(len(held), 'node')}, but number is {number}"])
        target = held[number - 1]
    (node,) = ask(NODE_INFO, {"ids": [target]})["nodes"] or [None]
    if node is None:
        raise UnknownName([f"node {target} was deleted"])
    found: dict[str, Any] = node
    return found


def _run(words: Sequence[str]) -> int:
    """Run it with our terminal. Ctrl-C is for the program on the node.

    :raises NodepoolError: there is no such program.
    """
    try:
        process = subprocess.Popen(words)
    except FileNotFoundError:
        raise NodepoolError("this machine has no ssh: install it (on Debian and Ubuntu openssh-client)") from None
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, _frame: process.send_signal(number))
    signal.signal(signal.SIGHUP, lambda number, _frame: process.send_signal(number))
    code = process.wait()
    return code if code >= 0 else 128 - code
