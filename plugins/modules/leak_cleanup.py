#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sweeps up what leaked."""

from __future__ import annotations

DOCUMENTATION = r"""
module: leak_cleanup
short_description: Delete what leaked in clouds and in ZooKeeper
version_added: 0.1.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Looks for servers, ports, floating IPs, volumes and images that were made for nodes and image uploads which do not
    exist any more, and for records in ZooKeeper whose owner is gone, and deletes them.
  - Only what carries the id of this tree (C(stackci_site), which is C(/nodepool/stackci/site) in ZooKeeper) and this
    provider's name, or is named by a record of this tree or by its record of a deleted node, is ever deleted, and only
    when two looks at a distance showed it and it is older than O(min_age). Everything else is listed as foreign.
    What belongs to a node that is locked, in use, held or leased is never touched.
  - A launcher cycle sweeps by itself now and then, as C(clean-floating-ips) and C(port-cleanup-interval) of the
    provider allow. This module looks at all O(kinds), whatever these say.
  - It may be run beside a launcher. Of several sweeps of a provider one works at a time.
  - A tree that was emptied gets another id, so that nothing of the former one is deleted. If ZooKeeper lost only some
    records of nodes that still run, their servers look like leaks. Use check mode first when the tree was restored.
options:
  providers:
    description:
      - Look only at these providers of C(nodepool.yaml). When unset, at all.
    type: list
    elements: str
  kinds:
    description:
      - What to look for.
      - V(server), V(port), V(floating-ip), V(volume) and V(image) are things in clouds, V(launch-record) is what a
        launcher noted of a node that is gone.
      - V(empty-node) are node records without data, V(request-lock) the locks of vanished requests (older than 8
        hours), V(lost-request) pending requests that nobody serves (they are asked for anew), V(document) the
        collection's own notes about requests, leases and pools that are gone.
    type: list
    elements: str
    choices:
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
    default:
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
  min_age:
    description:
      - Seconds for which a thing must have been there, by its own time of creation, or where nothing tells it, since it
        was seen first.
    type: float
    default: 600
  max_deletions:
    description:
      - Deletions at most in one look, in each provider and in ZooKeeper. What is beyond is left for the next time.
    type: int
    default: 50
  wait:
    description:
      - Look a second time after so many seconds, when the first look found something new. It is then deleted in the
        same run.
      - With V(0) there is one look; what it sees first is deleted by a later run, at least 60 seconds after.
    type: float
    default: 0
  adopt_sites:
    description:
      - Ids of other trees that are gone. What carries one of them and a provider's name is taken for leaked, whatever
        node it was made for, unless a record of this tree names it.
      - RV(things[].site) of a foreign thing tells the id. Nobody can see from here whether that tree is alive. When it
        is, its nodes are deleted while they are in use.
    type: list
    elements: str
    default: []
  adopt_unmarked:
    description:
      - Take also what names a provider and no tree, and is older than so many seconds, when the node or upload that it
        was made for is not known here. That is what a Nodepool or an earlier version of this collection left behind.
      - Only for O(kinds) V(server), V(floating-ip) and V(image). With a Nodepool at work in the same project and with
        the same names of providers, its nodes are deleted while they are in use.
      - When unset, such things are foreign.
    type: float
extends_documentation_fragment:
  - stackci.nodepool.config
  - stackci.nodepool.statsd
  - stackci.nodepool.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
seealso:
  - module: stackci.nodepool.node_launch
"""

EXAMPLES = r"""
- name: What leaked, and what is foreign?
  stackci.nodepool.leak_cleanup:
    config: /etc/nodepool/nodepool.yaml
  check_mode: true
  diff: true

- name: Delete what leaked, in one run
  stackci.nodepool.leak_cleanup:
    config: /etc/nodepool/nodepool.yaml
    wait: 90

- name: Only floating IPs of one provider that are a day old
  stackci.nodepool.leak_cleanup:
    providers: [cloud1]
    kinds: [floating-ip]
    min_age: 86400

- name: Once, after the move from Nodepool, take servers that it left behind
  stackci.nodepool.leak_cleanup:
    config: /etc/nodepool/nodepool.yaml
    kinds: [server]
    adopt_unmarked: 86400
    wait: 90

- name: Delete what is left of a trial whose chroot is gone
  stackci.nodepool.leak_cleanup:
    config: /etc/nodepool/nodepool.yaml
    adopt_sites: [4f1c0d6e2b7a49d08f3e5a6b7c8d9e0f]
    wait: 90
"""

RETURN = r"""
seconds:
  description: How long it took, in seconds.
  returned: success
  type: float
  sample: 92.1
things:
  description:
    - What was found, with the reason. Of foreign things 200 for each provider are listed, all are counted.
  returned: success
  type: list
  elements: dict
  contains:
    provider:
      description: The provider; null for what is in ZooKeeper.
      type: str
      returned: always
    kind:
      description: One of O(kinds).
      type: str
      returned: always
    id:
      description: Its id in the cloud, or its name in ZooKeeper.
      type: str
      returned: always
    name:
      description: Its name, or the address of a floating IP.
      type: str
      returned: always
    verdict:
      description:
        - V(deleted), V(failed) (the cloud refused, see RV(things[].answer)), V(spared) (the last look showed it in use
          after all), V(due) (in check mode, would be deleted), V(waiting) (for its second sighting), V(young)
          (O(min_age)), V(paused) (an earlier deletion failed), V(beyond-bound) (O(max_deletions)) or V(foreign).
      type: str
      returned: always
    reason:
      description: Why it is taken for leaked or foreign.
      type: str
      returned: always
    age:
      description: Seconds since it was made, null when nothing tells it.
      type: float
      returned: always
    site:
      description: The id of the tree that it belongs to.
      type: str
      returned: for what belongs to another tree
    first_seen:
      description: UNIX time of the first sighting.
      type: float
      returned: for what is not foreign
    tries:
      description: Deletions that did not work so far.
      type: int
      returned: when there were any
    answer:
      description: What the cloud said to the last deletion.
      type: str
      returned: when a deletion did not work
  sample:
    - provider: cloud1
      kind: server
      id: 6d2f3a64-9a5c-4a0c-8a3f-0d6f5b1d3c11
      name: np0000000042
      verdict: deleted
      reason: made for node 0000000042 of this provider, which does not exist any more
      age: 4120.5
      first_seen: 1795198332.8
counts:
  description:
    - Numbers of things by provider (the empty name is ZooKeeper) and kind. C(found) are all that leaked, the others
      are by verdict.
  returned: success
  type: dict
  sample:
    cloud1:
      server: {found: 1, deleted: 1, waiting: 0, foreign: 2}
left_out:
  description: Providers that could not be looked at, or not at everything, and why.
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
