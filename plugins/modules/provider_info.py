#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists providers with their pools."""

from __future__ import annotations

DOCUMENTATION = r"""
module: provider_info
short_description: List providers with their pools, limits, freezes and breakers
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Lists each provider of the configuration and of ZooKeeper with the launcher that acts for it, the health of its API,
    the limits that the launcher read last and their usage, open breakers and failing deletions.
  - Each provider is returned with its pools, their limits and freezes.
  - The module changes nothing. It calls no cloud, except with O(ask_clouds) to see which labels can be launched.
options:
  providers:
    description:
      - List only these providers. When empty, list all.
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
  - module: stackci.nodepool.node_info
  - module: stackci.nodepool.label_info
"""

EXAMPLES = r"""
- name: Read how full the clouds are
  stackci.nodepool.provider_info:
  register: clouds

- name: Show it
  ansible.builtin.debug:
    msg: "{{ item.0.name }} {{ item.1.resource }} {{ item.1.used }} of {{ item.1.limit | default('no limit', true) }}"
  loop: "{{ clouds.providers | subelements('resources') }}"
  loop_control:
    label: "{{ item.0.name }}"

- name: Fail when no launcher serves a provider
  stackci.nodepool.provider_info:
    providers: [cloud1]
  register: cloud
  failed_when: not cloud.providers[0].acting
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
providers:
  description: The providers, by name. All keys are always there.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The name of the provider.
      type: str
    configured:
      description: Whether the configuration has the provider.
      type: bool
    cloud:
      description: The entry of clouds.yaml, null when unknown.
      type: str
    region:
      description: The region, null for the region in clouds.yaml.
      type: str
    acting:
      description: Whether a launcher of this collection acts for the provider now.
      type: bool
    by_commands:
      description:
        - Whether nobody acts for the provider now, and until now only commands did that launch nodes themselves, such
          as M(stackci.nodepool.nodepool_request) with O(stackci.nodepool.nodepool_request#module:launch=true). Then
          no launcher is missed.
      type: bool
    acted_for_by:
      description: Hosts of the launchers, of this collection or of Nodepool, that have registered the provider's pools.
      type: list
      elements: str
    standing_by:
      description:
        - Hosts of other launchers of this collection that can act for the provider, and take over when its launcher
          ends. Empty while no launcher acts.
      type: list
      elements: str
    stood_by_age:
      description:
        - Seconds, to five minutes, since another launcher of this collection stood by for the provider; null if none
          ever did.
      type: float
    draining:
      description: Whether the provider has left the configuration or moved, and its last nodes are still in use.
      type: bool
    health:
      description: The health of the API when the launcher wrote it last, null when that is not stored.
      type: dict
      contains:
        state:
          description: V(ok) or V(trouble).
          type: str
        text:
          description: The problem, null when there is none.
          type: str
        age:
          description: Seconds since the problem began, null when there is none.
          type: float
        owner:
          description: Whose fault the problem is, null when there is none. See the guide to operating.
          type: str
    reading_age:
      description: Seconds since a launcher read the limits, null when none has.
      type: float
    reading_age_text:
      description: The same as C(DD:HH:MM:SS), null when no launcher has read them.
      type: str
    boot_seconds:
      description: The median duration of recent boots in seconds, null when there was none.
      type: float
    calls:
      description: Calls of the API that the launcher made in the last hour.
      type: int
    failed_calls:
      description: Those of them that got no answer, a damaged one, or an HTTP status from 500 on.
      type: int
    nodes:
      description: Nodes by state.
      type: dict
    resources: &resources
      description: The usage of each resource that is used or limited.
      type: list
      elements: dict
      contains:
        resource:
          description: The name as in C(nodepool.yaml). The unit of ram is MiB.
          type: str
        used:
          description: Amount that the nodes use by their records.
          type: float
        others:
          description: Amount that others used in the project at the last reading, 0 for pools.
          type: float
        limit:
          description: The limit, null when none is known.
          type: float
        left:
          description: Amount that is left, null when no limit is known.
          type: float
    breakers:
      description: The open breakers. Nothing is launched with the image and the flavor of an open breaker.
      type: list
      elements: dict
      contains:
        image:
          description: The image.
          type: str
        flavor:
          description: The flavor.
          type: str
        ends_in:
          description: Seconds until the next try.
          type: float
        failures:
          description: Launches that failed in a row.
          type: int
        text:
          description: Message of the last failure, null when that is not stored.
          type: str
    pools:
      description: The pools of the provider, by name.
      type: list
      elements: dict
      contains:
        name:
          description: The name of the pool.
          type: str
        id:
          description: The id with which the pool declines requests and marks nodes, null before it is registered.
          type: str
        configured:
          description: Whether the configuration has the pool.
          type: bool
        registered:
          description: Whether the pool is registered by a launcher now.
          type: bool
        hostname:
          description: The host of that launcher, null without one.
          type: str
        version:
          description: The version of that launcher, null without one.
          type: str
        paused:
          description: Whether the launcher has registered the pool as paused, because it is full.
          type: bool
        priority:
          description: The priority, null when unknown.
          type: int
        labels:
          description: The labels that the pool offers.
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
              description: The cloud's message, null when that is not stored.
              type: str
    stuck:
      description: Servers and floating IPs whose deletion fails.
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
          description: The node that the server or floating IP belonged to, null for none.
          type: str
        age:
          description: Seconds since the deletion began, null when that is not stored.
          type: float
        tries:
          description: Number of tries.
          type: int
        answer:
          description: The cloud's message, null when that is not stored.
          type: str
    problems:
      description: Fields of the provider's stored document that cannot be used.
      type: list
      elements: str
  sample:
    - name: cloud1
      configured: true
      cloud: cloud1
      acting: true
      by_commands: false
      acted_for_by: [launcher1]
      standing_by: [launcher2]
      stood_by_age: 12.1
      health: {state: ok, text: null, age: null, owner: null}
      reading_age: 12.1
      nodes: {building: 1, ready: 3}
      resources:
        - {resource: instances, used: 4, others: 3, limit: 10, left: 3}
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
    PROVIDER_INFO_ARGUMENTS,
    provider_info,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module


def main() -> None:
    """Entry point."""
    run_module(provider_info, PROVIDER_INFO_ARGUMENTS)


if __name__ == "__main__":
    main()
