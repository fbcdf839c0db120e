#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows who used what."""

from __future__ import annotations

DOCUMENTATION = r"""
module: usage_info
short_description: Show who used how many node-hours, and what ready nodes cost and saved
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Adds up the node-hours, nodes and waits of a period by tenant, project, job, label, provider or pool.
  - Launchers count the life of each node when it is gone. Nodes that exist are added with what they have used so far.
  - A node-hour is an hour in which a server exists, from the accepted create until the server is gone.
  - The module changes nothing.
options:
  days:
    description:
      - The number of days (UTC), of which the last is O(last). Without effect if O(first) is given.
      - Launchers keep 62 days.
    type: int
    default: 7
  first:
    description:
      - The first day, such as V(2026-11-01).
    type: str
  last:
    description:
      - The last day. When unset, it is today.
    type: str
  group_by:
    description:
      - What the rows are for. With V(day) each day has its own rows.
    type: list
    elements: str
    default: [tenant]
    choices: [day, tenant, project, job, label, provider, pool]
  tenants:
    description:
      - Count only these tenants. When empty, count all.
      - An empty name stands for the time in which nobody had a node, and for requestors that name no tenant.
    type: list
    elements: str
    default: []
  projects:
    description:
      - Count only these projects. When empty, count all.
    type: list
    elements: str
    default: []
  jobs:
    description:
      - Count only these jobs. When empty, count all.
    type: list
    elements: str
    default: []
  labels:
    description:
      - Count only these labels. When empty, count all.
    type: list
    elements: str
    default: []
  providers:
    description:
      - Count only these providers. When empty, count all.
    type: list
    elements: str
    default: []
  pools:
    description:
      - Count only pools with one of these names. When empty, count all.
    type: list
    elements: str
    default: []
extends_documentation_fragment:
  - stackci.nodepool.tree
  - stackci.nodepool.tree.view
  - stackci.nodepool.tree.last
  - stackci.nodepool.attributes
  - stackci.nodepool.attributes.info
notes:
  - Project and job are those that Zuul writes into its records (RV(ignore:user_data) of the node,
    RV(ignore:requestor_data) of the request). Other requestors have none.
seealso:
  - module: stackci.nodepool.node_info
  - module: stackci.nodepool.label_info
"""

EXAMPLES = r"""
- name: Add up the usage of the last 30 days by tenant and label
  stackci.nodepool.usage_info:
    days: 30
    group_by: [tenant, label]
  register: used

- name: Show who used most
  ansible.builtin.debug:
    msg: "{{ item.tenant or 'nobody' }}, {{ item.label }}: {{ item.hours }} h, {{ item.idle_hours }} h of them idle"
  loop: "{{ used.rows }}"
  loop_control:
    label: "{{ item.tenant }}"

- name: Add up each day of the last week by tenant and project
  stackci.nodepool.usage_info:
    group_by: [day, tenant, project]
  register: each_day

- name: Write it into a file for a spreadsheet
  ansible.builtin.copy:
    content: "{{ each_day.csv }}"
    dest: "{{ playbook_dir }}/usage.csv"
    mode: "0644"

- name: Show what ready nodes cost and saved
  ansible.builtin.debug:
    msg: "{{ item.label }}: {{ item.idle_hours }} h idle saved {{ item.saved_seconds or 0 }} s of waiting"
  loop: "{{ used.warmth }}"
  loop_control:
    label: "{{ item.label }}"
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
first:
  description: The first day that was counted (UTC).
  returned: success
  type: str
  sample: "2026-11-19"
last:
  description: The last day that was counted.
  returned: success
  type: str
  sample: "2026-11-25"
since:
  description: UNIX time at which the first day began.
  returned: success
  type: float
  sample: 1795046400.0
rows:
  description:
    - One for each value of what O(group_by) names, that with the most hours first. All keys are always there; what
      O(group_by) does not name is null.
    - With V(day) in O(group_by) the rows are sorted by day first.
  returned: success
  type: list
  elements: dict
  contains:
    day:
      description: The day, null unless O(group_by) has it.
      type: str
    tenant:
      description:
        - The tenant, null unless O(group_by) has it.
        - Empty for the time in which nobody had a node, and for requestors that name no tenant. V(others) stands for
          what goes beyond 600 rows a day.
      type: str
    project:
      description: The project, as Zuul names it; null unless O(group_by) has it.
      type: str
    job:
      description: The job; null unless O(group_by) has it.
      type: str
    label:
      description: The label; null unless O(group_by) has it.
      type: str
    provider:
      description: The provider; null unless O(group_by) has it.
      type: str
    pool:
      description: The pool; null unless O(group_by) has it.
      type: str
    hours:
      description: Hours in which servers existed, the sum of the next six.
      type: float
    used_hours:
      description: Hours from the hand-over of nodes to their requestor until it was done with them.
      type: float
    idle_hours:
      description: Hours in which nodes were ready and nobody had them.
      type: float
    building_hours:
      description: Hours from the create of servers until their nodes were ready.
      type: float
    thrown_away_hours:
      description: Hours of servers that never became a node.
      type: float
    held_hours:
      description: Hours in which nodes were held.
      type: float
    deleting_hours:
      description: Hours from the end of use until the servers were gone.
      type: float
    nodes:
      description: Nodes, each on its last day.
      type: int
    servers:
      description: Servers that were made for these nodes; more than RV(rows[].nodes) when attempts failed.
      type: int
    warm:
      description: Nodes that were ready before their request.
      type: int
    cold:
      description: Nodes that were launched for their request.
      type: int
    warm_wait_seconds:
      description: How long requests waited for a node of the first kind, in the mean; null when there is none.
      type: float
    cold_wait_seconds:
      description: The same for the second kind.
      type: float
  sample:
    - day: null
      tenant: openstack
      project: null
      job: null
      label: null
      provider: null
      pool: null
      hours: 412.5
      used_hours: 371.25
      idle_hours: 0.0
      building_hours: 20.5
      thrown_away_hours: 3.25
      held_hours: 12.0
      deleting_hours: 5.5
      nodes: 611
      servers: 640
      warm: 207
      cold: 404
      warm_wait_seconds: 0.4
      cold_wait_seconds: 131.2
total:
  description: The same figures for all rows together.
  returned: success
  type: dict
  sample: {hours: 412.5, used_hours: 371.25, nodes: 611, servers: 640}
warmth:
  description:
    - What ready nodes (C(min-ready)) cost and saved, by label, that with the most idle hours first.
  returned: success
  type: list
  elements: dict
  contains:
    label:
      description: The label.
      type: str
    min_ready:
      description: C(min-ready) of the configuration; null when the label is not in it.
      type: int
    idle_hours:
      description: Hours in which nodes were ready and nobody had them.
      type: float
    warm:
      description: Nodes that were ready before their request.
      type: int
    warm_wait_seconds:
      description: How long requests waited for one of them, in the mean; null when there is none.
      type: float
    cold:
      description: Nodes that were launched for their request.
      type: int
    cold_wait_seconds:
      description: How long requests waited for one of them, in the mean; null when there is none.
      type: float
    saved_seconds:
      description:
        - By how much the nodes that were ready came sooner than the others, all together; null unless there are both.
      type: float
    saved_per_idle_hour:
      description: Seconds of waiting that an idle hour has saved; null when nothing was saved or nothing was idle.
      type: float
  sample:
    - label: debian-12
      min_ready: 4
      idle_hours: 31.5
      warm: 207
      warm_wait_seconds: 0.4
      cold: 404
      cold_wait_seconds: 131.2
      saved_seconds: 27075.6
      saved_per_idle_hour: 859.5
budgets:
  description:
    - What was used of the budgets in C(nodepool-settings.yaml), today and in this month (UTC), whatever O(first) and
      O(last) say.
  returned: success
  type: list
  elements: dict
  contains:
    tenant:
      description: The tenant.
      type: str
    period:
      description: V(day) or V(month).
      type: str
    hours:
      description: Its node-hours.
      type: float
    budget:
      description: The node-hours that it should not exceed.
      type: int
    exceeded:
      description: Whether it has exceeded them. Nothing is enforced.
      type: bool
  sample:
    - {tenant: openstack, period: month, hours: 10412.5, budget: 10000, exceeded: true}
csv:
  description: The rows as text (RFC 4180) with a line of names.
  returned: success
  type: str
  sample: "tenant,hours,used_hours,...\r\nopenstack,412.5,371.25,...\r\n"
problems:
  description: A sentence for each stored document that cannot be used and is not counted.
  returned: success
  type: list
  elements: str
  sample: []
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.usage_showing import (
    USAGE_INFO_ARGUMENTS,
    usage_info,
)


def main() -> None:
    """Entry point."""
    run_module(usage_info, USAGE_INFO_ARGUMENTS)


if __name__ == "__main__":
    main()
