# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that name nodepool.yaml, and with it the ZooKeeper."""

from __future__ import annotations


class ModuleDocFragment:
    """Options that name nodepool.yaml. ``tree_view``, ``tree_change`` and ``config`` add what else a module needs."""

    DOCUMENTATION = r"""
options:
  config:
    description:
      - Path of C(nodepool.yaml), which names the ZooKeeper as well.
    type: path
    default: /etc/nodepool/nodepool.yaml
  secure_config:
    description:
      - Path of Nodepool's secure file (C(secure.conf)). Its C(zookeeper-servers), C(zookeeper-tls) and C(diskimages)
        override those of O(config).
    type: path
  strict_config:
    description:
      - Make an unknown key in the configuration an error instead of a warning.
    type: bool
    default: false
requirements:
  - python >= 3.11
  - jsonschema >= 4.10
  - PyYAML >= 6.0
"""
