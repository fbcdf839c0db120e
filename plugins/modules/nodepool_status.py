#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows the state of a tree as text."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nodepool_status
short_description: Show the state of providers, nodes, requests and images as one screen of text
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Reads ZooKeeper once and prints one screen of plain text. It shows providers with the usage of their limits,
    breakers and freezes, nodes by state and label, the requests that wait with their reasons, images with their ages,
    failing deletions and damaged records.
  - With O(id) it explains one request or shows the history of one node instead; for a lease, those of its requests
    and nodes.
  - Programs should use the C(_info) modules, which return rows. The module changes nothing.
options:
  id:
    description:
      - The id of a request or a node, or the name of a lease.
    type: str
  width:
    description:
      - Columns of the screen. No line is longer.
    type: int
    default: 80
  watch:
    description:
      - Seconds after which the module reads and prints again, until Ctrl-C interrupts Ansible. With 0 it reads once.
      - At least a second passes between two readings. If Ansible's output has colours, each reading erases the screen.
      - A reading that fails is shown as a message, and the next one follows. Only the first reading must succeed.
      - The option is ignored with C(async) and when Ansible's output is JSON.
    type: float
    default: 0
extends_documentation_fragment:
  - stackci.nodepool.tree
  - stackci.nodepool.tree.view
  - stackci.nodepool.tree.last
  - stackci.nodepool.attributes
  - stackci.nodepool.attributes.info
seealso:
  - module: stackci.nodepool.provider_info
  - module: stackci.nodepool.request_info
  - module: stackci.nodepool.node_info
"""

EXAMPLES = r"""
- name: Show everything
  stackci.nodepool.nodepool_status:
    config: /etc/nodepool/nodepool.yaml

- name: Show everything every five seconds
  stackci.nodepool.nodepool_status:
    watch: 5

- name: Explain why a request waits
  stackci.nodepool.nodepool_status:
    id: 100-0000000011
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
lines:
  description: The text, which is printed as well.
  returned: success
  type: list
  elements: str
  sample:
    - "PROVIDERS (# ours, - others)"
    - "  cloud1: acted for on launcher1"
    - "    instances    [######------........] 3+3 of 10"
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.status_showing import (
    STATUS_ARGUMENTS,
    status,
)


def main() -> None:
    """Entry point."""
    run_module(status, STATUS_ARGUMENTS)


if __name__ == "__main__":
    main()
