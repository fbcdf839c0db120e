#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs one launcher cycle."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_launch
short_description: Serve node requests from OpenStack clouds
version_added: 0.1.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Runs one cycle of the launcher. It reads node requests from ZooKeeper, launches servers in the clouds of
    C(nodepool.yaml) within every quota, hands the nodes to whoever asked for them, and deletes what is used, failed or
    too old.
  - The cycle stays for O(duration) seconds, or with O(until=settled) only as long as there is something to do. It can
    be killed at any time; the next one goes on where it was.
  - Of several launchers one acts for each provider, the others stand by and take over when it ends.
  - When a tree acts for a provider for the first time, servers there that bear the provider's name and that no record
    of the tree names are told in a warning, in check mode as well. They are left alone.
  - A cycle whose tree is emptied or exchanged in ZooKeeper fails, and deletes nothing because of that.
  - In check mode one observation is made, by reading only, and the plan with its reasons is returned and, with
    C(--diff), shown. Nothing is written, locked or registered.
options:
  duration:
    description:
      - Seconds to stay at most.
    type: float
    default: 300
  until:
    description:
      - V(settled) ends the cycle as soon as nothing is in flight and every waiting request is blocked by a limit that
        somebody set.
      - V(deadline) stays for the whole of O(duration).
    type: str
    choices: [settled, deadline]
    default: settled
  providers:
    description:
      - Act only for these providers of C(nodepool.yaml). When unset, for all.
    type: list
    elements: str
  api_timeout:
    description:
      - Seconds for which the API of a cloud may say nothing before a call is given up. A call with its whole answer may
        take twice as long.
      - A create is waited for longer, up to twenty times this, as creates of that cloud have lately needed.
        C(api_timeout) of its entry in C(clouds.yaml) is the least for creates of that cloud.
      - After a third of it the provider is suspect, and requests that others can serve go to those.
    type: float
    default: 30
  state_dir:
    description:
      - A folder, private to the user, in which cycles on the same host leave word for each other. When one of them was
        killed, its successor frees what the dead one had locked in ZooKeeper at once instead of after the session
        time-out. An empty text turns this off.
      - When unset, a folder of the user's runtime directory is used.
    type: path
  progress_file:
    description:
      - A file to which a line of JSON is appended for each thing that happens. The action plugin of this module sets it
        and shows the lines while the module works.
    type: path
extends_documentation_fragment:
  - stackci.nodepool.config
  - stackci.nodepool.control
  - stackci.nodepool.check
  - stackci.nodepool.statsd
  - stackci.nodepool.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: partial
    details:
      - The plan is shown in check mode; a cycle that acts reports what it did in its result.
  idempotent:
    support: full
seealso:
  - module: stackci.nodepool.nodepool_request
  - plugin: stackci.nodepool.nodepool
    plugin_type: inventory
"""

EXAMPLES = r"""
- name: Serve what is asked for now
  stackci.nodepool.node_launch:
    config: /etc/nodepool/nodepool.yaml
    duration: 600

- name: Stay for ten minutes and serve what comes
  stackci.nodepool.node_launch:
    config: /etc/nodepool/nodepool.yaml
    secure_config: /etc/nodepool/secure.conf
    duration: 600
    until: deadline

- name: What would be done now, and why does a request wait?
  stackci.nodepool.node_launch:
    config: /etc/nodepool/nodepool.yaml
  check_mode: true
  diff: true
"""

RETURN = r"""
ended:
  description:
    - Why the cycle ended. V(stopped) is by O(control_file) or a signal, V(controller gone) because whoever started the
      module is not there any more.
  returned: success
  type: str
  sample: settled
  choices: [settled, deadline, stopped, controller gone, check]
seconds:
  description: How long it stayed, in seconds.
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
  description: Providers that another launcher acted for all the time.
  returned: when not in check mode
  type: list
  elements: str
  sample: []
freezes:
  description:
    - Pools that are left alone for a while because they refused creates, by pool and resource, with the UNIX time until
      which they are and what the cloud said.
  returned: when not in check mode
  type: dict
  sample: {}
breakers:
  description:
    - Images and flavors whose launches failed several times in a row and are not tried for a while, by provider.
  returned: when not in check mode
  type: dict
  sample: {}
sweeps:
  description:
    - What sweeping for leaked things found and did, by provider (the empty name is the ZooKeeper tree itself) and kind.
      C(leaked) and C(foreign) are as last seen, C(deleted) and C(failed) add up over the cycle.
  returned: when not in check mode
  type: dict
  sample:
    cloud1:
      server: {leaked: 1, foreign: 3, deleted: 0, failed: 0}
      launch-record: {leaked: 0, foreign: 0, deleted: 0, failed: 0}
stuck_deletions:
  description:
    - Deletions that did not get on although they were tried several times, each with C(provider), C(server), C(node),
      C(since) (UNIX time), C(tries), C(locked) and the last C(answer). They are tried again at growing distances.
    - Leaked ports, floating IPs, volumes and images have C(kind) and C(id) instead of C(server).
  returned: when not in check mode
  type: list
  elements: dict
  sample: []
health:
  description: How well the API of each provider was at the end.
  returned: when not in check mode
  type: dict
  sample:
    cloud1: {state: ok}
    cloud2: {state: trouble, text: no answer to GET /servers/detail for 12 s, seconds: 12.4}
left_out:
  description: Providers that could not be used, and why; the others were served.
  returned: when not in check mode
  type: dict
  sample: {}
config_problems:
  description:
    - What is wrong with C(nodepool.yaml), C(secure.conf) and C(clouds.yaml) as they are at the end, all of it. What was
      read before stays in force until they are mended.
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
        correct its credentials, project and auth_url
unusable:
  description:
    - What of the configuration cannot be used, each with what to do. With O(strict_check) the module fails unless it is
      empty.
  returned: in check mode
  type: list
  elements: str
  sample: []
acting_elsewhere:
  description: Providers that a launcher acts for at the moment.
  returned: in check mode
  type: list
  elements: str
  sample: [cloud1]
requests:
  description: What became of node requests.
  returned: when not in check mode
  type: dict
  contains:
    fulfilled:
      description: Ids of requests whose nodes are ready.
      type: list
      elements: str
      returned: always
    failed:
      description: Requests that no pool can ever serve, each with its reasons.
      type: list
      elements: dict
      returned: always
    declined:
      description: Requests that our pools cannot serve but others may, each with the reasons.
      type: list
      elements: dict
      returned: always
    canceled:
      description: Ids of requests that their requestor deleted meanwhile.
      type: list
      elements: str
      returned: always
    waiting:
      description: Requests that wait at the end, each with its reason.
      type: list
      elements: dict
      returned: always
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
  description: What became of nodes.
  returned: when not in check mode
  type: dict
  contains:
    launched:
      description: Ids of nodes whose launch was begun.
      type: list
      elements: str
      returned: always
    ready:
      description: Ids of nodes that became ready.
      type: list
      elements: str
      returned: always
    adopted:
      description: Ids of nodes whose launch an earlier cycle had begun.
      type: list
      elements: str
      returned: always
    deleted:
      description: Ids of nodes that are gone, their servers included.
      type: list
      elements: str
      returned: always
    failed:
      description: Nodes that could not be launched, each with the failures of all its attempts.
      type: list
      elements: dict
      returned: always
    refused_creates:
      description: Creates that a cloud refused because of a quota.
      type: int
      returned: always
    timings:
      description: UNIX times of the steps of each launch, by node id.
      type: dict
      returned: always
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
  description: Why the min-ready of these labels could not be kept, what stands in the way in each pool.
  returned: when not in check mode
  type: dict
  sample: {}
min_ready_unmet:
  description: Labels whose min-ready could not be kept for lack of room, and how many nodes are missing.
  returned: when not in check mode
  type: dict
  sample: {}
plan:
  description: What the cycle would do now.
  returned: in check mode
  type: dict
  contains:
    admit:
      description: Requests that would be served, with pool, zone and the nodes to take or launch.
      type: list
      elements: dict
      returned: always
    decline:
      description: Requests that would be declined or failed, with the reasons.
      type: list
      elements: dict
      returned: always
    wait:
      description: Requests that would wait, with the reason.
      type: list
      elements: dict
      returned: always
    spare:
      description: Nodes that would be launched for min-ready.
      type: list
      elements: dict
      returned: always
    delete:
      description: Nodes that would be deleted, with the reason.
      type: list
      elements: dict
      returned: always
    pace:
      description:
        - Pools that would begin more slowly than this plan reads, because fewer creates are sent at once than launches
          are planned. More are sent with each that the cloud accepts.
      type: list
      elements: dict
      returned: always
      sample: [{pool: cloud1/main, launches: 20, creates_at_once: 2}]
  sample:
    admit: []
    decline: []
    wait: []
    spare: []
    delete: []
    pace: []
summary:
  description: What there is to say at the end, in sentences; the playbooks show it.
  returned: success
  type: dict
  contains:
    done:
      description: What was done, or would be.
      type: str
      returned: always
    failed:
      description: What failed for good, each with its reasons.
      type: list
      elements: str
      returned: always
    wrong:
      description: What is wrong at the end and has to be seen to.
      type: list
      elements: str
      returned: always
    waits:
      description: What waits, each with its reason.
      type: list
      elements: str
      returned: always
  sample:
    done: 1 request fulfilled, 0 failed, 0 waiting; 1 node became ready, 0 deleted; acted for cloud1
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
