#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists providers with their pools."""

from __future__ import annotations

DOCUMENTATION = r"""
module: provider_info
short_description: List providers with their pools, limits, freezes and breakers
version_added: 0.1.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Lists each provider of the configuration and of ZooKeeper with the launcher that acts for it, the health of its API,
    the limits that the launcher read last and what is used of them, open breakers and failing deletions.
  - Each provider has its pools, with their limits and freezes.
  - The module does not ask the clouds and changes nothing.
options:
  providers:
    description:
      - Only these providers. When empty, all.
    type: list
    elements: str
    default: []
extends_documentation_fragment:
  - stackci.nodepool.tree
  - stackci.nodepool.tree.view
  - stackci.nodepool.attributes
  - stackci.nodepool.attributes.info
seealso:
  - module: stackci.nodepool.node_info
  - module: stackci.nodepool.label_info
"""

EXAMPLES = r"""
- name: How full are the clouds?
  stackci.nodepool.provider_info:
  register: clouds

- name: Show it
  ansible.builtin.debug:
    msg: "{{ item.0.name }} {{ item.1.resource }} {{ item.1.used }} of {{ item.1.limit | default('no limit', true) }}"
  loop: "{{ clouds.providers | subelements('resources') }}"
  loop_control:
    label: "{{ item.0.name }}"

- name: Complain about a provider for which no launcher acts
  stackci.nodepool.provider_info:
    providers: [cloud1]
  register: cloud
  failed_when: not cloud.providers[0].acting
"""

RETURN = r"""
providers:
  description: The providers, by name.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Its name.
      type: str
      returned: always
    configured:
      description: Whether the configuration has it.
      type: bool
      returned: always
    cloud:
      description: The entry of clouds.yaml, null when it is not known.
      type: str
      returned: always
    region:
      description: The region, null for that of clouds.yaml.
      type: str
      returned: always
    acting:
      description: Whether a launcher of this collection acts for it now.
      type: bool
      returned: always
    acted_for_by:
      description: The hosts of the launchers, of any kind, that have registered its pools.
      type: list
      elements: str
      returned: always
    draining:
      description: Whether it has left the configuration or moved, and its last nodes are still in use.
      type: bool
      returned: always
    health:
      description: The health of its API when the launcher wrote it last, null when that is not stored.
      type: dict
      returned: always
      contains:
        state:
          description: V(ok) or V(trouble).
          type: str
          returned: always
        text:
          description: What is wrong, null when nothing is.
          type: str
          returned: always
        age:
          description: Seconds since it is wrong, null when nothing is.
          type: float
          returned: always
    reading_age:
      description: Seconds since the launcher read the limits, null when it never did.
      type: float
      returned: always
    reading_age_text:
      description: The same as C(DD:HH:MM:SS), null when it never did.
      type: str
      returned: always
    boot_seconds:
      description: The median of the boots seen lately, null without one.
      type: float
      returned: always
    nodes:
      description: Nodes by state.
      type: dict
      returned: always
    resources:
      description: What is used of each resource that is used or limited.
      type: list
      elements: dict
      returned: always
      contains:
        resource:
          description: Its name as in C(nodepool.yaml); ram is MiB.
          type: str
          returned: always
        used:
          description: What the nodes use by their records.
          type: float
          returned: always
        others:
          description: What others used in the project at the last reading; 0 for pools.
          type: float
          returned: always
        limit:
          description: The limit, null for none that is known.
          type: float
          returned: always
        left:
          description: What is left of it, null where no limit is known.
          type: float
          returned: always
    breakers:
      description: The breakers that are open.
      type: list
      elements: dict
      returned: always
      contains:
        image:
          description: Nothing is launched with this image
          type: str
          returned: always
        flavor:
          description: and this flavor.
          type: str
          returned: always
        ends_in:
          description: Seconds until it is tried again.
          type: float
          returned: always
        failures:
          description: Launches that failed in a row.
          type: int
          returned: always
        text:
          description: What the last of them said, null when that is not stored.
          type: str
          returned: always
    pools:
      description: Its pools, by name.
      type: list
      elements: dict
      returned: always
      contains:
        name:
          description: Its name.
          type: str
          returned: always
        id:
          description: The id under which it declines and launches, null before it was registered.
          type: str
          returned: always
        configured:
          description: Whether the configuration has it.
          type: bool
          returned: always
        registered:
          description: Whether a launcher has registered it now.
          type: bool
          returned: always
        hostname:
          description: The host of that launcher, null without one.
          type: str
          returned: always
        version:
          description: The version of that launcher, null without one.
          type: str
          returned: always
        paused:
          description: Whether its launcher says that it is full.
          type: bool
          returned: always
        priority:
          description: Its priority, null when it is not known.
          type: int
          returned: always
        labels:
          description: The labels that it offers.
          type: list
          elements: str
          returned: always
        nodes:
          description: Nodes by state.
          type: dict
          returned: always
        resources:
          description: What is used of each resource that is used or limited.
          type: list
          elements: dict
          returned: always
          contains:
            resource:
              description: Its name as in C(nodepool.yaml); ram is MiB.
              type: str
              returned: always
            used:
              description: What the nodes use by their records.
              type: float
              returned: always
            others:
              description: What others used in the project at the last reading; 0 for pools.
              type: float
              returned: always
            limit:
              description: The limit, null for none that is known.
              type: float
              returned: always
            left:
              description: What is left of it, null where no limit is known.
              type: float
              returned: always
        freezes:
          description: The freezes in force.
          type: list
          elements: dict
          returned: always
          contains:
            resource:
              description: The resource for which creates were refused.
              type: str
              returned: always
            ends_in:
              description: Seconds until the next attempt.
              type: float
              returned: always
            refusals:
              description: Refused creates in the past hour.
              type: int
              returned: always
            text:
              description: What the cloud said, null when that is not stored.
              type: str
              returned: always
    stuck:
      description: What cannot be deleted.
      type: list
      elements: dict
      returned: always
      contains:
        provider:
          description: The provider.
          type: str
          returned: always
        server:
          description: Id of the server, null when it is a floating IP.
          type: str
          returned: always
        floating_ip:
          description: Id of the floating IP, null for none.
          type: str
          returned: always
        node:
          description: The node that it belonged to, null for none.
          type: str
          returned: always
        age:
          description: Seconds since the deletion began, null when that is not stored.
          type: float
          returned: always
        tries:
          description: How often it was tried.
          type: int
          returned: always
        answer:
          description: What the cloud said, null when that is not stored.
          type: str
          returned: always
    problems:
      description: What cannot be used of the stored document of the provider.
      type: list
      elements: str
      returned: always
  sample:
    - name: cloud1
      configured: true
      cloud: cloud1
      acting: true
      acted_for_by: [launcher1]
      health: {state: ok, text: null, age: null}
      reading_age: 12.1
      nodes: {building: 1, ready: 3}
      resources:
        - {resource: instances, used: 4, others: 3, limit: 10, left: 3}
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.looking import (
    PROVIDER_INFO_ARGUMENTS,
    provider_info,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module


def main() -> None:
    """Entry point."""
    run_module(provider_info, PROVIDER_INFO_ARGUMENTS)


if __name__ == "__main__":
    main()
