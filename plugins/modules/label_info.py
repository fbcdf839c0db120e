#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists labels."""

from __future__ import annotations

DOCUMENTATION = r"""
module: label_info
short_description: List labels with their pools, nodes and requests
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Lists each label of the configuration and of ZooKeeper, as Nodepool's web endpoint C(label-list) does, with the
    pools that offer it, its nodes by state, and how many nodes are requested.
  - With O(ask_clouds), it also says which labels cannot be launched in which pool, and why.
  - The module changes nothing.
options:
  labels:
    description:
      - List only these labels. When empty, list all.
    type: list
    elements: str
    default: []
  providers:
    description:
      - List only labels that a pool of one of these providers offers. When empty, list all.
    type: list
    elements: str
    default: []
extends_documentation_fragment:
  - stackci.nodepool.tree
  - stackci.nodepool.tree.view
  - stackci.nodepool.tree.last
  - stackci.nodepool.tree.offers
  - stackci.nodepool.attributes
  - stackci.nodepool.attributes.info
seealso:
  - module: stackci.nodepool.provider_info
  - module: stackci.nodepool.request_info
"""

EXAMPLES = r"""
- name: Read the labels and their nodes
  stackci.nodepool.label_info:
  register: all

- name: Show the labels for which requests wait
  ansible.builtin.debug:
    msg: "{{ item.label }}: {{ item.free }} free, {{ item.wanted }} asked for"
  loop: "{{ all.labels | selectattr('wanted') }}"
  loop_control:
    label: "{{ item.label }}"
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
labels:
  description: The labels, by name. All keys are always there.
  returned: success
  type: list
  elements: dict
  contains:
    label:
      description: The name of the label.
      type: str
    configured:
      description: Whether the configuration has the label.
      type: bool
    min_ready:
      description: How many nodes launchers keep ready, null when the label is not configured.
      type: int
    max_ready_age:
      description: Seconds after which a ready node is deleted, 0 for never, null when the label is not configured.
      type: int
    min_ready_missing:
      description: How many of RV(labels[].min_ready) are neither ready nor being launched.
      type: int
    pools:
      description: Registered pools that offer the label.
      type: list
      elements: str
    pools_absent:
      description: Pools that offered the label and are not registered now.
      type: list
      elements: str
    nodes:
      description: Nodes by state.
      type: dict
    free:
      description: Ready nodes that belong to no request.
      type: int
    wanted:
      description: Nodes of this label that open requests want.
      type: int
    requests:
      description: Open requests that want nodes of this label.
      type: int
    oldest_request_age:
      description: Seconds since the oldest of these requests was made, null when there is none.
      type: float
  sample:
    - label: debian-12
      configured: true
      min_ready: 2
      max_ready_age: 3600
      min_ready_missing: 0
      pools: [cloud1/main]
      pools_absent: []
      nodes: {in-use: 3, ready: 2}
      free: 2
      wanted: 0
      requests: 0
      oldest_request_age: null
unusable:
  description:
    - The labels that a pool cannot launch, and why; null unless O(ask_clouds=true).
  returned: success
  type: list
  elements: dict
  contains:
    pool:
      description: Provider and pool.
      type: str
    label:
      description: The label.
      type: str
    text:
      description: What is wrong, and the remedy.
      type: str
  sample:
    - pool: cloud1/main
      label: debian-12
      text: >-
        diskimage 'debian-12': its image 'debian-12-1795198332' is deactivated (9f3f0a4c-3f0e-4b53-8f66-0a7d1a9a0d11):
        reactivate it (openstack image set --activate 9f3f0a4c-3f0e-4b53-8f66-0a7d1a9a0d11)
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.looking import (
    LABEL_INFO_ARGUMENTS,
    label_info,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module


def main() -> None:
    """Entry point."""
    run_module(label_info, LABEL_INFO_ARGUMENTS)


if __name__ == "__main__":
    main()
