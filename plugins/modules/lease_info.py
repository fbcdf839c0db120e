#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists leases."""

from __future__ import annotations

DOCUMENTATION = r"""
module: lease_info
short_description: List leases with their nodes and requests
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Lists the leases that M(stackci.nodepool.nodepool_request) made.
  - The module changes nothing.
options:
  names:
    description:
      - List only these leases. When empty, list all.
    type: list
    elements: str
    default: []
  providers:
    description:
      - List only leases that have a node of one of these providers. When empty, list all.
    type: list
    elements: str
    default: []
extends_documentation_fragment:
  - stackci.nodepool.tree
  - stackci.nodepool.tree.view
  - stackci.nodepool.tree.last
  - stackci.nodepool.attributes
  - stackci.nodepool.attributes.info
seealso:
  - module: stackci.nodepool.nodepool_request
  - module: stackci.nodepool.node_info
"""

EXAMPLES = r"""
- name: Read the leases
  stackci.nodepool.lease_info:
  register: there

- name: Show them
  ansible.builtin.debug:
    msg: "{{ item.name }}: {{ item.held }} of {{ item.wanted }} nodes, for another {{ item.expires_in | int }} s"
  loop: "{{ there.leases }}"
  loop_control:
    label: "{{ item.name }}"
"""

RETURN = r"""
as_of:
  description: How current the result is. A failure that has the result has it, too.
  returned: success
  type: dict
  contains:
    time:
      description: The time at which the result was the state of ZooKeeper, in UTC.
      type: str
      sample: "2026-11-25T18:00:00Z"
    age:
      description: Seconds since then. V(0) while ZooKeeper answers.
      type: float
      sample: 0.0
    problem:
      description: Why ZooKeeper cannot be reached; null while it answers.
      type: str
      sample: null
leases:
  description: The leases, by name. All keys are always there.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The name of the lease.
      type: str
    owner:
      description: Who asked for it; empty when nobody is named.
      type: str
    reason:
      description: What for.
      type: str
    labels:
      description: The labels of one set.
      type: list
      elements: str
    count:
      description: The number of sets.
      type: int
    wanted:
      description: The number of nodes.
      type: int
    held:
      description: How many nodes are held for the lease and have not expired.
      type: int
    complete:
      description: Whether all nodes are held.
      type: bool
    age:
      description: Seconds since the lease was made, null when that is not stored.
      type: float
    age_text:
      description: The same as C(DD:HH:MM:SS), null when that is not stored.
      type: str
    expires:
      description: Seconds for which the nodes are held after they are handed over, null when that is not stored.
      type: int
    expires_in:
      description:
        - Seconds until the first node of the lease is released, by the records of the nodes and C(max-hold-age).
          Before there are nodes, seconds until the first request is deleted.
        - V(0) when a node of the lease has expired or is gone, null when nothing limits the lease.
      type: float
    requests:
      description: The requests of the lease that are not fulfilled yet.
      type: list
      elements: dict
      contains:
        id:
          description: Id of the request.
          type: str
        state:
          description: Its state, or V(gone), null when the record does not have it.
          type: str
    nodes:
      description: The nodes of the lease, in the order of sets and labels.
      type: list
      elements: dict
      contains:
        id:
          description: Id of the node.
          type: str
        state:
          description: Its state, or V(gone), null when the record does not have it.
          type: str
        held:
          description: Whether the node is held for this lease.
          type: bool
        provider:
          description: The provider, null when the node is gone.
          type: str
        address:
          description: The address to connect to, null when the node is gone.
          type: str
    problems:
      description: Fields of the stored document that cannot be used.
      type: list
      elements: str
  sample:
    - name: debug
      owner: alice
      reason: bisects the boot failure
      labels: [debian-12]
      count: 1
      wanted: 1
      held: 1
      complete: true
      age: 1000.0
      age_text: "00:00:16:40"
      expires: 7200
      expires_in: 6200.0
      requests: []
      nodes:
        - {id: "0000000003", state: hold, held: true, provider: cloud1, address: 198.51.100.7}
      problems: []
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.looking import (
    LEASE_INFO_ARGUMENTS,
    lease_info,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module


def main() -> None:
    """Entry point."""
    run_module(lease_info, LEASE_INFO_ARGUMENTS)


if __name__ == "__main__":
    main()
