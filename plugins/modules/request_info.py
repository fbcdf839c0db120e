#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists requests and explains one."""

from __future__ import annotations

DOCUMENTATION = r"""
module: request_info
short_description: List node requests, and explain why one waits
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Lists the node requests in ZooKeeper with the columns of Nodepool's C(nodepool request-list), in the order in which
    they are served, each with its place in the queue and the reason why it waits.
  - For the requests in O(ids) the module also returns an explanation.
  - The module changes nothing.
options:
  ids:
    description:
      - List only these requests, and return RV(explanations) for them.
      - When empty, list all.
    type: list
    elements: str
    default: []
  states:
    description:
      - List only requests in these states. When empty, in any state.
    type: list
    elements: str
    default: []
    choices: [failed, fulfilled, pending, requested]
  labels:
    description:
      - List only requests that want one of these labels. When empty, list all.
    type: list
    elements: str
    default: []
  providers:
    description:
      - List only requests that prefer one of these providers. When empty, list all.
    type: list
    elements: str
    default: []
  requestors:
    description:
      - List only requests of these requestors. When empty, of all.
    type: list
    elements: str
    default: []
  older_than:
    description:
      - List only requests that were made at least this many seconds ago.
    type: float
    default: 0
extends_documentation_fragment:
  - stackci.nodepool.tree
  - stackci.nodepool.tree.view
  - stackci.nodepool.tree.last
  - stackci.nodepool.attributes
  - stackci.nodepool.attributes.info
seealso:
  - module: stackci.nodepool.node_info
  - module: stackci.nodepool.node_launch
"""

EXAMPLES = r"""
- name: Read the requests that have been waiting for ten minutes
  stackci.nodepool.request_info:
    states: [requested]
    older_than: 600
  register: waiting

- name: Show them
  ansible.builtin.debug:
    msg: "{{ item.place }} {{ item.id }} {{ item.labels | join(', ') }}: {{ item.reason.text | default('not said') }}"
  loop: "{{ waiting.requests }}"
  loop_control:
    label: "{{ item.id }}"

- name: Read why one request waits
  stackci.nodepool.request_info:
    ids: [100-0000000011]
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
requests:
  description: The requests, in the order in which they are served. All keys are always there.
  returned: success
  type: list
  elements: dict
  contains:
    id:
      description: The id of the request.
      type: str
    priority:
      description: The priority in the id. Requests with a smaller number are served first.
      type: int
    relative_priority:
      description: The priority among requests of the same RV(requests[].priority), Nodepool's column Priority. Requests
        with a smaller number are served first.
      type: int
    state:
      description: The state, null when the record does not have it.
      type: str
    age:
      description: Seconds since the request came into that state, null when the record does not have it.
      type: float
    age_text:
      description: The same as C(DD:HH:MM:SS), null when the record does not have it.
      type: str
    created_age:
      description: Seconds since the request was made, null when the record does not have it.
      type: float
    requestor:
      description: The requestor, null when the record does not have it.
      type: str
    labels:
      description: The labels of the requested nodes.
      type: list
      elements: str
    nodes:
      description: The nodes that were allocated to the request.
      type: list
      elements: str
    declined_by:
      description: The ids of the pools that have declined the request.
      type: list
      elements: str
    event_id:
      description: The id that its requestor gave the event, null for none.
      type: str
    provider:
      description: The preferred provider, null for any.
      type: str
    tenant:
      description: The tenant whose limits count, null for none.
      type: str
    locked:
      description: Whether a launcher works on the request.
      type: bool
    place:
      description: Its place in the queue, from 1, null when it does not wait in the queue.
      type: int
    reason:
      description: Why the request waits, was declined or failed, as a launcher has stored it, null when none has.
      type: dict
      contains:
        code:
          description: A code of docs/operating.md, or V(declined) or V(failed).
          type: str
        text:
          description: The same as a sentence.
          type: str
        since:
          description: UNIX time since which the request waits for this reason, null when that is not stored.
          type: float
        age:
          description: Seconds since the launcher wrote the reason, null when unknown.
          type: float
    problems:
      description: Fields of the record that cannot be used.
      type: list
      elements: str
  sample:
    - id: 100-0000000011
      priority: 100
      relative_priority: 0
      state: requested
      age: 300.2
      age_text: "00:00:05:00"
      created_age: 300.2
      requestor: zuul
      labels: [small, small]
      nodes: []
      declined_by: []
      event_id: 4c1f5e5c6c7b4e7f9a38f4a1e0f3c2d1
      provider: null
      tenant: t1
      locked: false
      place: 1
      reason:
        code: no-room
        text: 2 instances needed, 1 left in west/main
        since: 1795198082.0
        age: 5.1
      problems: []
explanations:
  description: An explanation of each request of O(ids) that matches the other options. All keys are always there.
  returned: O(ids) is given
  type: list
  elements: dict
  contains:
    id:
      description: Id of the request.
      type: str
    state:
      description: State of the request, null when the record does not have it.
      type: str
    summary:
      description: A sentence about the state of the request.
      type: str
    place:
      description: Its place in the queue, from 1, null when it does not wait in the queue.
      type: int
    ahead:
      description: The first ten requests before it in the queue.
      type: list
      elements: str
    ahead_count:
      description: Number of requests before it in the queue.
      type: int
    behind:
      description: Those of them that wait for the same pool or tenant, ten at most.
      type: list
      elements: str
    waits_for:
      description: Why the request waits or its launches make no progress, null when no launcher has stored a reason.
      type: str
    since:
      description: UNIX time since which this is the reason, null when unknown.
      type: float
    owner:
      description:
        - Whose fault it is that the request waits or has failed, for example V(account), V(capacity) or V(cloud), null
          when nothing stored tells it.
      type: str
    providers:
      description: The providers where nodes are launched or kept for it.
      type: list
      elements: str
    attempts:
      description: How many attempts to launch its nodes were begun, also in pools from which it was taken back.
      type: int
    moves:
      description: How often a launcher took the request back from a pool that made no progress with it.
      type: int
    thrown_away:
      description: How many creates or servers were given up for it, by attempts that failed and by moves.
      type: int
    unblocked_by:
      description: What would end the wait, null when unknown.
      type: str
    pools:
      description: The reason of each known pool.
      type: list
      elements: dict
      contains:
        id:
          description: Id of the pool.
          type: str
        pool:
          description: Provider and name of the pool.
          type: str
        registered:
          description: Whether a launcher has registered the pool now.
          type: bool
        declined:
          description: Whether the pool has declined the request.
          type: bool
        code:
          description: A code of docs/operating.md, or V(absent), V(foreign), V(unsaid) or V(declined).
          type: str
        text:
          description: The same as a sentence.
          type: str
        figures:
          description: The numbers in the text.
          type: dict
        as_of:
          description: Seconds since the launcher wrote the figures, null without figures.
          type: float
    nodes:
      description: The nodes of the request with their launches.
      type: list
      elements: dict
      contains:
        id:
          description: Id of the node.
          type: str
        provider:
          description: The provider, null when the record does not have it.
          type: str
        state:
          description: The state, null when the record does not have it.
          type: str
        phase:
          description: The phase of the launch, null when there is no record of the launch.
          type: str
        phase_age:
          description: Seconds since the launch came into that phase, null when there is no record of the launch.
          type: float
        attempt:
          description: The number of the present attempt, null when there is no record of the launch.
          type: int
        failures:
          description: Why earlier attempts failed.
          type: list
          elements: str
        trouble:
          description: Why the latest attempt made no progress, null once a later one does.
          type: str
        owner:
          description: Whose fault that was, null without RV(explanations[].nodes[].trouble).
          type: str
        thrown_away:
          description: How many servers of the node were given up.
          type: int
        created_at:
          description: UNIX time at which the cloud accepted the create of the server, null before that.
          type: float
        in_flight:
          description: Whether the launch is in progress.
          type: bool
        adopted:
          description: How often a later cycle of the launcher has continued the launch.
          type: int
        adopted_at:
          description: UNIX time of the last adoption, null when there was none.
          type: float
    history:
      description: The events of the request, as far as they are stored.
      type: list
      elements: dict
      contains:
        event:
          description: >-
            V(requested), V(declined), V(taken back) from a pool that did not make progress with it, V(waits),
            V(attempt failed), V(adopted) by a later cycle of the launcher, V(node), or the state.
          type: str
        age:
          description: Seconds since the event, null when the time is not stored.
          type: float
        age_text:
          description: The same as C(DD:HH:MM:SS), null when the time is not stored.
          type: str
        text:
          description: A sentence about the event.
          type: str
    builds:
      description:
        - A sentence about each build of a disk image where nodes of the request are made, if launches from it failed
          lately or it is not used any more, also if the nodes are made from another build.
      type: list
      elements: str
    expected_seconds:
      description: Estimated seconds until the request is fulfilled, null when there is no estimate.
      type: float
    expected:
      description: The basis of the estimate, or why there is none.
      type: str
  sample:
    - id: 100-0000000011
      state: requested
      summary: "it waits at place 1 in the queue: 2 instances needed, 1 left in west/main"
      waits_for: 2 instances needed, 1 left in west/main
      unblocked_by: nodes are released, or the limit of the pool or the quota of the cloud is raised
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.looking import (
    REQUEST_INFO_ARGUMENTS,
    request_info,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module


def main() -> None:
    """Entry point."""
    run_module(request_info, REQUEST_INFO_ARGUMENTS)


if __name__ == "__main__":
    main()
