#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Holds, releases and deletes nodes."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node
short_description: Hold, release or delete nodes
version_added: 0.1.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Changes the records of nodes in ZooKeeper as C(nodepool hold) and C(nodepool delete) do. The acting launcher deletes
    the server and the record of a node that is released or deleted.
  - Each record is read and written under the lock of its node. A node that a requestor or a launcher has locked, or
    that a requestor is about to take, is left as it is. The module changes the other nodes and then fails with a
    message that names the program that works on it. O(wait) waits instead.
options:
  ids:
    description:
      - The nodes.
      - V(released) and V(absent) accept the id of a node that is gone already.
    type: list
    elements: str
    required: true
    aliases: [id]
  state:
    description:
      - V(held) puts the nodes into the state C(hold). No request gets them and no launcher deletes them before
        O(hold_expiration) is over.
      - V(released) gives nodes in the state C(hold) back; they become C(used). Nodes in other states are left as they
        are.
      - V(absent) puts the nodes into the state C(deleting). A record that no program can use (no JSON object, or one
        without state, type and provider) is deleted instead; a launcher sweeps what the node has in a cloud as leaked.
      - A node that belongs to a lease is refused by all three. M(stackci.nodepool.nodepool_request) releases the lease.
    type: str
    choices: [held, released, absent]
    required: true
  comment:
    description:
      - Why the nodes are held. Without it a node that is held already keeps its comment.
    type: str
  hold_job:
    description:
      - For which job the nodes are held. Zuul writes tenant, project, job and ref. Without it a node that is held
        already keeps what it has.
    type: str
  hold_expiration:
    description:
      - Seconds that the nodes stay held, from the moment at which each became C(hold). Then the launcher deletes them.
        The option C(max-hold-age) of C(nodepool.yaml) may end the hold earlier.
      - V(0) is no limit. Without this option a node that is held already keeps its limit, and another has none.
    type: int
  wait:
    description:
      - Wait until the requestor or launcher that has locked a node is done with it. The module queues for the lock, so
        it gets the node before a launcher can delete it.
      - In check mode the module does not wait. It tells what becomes of the nodes if they are free in time.
    type: bool
    default: false
  timeout:
    description:
      - With O(wait), give up after so many seconds.
    type: int
    default: 600
extends_documentation_fragment:
  - stackci.nodepool.tree
  - stackci.nodepool.tree.change
  - stackci.nodepool.attributes
  - stackci.nodepool.attributes.change
seealso:
  - module: stackci.nodepool.node_info
  - module: stackci.nodepool.nodepool_request
"""

EXAMPLES = r"""
- name: Keep a node for a day to look at it
  stackci.nodepool.node:
    id: "0000000017"
    state: held
    comment: alice looks at the failed upgrade
    hold_expiration: 86400

- name: Keep the node of a running job as soon as the job is done
  stackci.nodepool.node:
    id: "0000000018"
    state: held
    comment: alice looks at the failed upgrade
    wait: true
    timeout: 7200

- name: Give it back
  stackci.nodepool.node:
    id: "0000000017"
    state: released

- name: Delete two nodes, the used ones when their jobs are done
  stackci.nodepool.node:
    ids: ["0000000019", "0000000020"]
    state: absent
    wait: true
"""

RETURN = r"""
nodes:
  description: The nodes, in the order of O(ids). Also in the result of a failure. All keys are always there.
  returned: success
  type: list
  elements: dict
  contains:
    id:
      description: Its id.
      type: str
    changed:
      description: Whether its record was changed, or would be in check mode.
      type: bool
    state_before:
      description: The state that it had, null when it was gone.
      type: str
    state:
      description: The state that it has, or would have in check mode, null when it is gone.
      type: str
    provider:
      description: Its provider, null when it is gone.
      type: str
    comment:
      description: Why it is held, null for no reason.
      type: str
    hold_job:
      description: For which job it is held, null for none.
      type: str
    hold_expiration:
      description: Seconds that it stays held, null for no limit of its own.
      type: int
    expires_in:
      description: Seconds until the launcher deletes the held node, null for one that is not held or has no limit.
      type: float
    refusal:
      description: Why it was left as it was, null when it was not refused.
      type: str
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.acting import NODE_ARGUMENTS, node
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module


def main() -> None:
    """Entry point."""
    run_module(node, NODE_ARGUMENTS)


if __name__ == "__main__":
    main()
