#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Holds, releases and deletes nodes."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node
short_description: Hold, release or delete nodes
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Changes the records of nodes in ZooKeeper as C(nodepool hold) and C(nodepool delete) do. The acting launcher deletes
    the server and the record of a node that is released or deleted.
  - The module reads and writes each record under the lock of its node. It does not change a node that a requestor or a
    launcher has locked, or that a requestor is about to take. It changes the other nodes and then fails with a message
    that names the program that works on the node. With O(wait) it waits instead.
options:
  ids:
    description:
      - The nodes.
      - V(released) and V(absent) accept the id of a node that no longer exists.
    type: list
    elements: str
    required: true
    aliases: [id]
  state:
    description:
      - V(held) puts the nodes into the state C(hold). No request gets them and no launcher deletes them before
        O(hold_expiration) is over.
      - V(released) puts nodes in the state C(hold) into the state C(used). It does not change nodes in other states.
      - V(absent) puts the nodes into the state C(deleting). A record that no program can use (no JSON object, or one
        without state, type and provider) is deleted instead. A launcher then deletes the node's resources in the cloud
        as leaked.
      - All three refuse a node that belongs to a lease. M(stackci.nodepool.nodepool_request) releases the lease.
    type: str
    choices: [held, released, absent]
    required: true
  comment:
    description:
      - Why the nodes are held. When unset, a node that is held already keeps its comment.
    type: str
  hold_job:
    description:
      - The job for which the nodes are held. Zuul writes tenant, project, job and ref. When unset, a node that is held
        already keeps its job.
    type: str
  hold_expiration:
    description:
      - Seconds that each node stays in the state C(hold). Then the launcher deletes it. The option C(max-hold-age) of
        C(nodepool.yaml) may end the hold earlier.
      - V(0) means no limit. When unset, a node that is held already keeps its limit, and other nodes get none.
    type: int
  wait:
    description:
      - Wait until the requestor or launcher that has locked a node releases the lock. The module is a contender for the
        lock, so it gets the node before a launcher can delete it.
      - In check mode the module does not wait. It returns the changes that it would make if the nodes are free in time.
    type: bool
    default: false
  timeout:
    description:
      - Seconds after which the module gives up with O(wait).
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

- name: Release it
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
      description: The id of the node.
      type: str
    changed:
      description: Whether the record was changed, or would be in check mode.
      type: bool
    state_before:
      description: The state before, null when the node did not exist.
      type: str
    state:
      description: The state now, or in check mode the state that the node would have, null when it does not exist.
      type: str
    provider:
      description: The provider, null when the node does not exist.
      type: str
    comment:
      description: Why the node is held, null when the record has no comment.
      type: str
    hold_job:
      description: The job for which the node is held, null for none.
      type: str
    hold_expiration:
      description: Seconds that the node stays held, null when it has no limit of its own.
      type: int
    expires_in:
      description: Seconds until the launcher deletes the held node, null when it is not held or has no limit.
      type: float
    refusal:
      description: Why the module did not change the node, null when it was not refused.
      type: str
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.acting import NODE_ARGUMENTS, node
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module


def main() -> None:
    """Entry point."""
    run_module(node, NODE_ARGUMENTS)


if __name__ == "__main__":
    main()
