# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the modules that work on ZooKeeper and with clouds have in common, besides ``tree``."""

from __future__ import annotations


class ModuleDocFragment:
    """What the modules that work on ZooKeeper and with clouds have in common, besides ``tree``."""

    DOCUMENTATION = r"""
options:
  clouds_config:
    description:
      - Path of C(clouds.yaml). When unset, openstacksdk searches for it (E(OS_CLIENT_CONFIG_FILE), the current
        directory, C(~/.config/openstack), C(/etc/openstack)).
    type: path
requirements:
  - openstacksdk >= 4.0.0
  - asyncssh >= 2.14
  - kazoo >= 2.9.0
"""
