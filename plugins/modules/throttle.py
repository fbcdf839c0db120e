#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ends freezes and breakers."""

from __future__ import annotations

DOCUMENTATION = r"""
module: throttle
short_description: End a freeze or a breaker of a provider
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Ends freezes of pools, which follow refused creates, or breakers, which follow failed launches. The acting launcher
    then launches again at once. It begins with few creates in parallel, as after a freeze that ends by itself.
  - The module ends only freezes and breakers that are in force. When the cloud refuses again, or launches fail again, a
    new freeze or breaker begins.
options:
  provider:
    description:
      - The provider.
    type: str
    required: true
  kind:
    description:
      - Whether to end freezes or breakers.
    type: str
    choices: [freeze, breaker]
    required: true
  state:
    description:
      - V(absent) ends them.
    type: str
    choices: [absent]
    default: absent
  pools:
    description:
      - End only freezes of these pools. When empty, of all pools of O(provider).
    type: list
    elements: str
    default: []
  resources:
    description:
      - End only freezes for these resources. When empty, for all.
    type: list
    elements: str
    choices: [instances, cores, ram, volumes, volume-gb, ports, floating-ips]
    default: []
  images:
    description:
      - End only breakers for these images. When empty, for all.
    type: list
    elements: str
    default: []
  flavors:
    description:
      - End only breakers for these flavors. When empty, for all.
    type: list
    elements: str
    default: []
extends_documentation_fragment:
  - stackci.nodepool.tree
  - stackci.nodepool.tree.change
  - stackci.nodepool.attributes
  - stackci.nodepool.attributes.change
seealso:
  - module: stackci.nodepool.provider_info
"""

EXAMPLES = r"""
- name: End the freezes after the operators of the cloud have raised the hidden limit
  stackci.nodepool.throttle:
    provider: west
    kind: freeze

- name: End the breakers after the flavor fits on a host again
  stackci.nodepool.throttle:
    provider: east
    kind: breaker
    flavors: [large]
"""

RETURN = r"""
ended:
  description: The freezes or breakers that were ended, or would be in check mode. All keys are always there.
  returned: success
  type: list
  elements: dict
  contains:
    pool:
      description: The pool of a freeze, null for a breaker.
      type: str
    resource:
      description: The resource of a freeze, null for a breaker.
      type: str
    image:
      description: The image of a breaker, null for a freeze.
      type: str
    flavor:
      description: The flavor of a breaker, null for a freeze.
      type: str
    ends_in:
      description: Seconds after which it would have ended by itself.
      type: float
    text:
      description: The cloud's message, or how the last launch failed.
      type: str
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.acting import THROTTLE_ARGUMENTS, throttle
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module


def main() -> None:
    """Entry point."""
    run_module(throttle, THROTTLE_ARGUMENTS)


if __name__ == "__main__":
    main()
