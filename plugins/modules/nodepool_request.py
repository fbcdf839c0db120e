#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: nodepool_request
short_description: Request nodes, hold them under a name, and release them
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Requests nodes through ZooKeeper as Zuul does, waits until they are ready and leases them under a name.
  - The nodes of a lease are held (node state C(hold)) under the name of the lease. They stay after the module has
    ended, until they are released or O(expires) is over. So a requestor that crashes does not keep nodes for ever.
  - The module can be ended at any point. Running it again with the same O(name) continues. When the lease is complete,
    it returns the same nodes unchanged.
  - When nodes of a complete lease are missing (expired, deleted, or taken over by another requestor), the module renews
    the whole lease. It releases the remaining nodes, requests new ones and reports this in RV(notices).
extends_documentation_fragment:
  - stackci.nodepool.attributes
  - stackci.nodepool.attributes.change
  - stackci.nodepool.tree
  - stackci.nodepool.tree.clouds
  - stackci.nodepool.control.progress
options:
  name:
    description:
      - Name of the lease, unique in the ZooKeeper tree.
      - It begins with a letter or digit and has up to 128 characters, each a letter, a digit or one of C(._@:+=-).
    type: str
    required: true
  state:
    description:
      - V(present) requests the nodes and holds them.
      - V(extended) changes when the nodes of a complete lease expire, to O(expires) seconds from now or to O(until),
        also to an earlier time. It requests nothing, and O(labels) is not needed. C(max-hold-age) counts from the
        beginning of the lease.
      - V(absent) deletes the requests that still wait and releases the nodes. A launcher then deletes them, or this
        module with O(launch=true). Where no launcher acts, RV(notices) and a warning name the nodes that stay. The
        module does not touch nodes that another requestor has taken over.
    type: str
    choices: [present, extended, absent]
    default: present
  labels:
    description:
      - Labels of one set of nodes, in the order in which they are returned. All nodes of a set come from one pool
        and availability zone.
      - Required when O(state=present).
      - A label that is neither in C(nodepool.yaml) nor offered by a launcher of the ZooKeeper tree is refused, and the
        message has similar names. When O(config) has no labels at all, launchers decide.
      - A lease that exists with other labels or another O(count) is an error.
    type: list
    elements: str
  count:
    description:
      - Number of sets. Each set is a request of its own and may come from another pool.
      - All sets together have at most 10,000 nodes.
    type: int
    default: 1
  wait:
    description:
      - Whether to wait until the lease is complete. With V(false) the module makes the requests, takes over the nodes
        that are ready and returns the state (RV(complete), RV(requests)). Repeat the task to continue.
    type: bool
    default: true
  timeout:
    description:
      - Maximum seconds to wait. Then the module fails and returns RV(last_state).
    type: int
    default: 600
  cancel_on_timeout:
    description:
      - Whether to delete the requests and release the nodes when O(timeout) is over. By default the requests stay and
        keep their place in the queue, and repeating the task continues to wait. When the task is not repeated in time
        (the larger of O(timeout) and O(expires)), a launcher deletes the requests.
      - With O(launch=true) the servers are deleted as well, which may take up to 300 seconds more.
    type: bool
    default: false
  priority:
    description:
      - Priority of the requests from 0 (first) to 999. Zuul uses 100, 200 and 300 for high, normal and low.
    type: int
    default: 100
  provider:
    description:
      - Preferred provider, by its name in C(nodepool.yaml).
    type: str
  tenant:
    description:
      - Tenant whose C(tenant-resource-limits) the nodes count against.
    type: str
  expires:
    description:
      - Seconds for which the nodes are held, from the moment they are taken over. Then a launcher deletes them. Without
        a launcher, the next run of this module with O(launch=true) or of M(stackci.nodepool.leak_cleanup) deletes them,
        whatever O(name) it has.
      - C(max-hold-age) of C(nodepool.yaml), after which every held node is deleted, is an upper bound. The module warns
        when it applies.
      - Repeating the task with another value does not change nodes that are held already; O(state=extended) does.
    type: int
    default: 7200
  until:
    description:
      - Time until which the nodes are held, instead of O(expires).
      - V(18:00) is the next 18:00 by the clock of the machine that runs the module, today or tomorrow, also across a
        change to or from summer time. Quotes are not needed. A task that is repeated after 18:00 means the next day.
      - V(2026-12-24 18:00) is that time in the zone of the machine; V(2026-12-24T18:00+01:00) names its zone.
    type: str
  owner:
    description:
      - Who leases the nodes, for people; M(stackci.nodepool.lease_info), the status screen and the comment of the nodes
        show it. When unset, the name of the user who runs the module.
    type: str
  reason:
    description:
      - What the nodes are for, shown beside O(owner).
    type: str
    default: ""
  ssh_key:
    description:
      - A public key, the text of a C(.pub) file, to put into the C(authorized_keys) of the user of each node, so that
        its owner can log in.
      - The module logs in with O(private_key), or else with the keys of the user's agent and C(~/.ssh). So it also
        reaches nodes that were ready before the lease. A key that is there is not added again.
    type: str
  known_hosts:
    description:
      - File for the recorded host keys of the nodes, as ssh reads it. With it, RV(nodes[].ssh_arguments) names it.
      - Each of the files is written when the lease is complete, and replaced at once as a whole. It is removed with
        O(state=absent). The module does not touch a file that it has not written for this lease, unless it is empty.
    type: path
  ssh_config:
    description:
      - File for a configuration of ssh with a host for each node, for C(ssh -F) or C(Include). Needs O(known_hosts).
    type: path
  inventory:
    description:
      - File for an inventory with the nodes in the group C(leased_nodes) and a group for each label. Needs
        O(known_hosts). Its name ends with C(.yml) or C(.json).
    type: path
  private_key:
    description:
      - Private key for the login, for O(ssh_config), O(inventory) and RV(nodes[].ssh_arguments). With it, ssh offers no
        other key of an agent.
    type: path
  file_mode:
    description:
      - Mode of the files.
    type: str
    choices: ["0600", "0644"]
    default: "0600"
  launch:
    description:
      - Run a launcher cycle in this module while it waits, for sites without a launcher. When another launcher acts for
        a provider, the module only waits for it.
      - With this option the module ends in good order after a signal, and when C(ansible-playbook) was killed. Repeat
        the task to continue.
      - With O(state=absent) the module deletes the servers of the lease and waits until they are gone, also those that
        are still booting or that an earlier run released. O(wait) has no effect then.
      - The servers of other leases that are over are deleted, too. The module waits for them for 30 seconds at most.
      - Fails at once when every provider that offers the labels refuses the login or cannot be used.
      - Has no effect with O(state=present) and O(wait=false).
    type: bool
    default: false
seealso:
  - module: stackci.nodepool.node_launch
    description: The launcher that serves the requests.
  - plugin: stackci.nodepool.nodepool
    plugin_type: inventory
    description: All nodes as an inventory.
"""

EXAMPLES = r"""
- name: Lease three nodes for an hour
  stackci.nodepool.nodepool_request:
    name: "acceptance-{{ build_number }}"
    labels: [debian-small, debian-small, debian-large]
    expires: 3600
    config: /etc/nodepool/nodepool.yaml
    known_hosts: /tmp/acceptance/known_hosts
  register: lease

- name: Add them to the inventory
  ansible.builtin.add_host:
    name: "{{ item.hostname }}"
    groups: "{{ item.label | replace('-', '_') }}"
    ansible_host: "{{ item.address }}"
    ansible_port: "{{ item.port }}"
    ansible_user: "{{ item.user }}"
    ansible_ssh_common_args: "{{ item.ssh_arguments }}"
  loop: "{{ lease.nodes }}"
  loop_control:
    label: "{{ item.id }}"

- name: Reach them
  ansible.builtin.ping:
  delegate_to: "{{ item.hostname }}"
  loop: "{{ lease.nodes }}"
  loop_control:
    label: "{{ item.hostname }}"

- name: Request ten single nodes, and collect them later
  stackci.nodepool.nodepool_request:
    name: swarm
    labels: [debian-small]
    count: 10
    wait: false

- name: Lease a machine until six for somebody
  stackci.nodepool.nodepool_request:
    name: alice
    labels: [debian-small]
    until: "18:00"
    owner: alice
    reason: bisects the boot failure
    ssh_key: "{{ lookup('ansible.builtin.file', '~/alice.pub') }}"
    private_key: ~/.ssh/id_ed25519

- name: Give her another hour from now
  stackci.nodepool.nodepool_request:
    name: alice
    state: extended
    expires: 3600

- name: Release the nodes
  stackci.nodepool.nodepool_request:
    name: "acceptance-{{ build_number }}"
    state: absent
    config: /etc/nodepool/nodepool.yaml
    known_hosts: /tmp/acceptance/known_hosts

- name: Lease a node at a site without a launcher
  stackci.nodepool.nodepool_request:
    name: scratch
    labels: [debian-small]
    launch: true
    timeout: 900
"""

RETURN = r"""
lease:
  description: Name of the lease.
  returned: success
  type: str
  sample: acceptance-42
complete:
  description:
    - Whether all nodes of the lease are held, or with O(state=absent), whether the lease is gone.
    - With O(state=absent) V(false) when no launcher serves a provider and the servers of the lease stay there.
  returned: success
  type: bool
  sample: true
requests:
  description: The request of each set, in order. Empty after O(state=absent) has released the lease.
  returned: success
  type: list
  elements: dict
  contains:
    id:
      description: Id of the request, null when it is not made yet.
      type: str
      sample: 100-0000000012
    state:
      description: C(requested), C(pending), C(fulfilled) or C(failed). Empty when the request is not made yet.
      type: str
      sample: fulfilled
    reason:
      description: Why the request waits, null when no launcher has stored a reason.
      type: dict
      contains:
        code:
          description: The code of the reason, for programs.
          type: str
          sample: no-room
        text:
          description: The reason as a sentence.
          type: str
          sample: 2 instances needed, 0 left in cloud1/main
nodes:
  description: The held nodes, in order of sets and labels.
  returned: success
  type: list
  elements: dict
  contains:
    id: {description: Id of the node., type: str, sample: "0000000007"}
    label: {description: Label of the node., type: str, sample: debian-small}
    labels: {description: All labels of the node., type: list, elements: str, sample: [debian-small]}
    state: {description: State of the node., type: str, sample: hold}
    request: {description: Request that the node was allocated to., type: str, sample: 100-0000000012}
    address: {description: Address to connect to., type: str, sample: 192.0.2.17}
    public_ipv4: {description: Public IPv4 address., type: str, sample: 192.0.2.17}
    private_ipv4: {description: Private IPv4 address., type: str, sample: 10.0.0.17}
    public_ipv6: {description: Public IPv6 address., type: str, sample: ""}
    port: {description: Port to connect to., type: int, sample: 22}
    user: {description: User to connect as., type: str, sample: zuul}
    connection_type:
      description:
        - Connection type of the image. Empty when the record of the node names one that a record cannot choose, such as
          V(local); RV(notices) says so.
      type: str
      sample: ssh
    python_path: {description: Python interpreter of the image., type: str, sample: auto}
    shell_type: {description: Shell type of the image., type: str, sample: ""}
    host_keys: {description: Host keys that the launcher saw., type: list, elements: str, sample: [ssh-ed25519 AAAA]}
    provider: {description: Provider of the node., type: str, sample: cloud1}
    pool: {description: Pool of the node., type: str, sample: main}
    cloud: {description: Entry of clouds.yaml., type: str, sample: cloud1}
    region: {description: Region., type: str, sample: ""}
    az: {description: Availability zone., type: str, sample: nova}
    external_id: {description: Id of the server in the cloud., type: raw, sample: 0e3f0c5e-7b3f-4c3e-9f5b-1f0e5b8c6a11}
    image_id: {description: Cloud image or the znode path of the upload., type: str, sample: debian-12}
    resources: {description: Resources that count in quotas., type: dict, sample: {cores: 2, instances: 1, ram: 4096}}
    attributes: {description: The pool's node-attributes., type: dict, sample: {}}
    expires_at: {description: UNIX time at which the node is deleted., type: float, sample: 1795205532.8}
    hostname: {description: Name for an inventory and for ssh., type: str, sample: np0000000007}
    ssh_arguments:
      description:
        - Value for C(ansible_ssh_common_args) by which ssh checks the host key with the file O(known_hosts), or takes
          the key of the first contact where none was recorded, and offers O(private_key) alone. Empty without either.
      type: str
      sample: -o 'UserKnownHostsFile="/tmp/known_hosts"' -o GlobalKnownHostsFile=/dev/null -o StrictHostKeyChecking=yes
notices:
  description:
    - Notices, for instance that the lease was renewed and why.
    - Names the nodes of leases that nobody deletes, as no launcher serves their provider.
  returned: success
  type: list
  elements: str
  sample: []
planned:
  description: Each step that would be taken, and why.
  returned: in check mode
  type: list
  elements: str
  sample: ["request a new set of nodes: there is no lease with this name yet"]
last_state:
  description: RV(requests) and RV(nodes) at the end of O(timeout).
  returned: when O(timeout) is over
  type: dict
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.leasing import (
    LEASE_ARGUMENTS,
    LEASE_RULES,
    lease,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module


def main() -> None:
    """Entry point."""
    run_module(lease, LEASE_ARGUMENTS, **LEASE_RULES)


if __name__ == "__main__":
    main()
