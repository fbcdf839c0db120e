#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sweeps up what leaked."""

from __future__ import annotations

DOCUMENTATION = r"""
module: leak_cleanup
short_description: Delete leaked resources in clouds and leaked records in ZooKeeper
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Finds servers, ports, floating IPs, volumes and images whose node or image upload no longer exists, and
    records in ZooKeeper whose owner no longer exists, and deletes them.
  - The module deletes a resource only when it carries the id of this tree (C(stackci_site), which is
    C(/nodepool/stackci/site) in ZooKeeper) and the name of this provider, or when a record of this tree names it. The
    resource must be found twice, some time apart, and be older than O(min_age). All other resources are listed as
    foreign. The module never touches a resource of a node that is locked, in use, held or leased.
  - A launcher also sweeps, as C(clean-floating-ips) and C(port-cleanup-interval) of the provider allow. This module
    ignores these two settings and looks for all O(kinds).
  - Leases whose time is over are released. Where no launcher serves a provider, the module deletes the nodes that
    have to be deleted there. It serves no request and begins no launch.
  - The module may run while a launcher runs. Only one of them sweeps a provider at a time.
  - A tree that was emptied gets a new id, so the module deletes nothing of the former tree. When ZooKeeper lost only
    some of the records of running nodes, their servers look like leaks. After a tree was restored, use check mode
    first.
options:
  providers:
    description:
      - Sweep only these providers of C(nodepool.yaml). When unset, sweep all.
    type: list
    elements: str
  kinds:
    description:
      - Kinds of resources and records to look for.
      - V(node) are nodes that must be deleted at a provider for which no launcher acts, such as those of an expired
        lease. The module deletes them, the server first, at once and whatever O(min_age) and O(max_deletions) are.
      - V(server), V(port), V(floating-ip), V(volume) and V(image) are resources of clouds. V(launch-record) is the
        record of the launch of a node that no longer exists.
      - V(empty-node) are node records without data, V(request-lock) the locks of deleted requests (older than 8 hours),
        V(lost-request) pending requests that no launcher serves (they become C(requested) again), V(document) the
        collection's own documents about requests, leases and pools that do not exist any more.
    type: list
    elements: str
    choices: &kinds
      - node
      - server
      - port
      - floating-ip
      - volume
      - image
      - launch-record
      - empty-node
      - request-lock
      - lost-request
      - document
    default: *kinds
  min_age:
    description:
      - Age in seconds from which a resource is deleted, counted from the creation, or from the first sighting when the
        cloud does not report the creation.
    type: float
    default: 600
  max_deletions:
    description:
      - Maximum number of deletions in one look, for each provider and for ZooKeeper. The next look deletes the rest.
    type: int
    default: 50
  wait:
    description:
      - Seconds after which the module looks a second time, when the first look found new leaks. It then deletes them in
        the same run.
      - With V(0) the module looks once. A run at least 60 seconds later deletes the leaks that this look found first.
    type: float
    default: 0
  adopt_sites:
    description:
      - Ids of other trees that do not exist any more. Resources that carry one of them and a provider's name count as
        leaked, unless a record of this tree names them.
      - RV(things[].site) of a foreign resource is the id of its tree. The module cannot tell whether that tree still
        exists. If it does, its nodes are deleted while they are in use.
    type: list
    elements: str
    default: []
  adopt_unmarked:
    description:
      - Age in seconds from which resources that name a provider and no tree count as leaked, when this tree has no
        record of their node or upload. Nodepool and earlier versions of this collection leave such resources behind.
      - This applies to O(kinds) V(server), V(floating-ip) and V(image). If a Nodepool works in the same project with
        the same provider names, its nodes are deleted while they are in use.
      - When unset, such resources are foreign.
    type: float
extends_documentation_fragment:
  - stackci.nodepool.tree
  - stackci.nodepool.tree.clouds
  - stackci.nodepool.control.statsd
  - stackci.nodepool.attributes
  - stackci.nodepool.attributes.change
seealso:
  - module: stackci.nodepool.node_launch
"""

EXAMPLES = r"""
- name: List leaked and foreign resources
  stackci.nodepool.leak_cleanup:
    config: /etc/nodepool/nodepool.yaml
  check_mode: true
  diff: true

- name: Delete leaked resources in one run
  stackci.nodepool.leak_cleanup:
    config: /etc/nodepool/nodepool.yaml
    wait: 90

- name: Delete leaked floating IPs of one provider that are older than a day
  stackci.nodepool.leak_cleanup:
    providers: [cloud1]
    kinds: [floating-ip]
    min_age: 86400

- name: Delete servers that Nodepool left behind, once after the migration
  stackci.nodepool.leak_cleanup:
    config: /etc/nodepool/nodepool.yaml
    kinds: [server]
    adopt_unmarked: 86400
    wait: 90

- name: Delete the resources of a trial whose chroot was deleted
  stackci.nodepool.leak_cleanup:
    config: /etc/nodepool/nodepool.yaml
    adopt_sites: [4f1c0d6e2b7a49d08f3e5a6b7c8d9e0f]
    wait: 90
"""

RETURN = r"""
seconds:
  description: Duration in seconds.
  returned: success
  type: float
  sample: 92.1
things:
  description:
    - The resources and records that were found, with the reason. At most 200 foreign ones are listed for each provider,
      all are counted.
    - Keys without a condition are always there.
  returned: success
  type: list
  elements: dict
  contains:
    provider:
      description: The provider. Null for records in ZooKeeper.
      type: str
    kind:
      description: One of O(kinds).
      type: str
    id:
      description: The id in the cloud, or the name in ZooKeeper.
      type: str
    name:
      description: The name, or the address of a floating IP.
      type: str
    verdict:
      description:
        - V(deleted), V(failed) (the cloud refused, see RV(things[].answer)), V(spared) (found in use just before the
          deletion), V(due) (would be deleted, in check mode), V(waiting) (for the second sighting), V(young)
          (O(min_age)), V(paused) (an earlier deletion failed), V(beyond-bound) (O(max_deletions)) or V(foreign).
      type: str
    reason:
      description: Why the resource counts as leaked or foreign.
      type: str
    age:
      description: Seconds since the creation, null when the cloud does not report it.
      type: float
    site:
      description: The id of the tree that the resource belongs to.
      type: str
      returned: when it belongs to another tree
    first_seen:
      description: UNIX time of the first sighting.
      type: float
      returned: when it is not foreign
    tries:
      description: Number of failed deletions so far.
      type: int
      returned: when there were any
    answer:
      description: The cloud's answer to the last deletion.
      type: str
      returned: when a deletion failed
  sample:
    - provider: cloud1
      kind: server
      id: 6d2f3a64-9a5c-4a0c-8a3f-0d6f5b1d3c11
      name: np0000000042
      verdict: deleted
      reason: made for node 0000000042 of this provider, which no longer exists
      age: 4120.5
      first_seen: 1795198332.8
counts:
  description:
    - Counts by provider (the empty name is ZooKeeper) and kind. C(found) is the number of leaked resources, the other
      counts are by verdict.
  returned: success
  type: dict
  sample:
    cloud1:
      server: {found: 1, deleted: 1, waiting: 0, foreign: 2}
left_out:
  description: Providers that could not be swept, or only in part, and why.
  returned: success
  type: dict
  sample: {}
api_calls:
  description: Calls of each provider's API by kind and status.
  returned: success
  type: dict
  sample:
    cloud1:
      GET /servers/detail: {"200": 2}
      DELETE /servers/{id}: {"204": 1}
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.sweeping import SWEEP_ARGUMENTS, sweep


def main() -> None:
    """Entry point."""
    run_module(sweep, SWEEP_ARGUMENTS)


if __name__ == "__main__":
    main()
