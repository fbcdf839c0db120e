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
  description: The providers, by name. All keys are always there.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Its name.
      type: str
    configured:
      description: Whether the configuration has it.
      type: bool
    cloud:
      description: The entry of clouds.yaml, null when it is not known.
      type: str
    region:
      description: The region, null for that of clouds.yaml.
      type: str
    acting:
      description: Whether a launcher of this collection acts for it now.
      type: bool
    acted_for_by:
      description: The hosts of the launchers, of any kind, that have registered its pools.
      type: list
      elements: str
    draining:
      description: Whether it has left the configuration or moved, and its last nodes are still in use.
      type: bool
    health:
      description: The health of its API when the launcher wrote it last, null when that is not stored.
      type: dict
      contains:
        state:
          description: V(ok) or V(trouble).
          type: str
        text:
          description: What is wrong, null when nothing is.
          type: str
        age:
          description: Seconds since it is wrong, null when nothing is.
          type: float
    reading_age:
      description: Seconds since the launcher read the limits, null when it never did.
      type: float
    reading_age_text:
      description: The same as C(DD:HH:MM:SS), null when it never did.
      type: str
    boot_seconds:
      description: The median of the boots seen lately, null without one.
      type: float
    nodes:
      description: Nodes by state.
      type: dict
    resources: &resources
      description: What is used of each resource that is used or limited.
      type: list
      elements: dict
      contains:
        resource:
          description: Its name as in C(nodepool.yaml); ram is MiB.
          type: str
        used:
          description: What the nodes use by their records.
          type: float
        others:
          description: What others used in the project at the last reading; 0 for pools.
          type: float
        limit:
          description: The limit, null for none that is known.
          type: float
        left:
          description: What is left of it, null where no limit is known.
          type: float
    breakers:
      description: The breakers that are open.
      type: list
      elements: dict
      contains:
        image:
          description: Nothing is launched with this image
          type: str
        flavor:
          description: and this flavor.
          type: str
        ends_in:
          description: Seconds until it is tried again.
          type: float
        failures:
          description: Launches that failed in a row.
          type: int
        text:
          description: What the last of them said, null when that is not stored.
          type: str
    pools:
      description: Its pools, by name.
      type: list
      elements: dict
      contains:
        name:
          description: Its name.
          type: str
        id:
          description: The id under which it declines and launches, null before it was registered.
          type: str
        configured:
          description: Whether the configuration has it.
          type: bool
        registered:
          description: Whether a launcher has registered it now.
          type: bool
        hostname:
          description: The host of that launcher, null without one.
          type: str
        version:
          description: The version of that launcher, null without one.
          type: str
        paused:
          description: Whether its launcher says that it is full.
          type: bool
        priority:
          description: Its priority, null when it is not known.
          type: int
        labels:
          description: The labels that it offers.
          type: list
          elements: str
        nodes:
          description: Nodes by state.
          type: dict
        resources: *resources
        freezes:
          description: The freezes in force.
          type: list
          elements: dict
          contains:
            resource:
              description: The resource for which creates were refused.
              type: str
            ends_in:
              description: Seconds until the next attempt.
              type: float
            refusals:
              description: Refused creates in the past hour.
              type: int
            text:
              description: What the cloud said, null when that is not stored.
              type: str
    stuck:
      description: What cannot be deleted.
      type: list
      elements: dict
      contains:
        provider:
          description: The provider.
          type: str
        server:
          description: Id of the server, null when it is a floating IP.
          type: str
        floating_ip:
          description: Id of the floating IP, null for none.
          type: str
        node:
          description: The node that it belonged to, null for none.
          type: str
        age:
          description: Seconds since the deletion began, null when that is not stored.
          type: float
        tries:
          description: How often it was tried.
          type: int
        answer:
          description: What the cloud said, null when that is not stored.
          type: str
    problems:
      description: What cannot be used of the stored document of the provider.
      type: list
      elements: str
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
