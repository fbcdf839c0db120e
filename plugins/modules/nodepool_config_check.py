#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks a nodepool.yaml."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nodepool_config_check
short_description: Check nodepool.yaml, by itself and against its clouds
version_added: 0.1.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Reads C(nodepool.yaml) as launcher and builder do and fails with everything that is wrong with it.
  - Then every label of every pool is looked up in what its cloud offers, whether or not somebody asks for it. Flavor,
    image, networks, keypair, security groups and availability zones must be there, and one node must fit into the quota
    and into the limits of its pool. Pools with C(max-servers) 0 are left out.
  - ZooKeeper is not asked, and the clouds are only read. Disk images are the builder's work; whether they are
    uploaded is not looked at.
options:
  offline:
    description:
      - Look at the files alone; no cloud is asked and no C(clouds.yaml) is needed. For the CI of a configuration
        repository.
    type: bool
    default: false
  providers:
    description:
      - Ask only the clouds of these providers. When unset, of all.
    type: list
    elements: str
  api_timeout:
    description:
      - Seconds for which the API of a cloud may say nothing before a call is given up.
    type: float
    default: 30
extends_documentation_fragment:
  - stackci.nodepool.config
  - stackci.nodepool.attributes
attributes:
  check_mode:
    support: full
    details:
      - The module never changes anything.
  diff_mode:
    support: none
  idempotent:
    support: full
seealso:
  - module: stackci.nodepool.node_launch
"""

EXAMPLES = r"""
- name: Is the file right? In the CI of the repository that it comes from
  stackci.nodepool.nodepool_config_check:
    config: nodepool.yaml
    offline: true
    strict_config: true

- name: Do the clouds have what the labels ask for?
  stackci.nodepool.nodepool_config_check:
    config: /etc/nodepool/nodepool.yaml
    secure_config: /etc/nodepool/secure.conf
"""

RETURN = r"""
labels:
  description: How many labels the pools offer in all.
  returned: always
  type: int
  sample: 12
providers:
  description: Whether each provider could be used, and if not, why and what to do.
  returned: always
  type: dict
  sample:
    cloud1: {reached: true}
unusable:
  description: What cannot be used, each with what to do. The module fails unless it is empty.
  returned: always
  type: list
  elements: str
  sample:
    - >-
      cloud1/main is not usable for label small: the cloud has no network named 'nonet'; it offers net-a, net-b: correct
      networks of the pool
unchecked:
  description: What a cloud does not show; nothing is known to be wrong with it.
  returned: always
  type: list
  elements: str
  sample: []
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.config_checking import (
    CONFIG_CHECK_ARGUMENTS,
    check,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module


def main() -> None:
    """Entry point."""
    run_module(check, CONFIG_CHECK_ARGUMENTS)


if __name__ == "__main__":
    main()
