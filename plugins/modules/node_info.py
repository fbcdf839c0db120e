#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists nodes and shows the life of one."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_info
short_description: List nodes and show the history of one
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Lists the nodes in ZooKeeper, of every launcher, with the columns of Nodepool's C(nodepool list) or,
    with O(detail), of C(nodepool list --detail).
  - For the nodes in O(ids) the module also returns the history, as far as it is stored.
  - The module changes nothing.
options:
  ids:
    description:
      - List only these nodes, and return RV(lives) for them.
      - When empty, list all.
    type: list
    elements: str
    default: []
  providers:
    description:
      - List only nodes of these providers. When empty, of all.
    type: list
    elements: str
    default: []
  pools:
    description:
      - List only nodes of pools with these names. When empty, of all.
    type: list
    elements: str
    default: []
  labels:
    description:
      - List only nodes that have one of these labels. When empty, list all.
    type: list
    elements: str
    default: []
  states:
    description:
      - List only nodes in these states. When empty, in any state.
    type: list
    elements: str
    default: []
    choices: [aborted, building, deleted, deleting, failed, hold, in-use, init, ready, testing, used]
  older_than:
    description:
      - List only nodes that have been in their state for at least this many seconds.
    type: float
    default: 0
  detail:
    description:
      - Return all fields of RV(nodes). O(ids) has the same effect.
    type: bool
    default: false
extends_documentation_fragment:
  - stackci.nodepool.tree
  - stackci.nodepool.tree.view
  - stackci.nodepool.tree.last
  - stackci.nodepool.attributes
  - stackci.nodepool.attributes.info
seealso:
  - module: stackci.nodepool.image_info
  - module: stackci.nodepool.nodepool_request
"""

EXAMPLES = r"""
- name: List the held nodes
  stackci.nodepool.node_info:
    states: [hold]
  register: held

- name: Show them
  ansible.builtin.debug:
    msg: "{{ item.id }} {{ item.age_text }} {{ item.hold_job }} {{ item.comment }}"
  loop: "{{ held.nodes }}"
  loop_control:
    label: "{{ item.id }}"

- name: Read the history of one node
  stackci.nodepool.node_info:
    ids: ["0000000017"]

- name: Fail when nodes have been building for half an hour
  stackci.nodepool.node_info:
    states: [building]
    older_than: 1800
  register: slow
  failed_when: slow.nodes != []
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
nodes:
  description: The nodes, by id. Keys without a condition are always there.
  returned: success
  type: list
  elements: dict
  contains:
    id:
      description: The id of the node.
      type: str
    provider:
      description: The provider, null when the record does not have it.
      type: str
    pool:
      description: The pool, null when the record does not have it.
      type: str
    labels:
      description: The labels of the node.
      type: list
      elements: str
    server_id:
      description: The id of the server in the cloud, null before there is one.
      type: raw
    public_ipv4:
      description: Public IPv4 address, null when it has none (yet).
      type: str
    public_ipv6:
      description: Public IPv6 address, null when it has none (yet).
      type: str
    private_ipv4:
      description: Private IPv4 address, null when it has none (yet).
      type: str
      returned: when O(detail) or O(ids) is given
    state:
      description: The state, null when the record does not have it.
      type: str
    age:
      description: Seconds since the node came into that state, null when the record does not have it.
      type: float
    age_text:
      description: The same as C(DD:HH:MM:SS), null when the record does not have it.
      type: str
    created_age:
      description: Seconds since the record was made, null when the record does not have it.
      type: float
      returned: when O(detail) or O(ids) is given
    locked:
      description: Whether a launcher, Zuul or another program holds the node's lock.
      type: bool
    hostname:
      description: The hostname, null for nodes of OpenStack.
      type: str
      returned: when O(detail) or O(ids) is given
    az:
      description: Availability zone, null before it is known.
      type: str
      returned: when O(detail) or O(ids) is given
    username:
      description: The user to log in as, null before it is known.
      type: str
      returned: when O(detail) or O(ids) is given
    port:
      description: Port to connect to, null before it is known.
      type: int
      returned: when O(detail) or O(ids) is given
    address:
      description: Address to connect to, null before it is known, or when the record has none that can be used.
      type: str
      returned: when O(detail) or O(ids) is given
    host_keys:
      description: Host keys that the launcher saw.
      type: list
      elements: str
      returned: when O(detail) or O(ids) is given
    launcher:
      description: The id of the pool that launched the node, null when the record does not have it.
      type: str
      returned: when O(detail) or O(ids) is given
    allocated_to:
      description: The request that the node belongs to, null for none.
      type: str
    requestor:
      description: The requestor of that request, null for none.
      type: str
      returned: when O(detail) or O(ids) is given
    tenant:
      description: The tenant of that request, null for none.
      type: str
      returned: when O(detail) or O(ids) is given
    image:
      description: The image, for a diskimage the path of the upload in ZooKeeper, null before it is known.
      type: str
      returned: when O(detail) or O(ids) is given
    hold_job:
      description: The job for which the node is held, null when the record has none.
      type: str
      returned: when O(detail) or O(ids) is given
    comment:
      description: Why the node is held, null when the record has no comment.
      type: str
      returned: when O(detail) or O(ids) is given
    expires_in:
      description: Seconds until the hold ends by itself, null when it does not, negative when it is due.
      type: float
      returned: when O(detail) or O(ids) is given
    user_data:
      description: Data that the user of the node wrote, null for none.
      type: raw
      returned: when O(detail) or O(ids) is given
    driver_data:
      description: Data that the driver of its launcher wrote, null for none.
      type: raw
      returned: when O(detail) or O(ids) is given
    problems:
      description: Fields of the record that cannot be used.
      type: list
      elements: str
  sample:
    - id: "0000000017"
      provider: cloud1
      pool: main
      labels: [debian-12]
      server_id: 0e3f1b1c-3f4e-4f55-9f0b-6a3a3f1d1c52
      public_ipv4: 198.51.100.7
      public_ipv6: null
      private_ipv4: 10.0.0.7
      state: ready
      age: 182.4
      age_text: "00:00:03:02"
      created_age: 211.9
      locked: false
      hostname: null
      az: nova
      username: zuul
      port: 22
      address: 198.51.100.7
      host_keys: [ssh-ed25519 AAAA]
      launcher: stackci-PoolWorker.cloud1-main-0123456789abcdef
      allocated_to: null
      requestor: null
      tenant: null
      image: /nodepool/images/debian-12/builds/62ee55d4b3414869b6b292a38d9f6cf0/providers/cloud1/images/0000000001
      hold_job: null
      comment: null
      expires_in: null
      user_data: null
      driver_data: null
      problems: []
lives:
  description:
    - The history of each node of O(ids) that matches the other options.
    - It includes nodes that a launcher of this collection has deleted within the last six hours, which RV(nodes) does
      not have.
    - All keys are always there.
  returned: O(ids) is given
  type: list
  elements: dict
  contains:
    id:
      description: Id of the node.
      type: str
    steps:
      description: The steps with their times, in order. Steps that are not stored any more are missing.
      type: list
      elements: dict
      contains:
        step:
          description: >-
            V(recorded), V(assigned), V(launched), V(asked), V(created), V(active), V(adopted) by a later cycle of the
            launcher, V(ready), V(deleted), C(phase) with the phase of the launch, or the state of the node.
          type: str
        at:
          description: UNIX time.
          type: float
        age:
          description: Seconds since then.
          type: float
        age_text:
          description: The same as C(DD:HH:MM:SS).
          type: str
        text:
          description: A sentence about the step.
          type: str
    phase:
      description: The phase of the launch, null when there is no record of the launch.
      type: str
    attempt:
      description: The number of the present attempt, null when there is no record of the launch.
      type: int
    mark:
      description: The mark of the present attempt in the server's metadata, null when there is none.
      type: str
    server_id:
      description: The id of the server, null before there is one.
      type: raw
    floating_ip:
      description: The address of the floating IP, null when there is none.
      type: str
    volumes:
      description: Ids of the volumes.
      type: list
      elements: str
    failures:
      description: Why earlier attempts failed.
      type: list
      elements: str
    superseded:
      description: Marks of attempts that were given up while it was not known whether the cloud had made a server.
      type: list
      elements: str
    next_try_in:
      description: Seconds until the launcher continues the launch, null when it does not wait.
      type: float
    boot_seconds:
      description: Seconds from the answer to the create until the server was ACTIVE, null before that.
      type: float
    problem:
      description: Why the history is incomplete, null when it is complete.
      type: str
  sample:
    - id: "0000000017"
      steps:
        - {step: recorded, at: 1795198332.8, age: 211.9, age_text: "00:00:03:31", text: the record was made}
      phase: ready
      attempt: 1
      mark: 0000000017-1-5f1c2d3e4a5b
      server_id: 0e3f1b1c-3f4e-4f55-9f0b-6a3a3f1d1c52
      floating_ip: null
      volumes: []
      failures: []
      superseded: []
      next_try_in: null
      boot_seconds: 21.3
      problem: null
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.looking import (
    NODE_INFO_ARGUMENTS,
    node_info,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module


def main() -> None:
    """Entry point."""
    run_module(node_info, NODE_INFO_ARGUMENTS)


if __name__ == "__main__":
    main()
