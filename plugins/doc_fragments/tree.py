# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of modules that read nodepool.yaml and use the ZooKeeper in it, and of those that call clouds."""

from __future__ import annotations


class ModuleDocFragment:
    """Options with the paths of configuration files, and requirements.

    ``tree.view`` is for modules that show the content of ZooKeeper, ``tree.last`` for those that can show its last
    state, ``tree.offers`` for those that ask clouds on request, ``tree.change`` for modules that change records there,
    ``tree.clouds`` for modules that use ZooKeeper and clouds.
    """

    DOCUMENTATION = r"""
options:
  config:
    description:
      - Path of C(nodepool.yaml), which also has the ZooKeeper servers.
    type: path
    default: /etc/nodepool/nodepool.yaml
    aliases: [nodepool_config]
  secure_config:
    description:
      - Path of Nodepool's secure file (C(secure.conf)). Its C(zookeeper-servers), C(zookeeper-tls) and C(diskimages)
        override those of O(config). Its C(zookeeper-auth) is the account of the module in ZooKeeper.
    type: path
    aliases: [nodepool_secure_config]
  settings:
    description:
      - Path of C(nodepool-settings.yaml), the options that Nodepool does not know. When unset, the file beside
        O(config) is used if there is one; its name is that of O(config) with C(-settings) before C(.yaml).
    type: path
    aliases: [nodepool_settings]
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

    VIEW = r"""
options:
  require_launcher:
    description:
      - Fail when no launcher works on the tree. The failure has the whole result.
      - A launcher that has registered its pools, or did so within the last day, is enough.
    type: bool
    default: true
requirements:
  - kazoo >= 2.9.0
notes:
  - The module reads ZooKeeper once and writes nothing. It takes no lock, sets no watch and registers nothing.
  - Unusable data of other programs is null in the row, and RV(ignore:problems) of the row names it.
"""

    LAST = r"""
options:
  require_zookeeper:
    description:
      - Fail when ZooKeeper cannot be reached, which is also so while its ensemble has no quorum. The failure has the
        whole result, made from the last state that a launcher or the web service of this host has kept, and its age as
        RV(ignore:as_of).
      - With V(false), the module succeeds with that result and a warning. It fails in any case when no state of the
        last week is kept on this host.
    type: bool
    default: true
"""

    OFFERS = r"""
options:
  ask_clouds:
    description:
      - Ask the clouds whether the labels can be launched, as M(stackci.nodepool.nodepool_config_check) does, and return
        the problems as RV(ignore:unusable). A cloud that does not answer is a warning.
    type: bool
    default: false
  clouds_config:
    description:
      - With O(ask_clouds), the path of C(clouds.yaml). When unset, openstacksdk searches for it
        (E(OS_CLIENT_CONFIG_FILE), the current directory, C(~/.config/openstack), C(/etc/openstack)).
    type: path
    aliases: [nodepool_clouds_config]
  api_timeout:
    description:
      - With O(ask_clouds), the seconds without data from the API of a cloud after which the module gives up a call.
    type: float
    default: 10
requirements:
  - openstacksdk >= 4.0.0 (with O(ask_clouds))
"""

    CHANGE = r"""
options: {}
requirements:
  - kazoo >= 2.9.0
notes:
  - The module changes ZooKeeper only. The launcher that acts for the provider notices the change at once and does the
    work in the cloud. When no launcher runs, the next one does it.
"""

    CLOUDS = r"""
options:
  clouds_config:
    description:
      - Path of C(clouds.yaml). When unset, openstacksdk searches for it (E(OS_CLIENT_CONFIG_FILE), the current
        directory, C(~/.config/openstack), C(/etc/openstack)).
    type: path
    aliases: [nodepool_clouds_config]
requirements:
  - openstacksdk >= 4.0.0
  - asyncssh >= 2.14
  - kazoo >= 2.9.0
"""
