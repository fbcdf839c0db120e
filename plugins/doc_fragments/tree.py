# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the modules that work on ZooKeeper only."""

from __future__ import annotations


class ModuleDocFragment:
    """Options of the modules that work on ZooKeeper only."""

    DOCUMENTATION = r"""
options:
  config:
    description:
      - Path of the C(nodepool.yaml) that names the ZooKeeper.
    type: path
    default: /etc/nodepool/nodepool.yaml
  secure_config:
    description:
      - Path of Nodepool's secure file (C(secure.conf)), whose C(zookeeper-servers), C(zookeeper-tls) and C(diskimages)
        are laid over O(config).
    type: path
  strict_config:
    description:
      - Treat a key that the configuration does not know as an error instead of a warning.
    type: bool
    default: false
requirements:
  - python >= 3.11
  - kazoo >= 2.9.0
  - jsonschema >= 4.10
  - PyYAML >= 6.0
"""
