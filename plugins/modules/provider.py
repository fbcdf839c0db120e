#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Erases what ZooKeeper has of a provider."""

from __future__ import annotations

DOCUMENTATION = r"""
module: provider
short_description: Erase the records of a provider that has left the configuration from ZooKeeper
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Deletes the records of a provider, as C(nodepool erase) does. These are its nodes, its uploads of every build, and
    the documents of launchers and builders below C(/nodepool/stackci) (freezes, breakers, pools, waits, notes).
  - The module does nothing in the cloud. Servers and images there stay, and no record names them afterwards. Thus the
    module fails while something of the provider is left, and names it.
  - The playbook C(stackci.nodepool.drain_provider) removes a provider step by step and ends with this module.
options:
  name:
    description:
      - The provider.
    type: str
    required: true
  state:
    description:
      - V(absent) deletes the records.
    type: str
    choices: [absent]
    default: absent
  force:
    description:
      - Delete the records also while the configuration has the provider, a launcher acts for it or has registered it,
        or nodes, launches, deletions in progress or uploads are left. Use it for a cloud that no longer exists.
      - Stop the launchers and builders of the provider first. Otherwise they write new records.
    type: bool
    default: false
extends_documentation_fragment:
  - stackci.nodepool.tree
  - stackci.nodepool.tree.clouds
  - stackci.nodepool.attributes
  - stackci.nodepool.attributes.change
seealso:
  - module: stackci.nodepool.provider_info
  - module: stackci.nodepool.leak_cleanup
"""

EXAMPLES = r"""
- name: Show what would be erased
  stackci.nodepool.provider:
    config: /etc/nodepool/nodepool.yaml
    name: cloud1
    state: absent
  check_mode: true
  diff: true

- name: Erase a provider whose cloud no longer exists
  stackci.nodepool.provider:
    config: /etc/nodepool/nodepool.yaml
    name: cloud1
    state: absent
    force: true
"""

RETURN = r"""
left:
  description:
    - What is left of the provider. Without O(force) the module fails unless all lists are empty.
    - All keys are always there.
  returned: always
  type: dict
  contains:
    configuration:
      description: Path of the configuration that has the provider.
      type: list
      elements: str
    launchers:
      description: Hosts of the launchers that serve the provider.
      type: list
      elements: str
    nodes:
      description: The provider's nodes, each with its state.
      type: list
      elements: str
    launches:
      description: Launches in flight whose nodes have no record.
      type: list
      elements: str
    deletions:
      description: Servers and floating IPs whose deletion is not complete.
      type: list
      elements: str
    uploads:
      description: The provider's uploads, each with image, build, number and state. Failed uploads without an image in
        the cloud do not count.
      type: list
      elements: str
  sample:
    configuration: []
    launchers: []
    nodes: [0000000017 (hold)]
    launches: []
    deletions: []
    uploads: []
configured:
  description:
    - The provider in the configuration, null when the configuration does not have it.
    - All keys are always there.
  returned: always
  type: dict
  contains:
    file:
      description: Path of the configuration.
      type: str
    pools:
      description: The pools that may have nodes. C(max-servers) of the others is 0 or less.
      type: list
      elements: str
    diskimages:
      description: The disk images that are uploaded to the provider.
      type: list
      elements: str
  sample: {file: /etc/nodepool/nodepool.yaml, pools: [main], diskimages: [debian]}
erased:
  description: Paths of the znodes that were deleted with all znodes below them, or would be in check mode.
  returned: always
  type: list
  elements: str
  sample: [/nodepool/stackci/breakers/cloud1]
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.erasing import (
    PROVIDER_ARGUMENTS,
    provider,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module


def main() -> None:
    """Entry point."""
    run_module(provider, PROVIDER_ARGUMENTS)


if __name__ == "__main__":
    main()
