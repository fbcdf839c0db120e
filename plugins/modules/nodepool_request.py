#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: nodepool_request
short_description: Ask Nodepool for nodes, keep them for a while, give them back
version_added: 0.1.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Asks for nodes through ZooKeeper as Zuul does, waits until they are there and leases them under a name.
  - The nodes of a lease are held (node state C(hold)) by nobody but the lease's name, so they stay after the module
    has ended, until they are released or O(expires) is over. A requestor that crashes never keeps nodes for ever.
  - The module can be ended at any point. Repeating it with the same O(name) goes on where it was, and once the
    lease is complete it returns the same nodes unchanged.
  - When nodes of a complete lease are gone (expired, deleted, or taken by somebody), the lease is renewed as a
    whole. What is left of it is released, new nodes are asked for, and RV(notices) says so.
extends_documentation_fragment:
  - stackci.nodepool.attributes
  - stackci.nodepool.config
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  name:
    description:
      - Name of the lease, unique in the ZooKeeper tree.
      - It begins with a letter or digit and has up to 128 characters, each a letter, a digit or one of C(._@:+=-).
    type: str
    required: true
  state:
    description:
      - V(present) asks for the nodes and holds them.
      - V(absent) deletes requests that are still waiting and gives the nodes back. A launcher deletes them
        afterwards. Nodes that somebody else has taken over meanwhile are left alone.
    type: str
    choices: [present, absent]
    default: present
  labels:
    description:
      - Labels of one set of nodes, in the order in which they are returned. All nodes of a set come from one pool
        and availability zone.
      - Required when O(state=present).
      - A label that is neither in C(nodepool.yaml) nor offered by a launcher of the ZooKeeper tree is refused, with the
        names that are near. Where O(config) has no labels at all, launchers decide.
      - A lease that exists with other labels or another O(count) is an error.
    type: list
    elements: str
  count:
    description:
      - How many sets to ask for. Each set is a request of its own and may be placed elsewhere.
    type: int
    default: 1
  wait:
    description:
      - Whether to stay until the lease is complete. With V(false) the module asks, takes over what is ready, and
        returns how far it is (RV(complete), RV(requests)). Repeat it to go on.
    type: bool
    default: true
  timeout:
    description:
      - Seconds to wait at most. Then the module fails and returns the last state as C(last_state).
    type: int
    default: 600
  cancel_on_timeout:
    description:
      - Whether to give everything back when O(timeout) is over. By default the requests stay, keep their place in
        the queue, and repeating the task goes on waiting. They are deleted when nobody has come back for them in
        time (the larger of O(timeout) and O(expires)).
    type: bool
    default: false
  priority:
    description:
      - Priority of the requests from 0 (first) to 999. Zuul uses 100, 200 and 300 for high, normal and low.
    type: int
    default: 100
  provider:
    description:
      - Provider to prefer, by its name in C(nodepool.yaml).
    type: str
  tenant:
    description:
      - Tenant on whose account the nodes go, for C(tenant-resource-limits).
    type: str
  expires:
    description:
      - Seconds that the nodes are held from the moment they are taken over. Then a launcher deletes them.
      - No more than C(max-hold-age) of C(nodepool.yaml), after which every held node is deleted; a warning says so.
      - It applies when nodes are taken over. Repeating the task with another value does not touch nodes that are
        held already.
    type: int
    default: 7200
  launch:
    description:
      - Run the launch core in this module while it waits, for those who run no launcher. Where another launcher
        acts on a provider, this one only waits for it.
      - It then ends in good order at a signal, and by itself when C(ansible-playbook) has been killed. What is under
        way is taken up by repeating the task.
      - With O(state=absent) it stays until the servers of the lease are deleted.
      - Has no effect with O(wait=false).
    type: bool
    default: false
  progress_file:
    description:
      - File to which lines of progress are appended. The action plugin of this module sets it and shows the lines
        while the module works, so there is no need to.
    type: path
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
  register: lease

- name: Add them to the inventory
  ansible.builtin.add_host:
    name: "np{{ item.id }}"
    groups: "{{ item.label | replace('-', '_') }}"
    ansible_host: "{{ item.address }}"
    ansible_port: "{{ item.port }}"
    ansible_user: "{{ item.user }}"
  loop: "{{ lease.nodes }}"
  loop_control:
    label: "{{ item.id }}"

- name: Ask for ten single nodes and come back later
  stackci.nodepool.nodepool_request:
    name: swarm
    labels: [debian-small]
    count: 10
    wait: false

- name: Give them back
  stackci.nodepool.nodepool_request:
    name: "acceptance-{{ build_number }}"
    state: absent

- name: Lease a node where no launcher runs
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
  description: Whether all nodes of the lease are held, or with O(state=absent), whether nothing of it is left.
  returned: success
  type: bool
  sample: true
requests:
  description: The request of each set, in order. Empty when O(state=absent) has done its work.
  returned: success
  type: list
  elements: dict
  contains:
    id:
      description: Id of the request, null when it has not been made yet.
      type: str
      sample: 100-0000000012
    state:
      description: C(requested), C(pending), C(fulfilled) or C(failed); empty when it has not been made yet.
      type: str
      sample: fulfilled
    reason:
      description: Why it waits, null when nobody said so.
      type: dict
      contains:
        code:
          description: Word for programs.
          type: str
          sample: no-room
        text:
          description: Sentence for people.
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
    request: {description: Request that it was launched or reused for., type: str, sample: 100-0000000012}
    address: {description: Address to connect to., type: str, sample: 192.0.2.17}
    public_ipv4: {description: Public IPv4 address., type: str, sample: 192.0.2.17}
    private_ipv4: {description: Private IPv4 address., type: str, sample: 10.0.0.17}
    public_ipv6: {description: Public IPv6 address., type: str, sample: ""}
    port: {description: Port to connect to., type: int, sample: 22}
    user: {description: User to connect as., type: str, sample: zuul}
    connection_type: {description: Connection type of the image., type: str, sample: ssh}
    python_path: {description: Python interpreter of the image., type: str, sample: auto}
    shell_type: {description: Shell type of the image., type: str, sample: ""}
    host_keys: {description: Host keys that the launcher saw., type: list, elements: str, sample: [ssh-ed25519 AAAA]}
    provider: {description: Provider that it runs at., type: str, sample: cloud1}
    pool: {description: Pool that it belongs to., type: str, sample: main}
    cloud: {description: Entry of clouds.yaml., type: str, sample: cloud1}
    region: {description: Region., type: str, sample: ""}
    az: {description: Availability zone., type: str, sample: nova}
    external_id: {description: Id of the server in the cloud., type: raw, sample: 0e3f0c5e-7b3f-4c3e-9f5b-1f0e5b8c6a11}
    image_id: {description: Cloud image or the znode path of the upload., type: str, sample: debian-12}
    resources: {description: What it counts in quotas., type: dict, sample: {cores: 2, instances: 1, ram: 4096}}
    attributes: {description: The pool's node-attributes., type: dict, sample: {}}
    expires_at: {description: When it is deleted in seconds since 1970., type: float, sample: 1795205532.8}
notices:
  description: Things worth knowing, such as that the lease was renewed and why.
  returned: success
  type: list
  elements: str
  sample: []
planned:
  description: What would be done and why.
  returned: in check mode
  type: list
  elements: str
  sample: ["ask for a new set of nodes: there is no lease of this name yet"]
last_state:
  description: RV(requests) and RV(nodes) at the end of the time.
  returned: when O(timeout) is over
  type: dict
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.leases.run import LeaseTurn, run_lease
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lease import LeaseSpec
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.leases import outcome_result, progress_line
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.arguments import (
    CONFIG_ARGUMENTS,
    PROGRESS_ARGUMENTS,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.control import controlled
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.progress import Progress

ARGUMENTS: dict[str, Any] = {
    "name": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "labels": {"type": "list", "elements": "str"},
    "count": {"type": "int", "default": 1},
    "wait": {"type": "bool", "default": True},
    "timeout": {"type": "int", "default": 600},
    "cancel_on_timeout": {"type": "bool", "default": False},
    "priority": {"type": "int", "default": 100},
    "provider": {"type": "str"},
    "tenant": {"type": "str"},
    "expires": {"type": "int", "default": 7200},
    "launch": {"type": "bool", "default": False},
    **CONFIG_ARGUMENTS,
    **PROGRESS_ARGUMENTS,
}


def work(module: AnsibleModule) -> dict[str, Any]:
    """One turn of the lease."""
    options = module.params
    spec = LeaseSpec(
        name=options["name"],
        labels=tuple(options["labels"] or ()),
        patience=max(options["timeout"], options["expires"]),
        **{key: options[key] for key in ("count", "priority", "provider", "tenant", "expires")},
    )
    same = ("wait", "timeout", "cancel_on_timeout", "launch", *CONFIG_ARGUMENTS)
    turn = LeaseTurn(spec, present=options["state"] == "present", **{key: options[key] for key in same})
    progress = Progress(options["progress_file"])
    with controlled(wanted=options["launch"] and not module.check_mode) as stop:
        outcome = run_lease(
            turn,
            preview=module.check_mode,
            progress=lambda status: progress.state(progress_line(status)),
            line=progress.line,
            stop=stop,
        )
    for warning in outcome.warnings:
        module.warn(warning)
    return outcome_result(turn, outcome, preview=module.check_mode)


def main() -> None:
    """Entry of the module."""
    run_module(work, ARGUMENTS, required_if=[("state", "present", ("labels",))])


if __name__ == "__main__":
    main()
