#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks a nodepool.yaml."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nodepool_config_check
short_description: Check nodepool.yaml, by itself and against its clouds
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Reads C(nodepool.yaml) as launcher and builder do and fails with all its problems.
  - Then the module looks up every label of every pool in its cloud. Flavor, image, networks, keypair, security groups
    and availability zones must exist, and one node must fit into the quota and the limits of its pool. Pools with
    C(max-servers) 0 are left out.
  - The module does not read ZooKeeper and changes nothing in the clouds. It does not check whether disk images are
    uploaded, but names those that were uploaded and that no server can be made of, such as deactivated ones.
options:
  offline:
    description:
      - Check the files only. The module calls no cloud and needs no C(clouds.yaml). Use this option in the CI of a
        configuration repository.
      - If I(secure_config) is not given either, the module warns about missing C(zookeeper-servers) instead of failing,
        because C(secure.conf) is usually not in that repository.
    type: bool
    default: false
  providers:
    description:
      - Check only the clouds of these providers. When unset, check all clouds.
    type: list
    elements: str
  api_timeout:
    description:
      - Seconds without data from the API of a cloud after which the module gives up a call.
    type: float
    default: 30
extends_documentation_fragment:
  - stackci.nodepool.tree
  - stackci.nodepool.tree.clouds
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
- name: Check the file in the CI of its repository
  stackci.nodepool.nodepool_config_check:
    config: nodepool.yaml
    offline: true
    strict_config: true

- name: Check that the clouds have what the labels need
  stackci.nodepool.nodepool_config_check:
    config: /etc/nodepool/nodepool.yaml
    secure_config: /etc/nodepool/secure.conf
"""

RETURN = r"""
labels:
  description: Number of labels that the pools offer.
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
  description: The providers and labels that cannot be used, each with what to do. The module fails unless it is empty.
  returned: always
  type: list
  elements: str
  sample:
    - >-
      cloud1/main is not usable for label small: the cloud has no network named 'nonet'; it offers net-a, net-b: correct
      networks of the pool
unchecked:
  description: What the module could not check because the cloud does not show it.
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
