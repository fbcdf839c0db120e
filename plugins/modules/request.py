#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deletes node requests."""

from __future__ import annotations

DOCUMENTATION = r"""
module: request
short_description: Delete node requests
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Deletes requests from ZooKeeper, as requestors do to cancel them. The launcher that works on a request takes its
    nodes back. It completes launches that have begun, and other requests get the nodes.
  - The module refuses to delete a fulfilled request whose requestor has already locked nodes, and a request that
    belongs to a lease.
  - When another program deletes a request of Zuul, Zuul makes a new one. To end the request for good, dequeue the
    change in Zuul.
options:
  ids:
    description:
      - The requests. The id of a request that no longer exists is accepted.
    type: list
    elements: str
    required: true
    aliases: [id]
  state:
    description:
      - V(absent) deletes the requests.
    type: str
    choices: [absent]
    required: true
extends_documentation_fragment:
  - stackci.nodepool.tree
  - stackci.nodepool.tree.change
  - stackci.nodepool.attributes
  - stackci.nodepool.attributes.change
seealso:
  - module: stackci.nodepool.request_info
  - module: stackci.nodepool.nodepool_request
"""

EXAMPLES = r"""
- name: Read why the request waits
  stackci.nodepool.request_info:
    ids: [100-0000000042]

- name: Delete it
  stackci.nodepool.request:
    id: 100-0000000042
    state: absent
"""

RETURN = r"""
requests:
  description: The requests, in the order of O(ids). Also in the result of a failure. All keys are always there.
  returned: success
  type: list
  elements: dict
  contains:
    id:
      description: The id of the request.
      type: str
    changed:
      description: Whether the request was deleted, or would be in check mode.
      type: bool
    state_before:
      description: The state before, null when the request did not exist or its record cannot be read.
      type: str
    requestor:
      description: The requestor, null when the record does not have it.
      type: str
    freed:
      description: The nodes that were allocated to the request. They are free now, or when their launches are complete.
      type: list
      elements: str
    refusal:
      description: Why the request was not deleted, null when that was not refused.
      type: str
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.acting import REQUEST_ARGUMENTS, request
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module


def main() -> None:
    """Entry point."""
    run_module(request, REQUEST_ARGUMENTS)


if __name__ == "__main__":
    main()
