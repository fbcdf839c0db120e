#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists labels."""

from __future__ import annotations

DOCUMENTATION = r"""
module: label_info
short_description: List labels with their pools, nodes and requests
version_added: 0.1.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Lists each label of the configuration and of ZooKeeper, as Nodepool's web endpoint C(label-list) does, with the
    pools that offer it, its nodes by state, and how many nodes are asked for.
  - Nothing is changed.
options:
  labels:
    description:
      - Only these labels. When empty, all.
    type: list
    elements: str
    default: []
  providers:
    description:
      - Only labels that a pool of one of these providers offers. When empty, all.
    type: list
    elements: str
    default: []
extends_documentation_fragment:
  - stackci.nodepool.tree
  - stackci.nodepool.tree.view
  - stackci.nodepool.attributes
  - stackci.nodepool.attributes.info
seealso:
  - module: stackci.nodepool.provider_info
  - module: stackci.nodepool.request_info
"""

EXAMPLES = r"""
- name: Which labels lack nodes?
  stackci.nodepool.label_info:
  register: all

- name: Show them
  ansible.builtin.debug:
    msg: "{{ item.label }}: {{ item.free }} free, {{ item.wanted }} asked for"
  loop: "{{ all.labels | selectattr('wanted') }}"
  loop_control:
    label: "{{ item.label }}"
"""

RETURN = r"""
labels:
  description: The labels, by name. All keys are always there.
  returned: success
  type: list
  elements: dict
  contains:
    label:
      description: Its name.
      type: str
    configured:
      description: Whether the configuration has it.
      type: bool
    min_ready:
      description: How many nodes are to be kept ready, null when it is not configured.
      type: int
    max_ready_age:
      description: Seconds after which a ready node is deleted, 0 for never, null when it is not configured.
      type: int
    min_ready_missing:
      description: How many of RV(labels[].min_ready) are neither ready nor on their way.
      type: int
    pools:
      description: The pools that offer it and are registered.
      type: list
      elements: str
    pools_absent:
      description: Pools that offered it and are not registered now.
      type: list
      elements: str
    nodes:
      description: Nodes by state.
      type: dict
    free:
      description: Ready nodes that belong to no request.
      type: int
    wanted:
      description: Nodes that open requests ask for.
      type: int
    requests:
      description: Open requests that ask for it.
      type: int
    oldest_request_age:
      description: Seconds since the oldest of them was made, null without one.
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
