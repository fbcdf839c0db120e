#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs one launcher cycle."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_launch
short_description: Serve node requests from OpenStack clouds
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Runs one launcher cycle. The launcher reads node requests from ZooKeeper, launches servers in the clouds of
    C(nodepool.yaml) within every quota, hands the nodes to their requestors, and deletes nodes that are used, failed or
    too old.
  - The cycle lasts for O(duration) seconds, or with O(until=settled) only as long as there is something to do. It can
    be killed at any time. The next cycle continues its work.
  - When several launchers run, one of them acts for each provider. The others stand by and take over when it ends.
  - When a launcher of a tree acts for a provider for the first time, the module warns of servers that carry the
    provider's name and that no record of the tree names, in check mode as well. The launcher does not touch them.
  - The cycle fails when its tree in ZooKeeper is emptied or replaced by another one. It deletes no server for this
    reason.
  - In check mode the module reads the state of ZooKeeper and clouds once, returns the plan with its reasons and, with
    C(--diff), shows it. It writes, locks and registers nothing.
options:
  duration:
    description:
      - Maximum seconds that the cycle lasts.
    type: float
    default: 300
  until:
    description:
      - V(settled) ends the cycle as soon as nothing is in flight and every waiting request waits for a configured limit
        or a quota.
      - V(deadline) lets the cycle last for the whole of O(duration).
    type: str
    choices: [settled, deadline]
    default: settled
  providers:
    description:
      - Act only for these providers of C(nodepool.yaml), never for others. When unset, act for all.
    type: list
    elements: str
  prefers:
    description:
      - Providers of C(nodepool.yaml) for which this launcher acts before launchers of other hosts. It acts for others
        of O(providers) only while no launcher of another host does. When unset, all hosts share all providers evenly.
    type: list
    elements: str
  weight:
    description:
      - The share of this host in the providers, relative to launchers of other hosts. A host with V(2) acts for twice
        as many providers as one with V(1).
    type: float
    default: 1
  api_timeout:
    description:
      - Seconds without data from the API of a cloud after which the launcher gives up a call. A call with its whole
        answer may take twice as long.
      - The launcher waits longer for the answer to a create, depending on recent creates of that cloud, up to twenty
        times this value. C(api_timeout) of the cloud's entry in C(clouds.yaml) is a lower bound for its creates.
      - After a third of this time the provider is suspect, and the launcher gives requests to other providers that can
        serve them.
    type: float
    default: 30
  spare_ssh_after:
    description:
      - Age in seconds from which a ready node that a request wants is tried by ssh once more before it is handed out.
        The request waits for that, ten seconds at most.
      - A node that does not answer, or with another host key, is not handed out. It is deleted when a second try half a
        minute later fails as well.
      - V(0) tries no node again. Nodes of labels without C(host-key-checking) are never tried.
    type: float
    default: 0
extends_documentation_fragment:
  - stackci.nodepool.tree
  - stackci.nodepool.tree.clouds
  - stackci.nodepool.control
  - stackci.nodepool.control.progress
  - stackci.nodepool.control.statsd
  - stackci.nodepool.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: partial
    details:
      - In check mode the diff shows the plan. Outside of check mode the result has what was done.
  idempotent:
    support: full
seealso:
  - module: stackci.nodepool.nodepool_request
  - plugin: stackci.nodepool.nodepool
    plugin_type: inventory
"""

EXAMPLES = r"""
- name: Serve the requests that are there now
  stackci.nodepool.node_launch:
    config: /etc/nodepool/nodepool.yaml
    duration: 600

- name: Serve requests for ten minutes
  stackci.nodepool.node_launch:
    config: /etc/nodepool/nodepool.yaml
    secure_config: /etc/nodepool/secure.conf
    duration: 600
    until: deadline

- name: Show what would be done now, and why requests wait
  stackci.nodepool.node_launch:
    config: /etc/nodepool/nodepool.yaml
  check_mode: true
  diff: true
"""

RETURN = r"""
ended:
  description:
    - Why the cycle ended. V(stopped) is by O(control_file) or a signal, V(controller gone) because the process that
      started the module has ended.
  returned: success
  type: str
  sample: settled
  choices: [settled, deadline, stopped, controller gone, check]
seconds:
  description: Duration of the cycle in seconds.
  returned: success
  type: float
  sample: 24.3
acted_for:
  description: Providers that this cycle acted for.
  returned: success
  type: list
  elements: str
  sample: [cloud1, cloud2]
stood_by_for:
  description: Providers that another launcher acted for during the whole cycle.
  returned: when not in check mode
  type: list
  elements: str
  sample: []
freezes:
  description:
    - Pools that refused creates and are frozen for a while, by pool and resource, with the UNIX time at which the
      freeze ends and the cloud's message.
  returned: when not in check mode
  type: dict
  sample: {}
breakers:
  description:
    - Images and flavors whose launches failed several times in a row and that are not used for a while, by provider.
  returned: when not in check mode
  type: dict
  sample: {}
sweeps:
  description:
    - Leaked resources that the launcher found and deleted, by provider (the empty name is the ZooKeeper tree) and kind.
      C(leaked) and C(foreign) are the latest counts, C(deleted) and C(failed) add up over the cycle.
  returned: when not in check mode
  type: dict
  sample:
    cloud1:
      server: {leaked: 1, foreign: 3, deleted: 0, failed: 0}
      launch-record: {leaked: 0, foreign: 0, deleted: 0, failed: 0}
stuck_deletions:
  description:
    - Deletions that did not succeed after several tries, each with C(provider), C(server), C(node), C(since) (UNIX
      time), C(tries), C(locked) and the last C(answer). The launcher tries them again at growing intervals.
    - Leaked ports, floating IPs, volumes and images have C(kind) and C(id) instead of C(server).
  returned: when not in check mode
  type: list
  elements: dict
  sample: []
health:
  description:
    - Health of the API of each provider at the end of the cycle. In trouble, C(owner) says whose fault it is, and
      C(services) has each service, and each reading that is needed and refused, with C(text) and C(seconds).
  returned: when not in check mode
  type: dict
  sample:
    cloud1: {state: ok}
    cloud2: {state: trouble, text: no answer to GET /servers/detail for 12 s, seconds: 12.4}
left_out:
  description: Providers that could not be used, and why. The launcher acted for the others.
  returned: when not in check mode
  type: dict
  sample: {}
config_problems:
  description:
    - All problems of C(nodepool.yaml), C(secure.conf) and C(clouds.yaml) at the end of the cycle. The configuration
      that was read before stays in force until they are corrected.
  returned: when not in check mode
  type: list
  elements: str
  sample: []
providers:
  description:
    - Whether each provider could be used, and if not, why and what to do.
  returned: in check mode
  type: dict
  sample:
    cloud1: {reached: true}
    cloud2:
      reached: false
      text: >-
        provider cloud2: the cloud does not accept the login of entry 'cloud2' in /etc/openstack/clouds.yaml (401):
        correct its credentials (username, password, user_domain_name), project and auth_url
unusable:
  description:
    - The providers and labels of the configuration that cannot be used, each with what to do. With O(strict_check) the
      module fails unless the list is empty.
  returned: in check mode
  type: list
  elements: str
  sample: []
acting_elsewhere:
  description: Providers that another launcher acts for now.
  returned: in check mode
  type: list
  elements: str
  sample: [cloud1]
requests:
  description: Node requests by their outcome. All keys are always there.
  returned: when not in check mode
  type: dict
  contains:
    fulfilled:
      description: Ids of requests whose nodes are ready.
      type: list
      elements: str
    failed:
      description: Requests that no pool can ever serve, each with its reasons.
      type: list
      elements: dict
    declined:
      description: Requests that the pools of this launcher cannot serve and other pools may, each with the reasons.
      type: list
      elements: dict
    canceled:
      description: Ids of requests that their requestor deleted during the cycle.
      type: list
      elements: str
    waiting:
      description: Requests that wait at the end of the cycle, each with its reason.
      type: list
      elements: dict
  sample:
    fulfilled: [100-0000000001]
    failed: []
    declined: []
    canceled: []
    waiting:
      - id: 100-0000000002
        reason:
          code: no-room
          text: 2 instances needed, 0 left in cloud1/main
          where: cloud1/main
          resource: instances
          needed: 2
          left: 0
nodes:
  description: Nodes by their outcome. All keys are always there.
  returned: when not in check mode
  type: dict
  contains:
    launched:
      description: Ids of nodes whose launch began.
      type: list
      elements: str
    ready:
      description: Ids of nodes that became ready.
      type: list
      elements: str
    adopted:
      description: Ids of nodes whose launch an earlier cycle had begun.
      type: list
      elements: str
    deleted:
      description: Ids of nodes that were deleted, with their servers.
      type: list
      elements: str
    failed:
      description: Nodes that could not be launched, each with the failures of all its attempts.
      type: list
      elements: dict
    refused_creates:
      description: Creates that a cloud refused because of a quota.
      type: int
    timings:
      description: UNIX times of the steps of each launch, by node id.
      type: dict
  sample:
    launched: ["0000000001"]
    ready: ["0000000001"]
    adopted: []
    deleted: []
    failed: []
    refused_creates: 0
    timings:
      "0000000001": {recorded: 1795198332.8, created: 1795198333.1, active: 1795198353.9, ready: 1795198354.2}
min_ready_reasons:
  description: Why the min-ready of these labels could not be kept, with the obstacle in each pool.
  returned: when not in check mode
  type: dict
  sample: {}
min_ready_unmet:
  description: Labels whose min-ready could not be kept for lack of room, and how many nodes are missing.
  returned: when not in check mode
  type: dict
  sample: {}
plan:
  description: What the cycle would do now. All keys are always there.
  returned: in check mode
  type: dict
  contains:
    admit:
      description: Requests that would be served, with pool, zone and the nodes to take or launch.
      type: list
      elements: dict
    decline:
      description: Requests that would be declined or failed, with the reasons.
      type: list
      elements: dict
    wait:
      description: Requests that would wait, with the reason.
      type: list
      elements: dict
    spare:
      description: Nodes that would be launched for min-ready.
      type: list
      elements: dict
    delete:
      description: Nodes that would be deleted, with the reason.
      type: list
      elements: dict
    pace:
      description:
        - Pools for which the launcher would send fewer creates at once than the plan has launches. It sends more with
          each create that the cloud accepts.
      type: list
      elements: dict
      sample: [{pool: cloud1/main, launches: 20, creates_at_once: 2}]
  sample:
    admit: []
    decline: []
    wait: []
    spare: []
    delete: []
    pace: []
summary:
  description: The result in sentences, which the playbooks show. All keys are always there.
  returned: success
  type: dict
  contains:
    done:
      description: What the cycle did, or in check mode would do.
      type: str
    failed:
      description: Requests, builds or uploads that failed, each with its reasons.
      type: list
      elements: str
    wrong:
      description: Problems at the end of the cycle that the operator has to solve.
      type: list
      elements: str
    waits:
      description: Requests and labels that wait, each with its reason.
      type: list
      elements: str
  sample:
    done: 1 request fulfilled, 0 failed, 0 waiting; 1 node became ready, 0 deleted; served cloud1
    failed: []
    wrong: []
    waits: []
api_calls:
  description: Calls of each provider's API by kind and status.
  returned: success
  type: dict
  sample:
    cloud1:
      POST /servers: {"202": 3}
      GET /servers/detail: {"200": 7}
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.launching import (
    LAUNCH_ARGUMENTS,
    launch,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module


def main() -> None:
    """Entry point."""
    run_module(launch, LAUNCH_ARGUMENTS)


if __name__ == "__main__":
    main()
