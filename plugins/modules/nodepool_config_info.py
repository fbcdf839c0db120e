#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows a nodepool.yaml as it is meant."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nodepool_config_info
short_description: Validate nodepool.yaml and show the effective value of every option
version_added: 0.1.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Reads C(nodepool.yaml) as launcher and builder do and fails with everything that is wrong with it.
  - Then shows every option of every section with the value that is in force and where it comes from. That is the
    section itself, a section above it, a parent of a diskimage, the secure file or the default.
  - Values that may be secret are masked. These are values of C(env-vars), C(userdata), C(metadata), C(meta),
    C(instance-properties), C(dynamic-instance-properties) and C(node-attributes), and whatever came from the
    environment.
  - Neither ZooKeeper nor a cloud is asked. Nothing is changed.
options:
  sections:
    description:
      - Only these sections, as RV(settings[].section) names them. When empty, all.
    type: list
    elements: str
    default: []
  only_given:
    description:
      - Leave out what has its default.
    type: bool
    default: false
extends_documentation_fragment:
  - stackci.nodepool.tree
  - stackci.nodepool.attributes
  - stackci.nodepool.attributes.info
seealso:
  - module: stackci.nodepool.nodepool_config_check
"""

EXAMPLES = r"""
- name: What is in force for this pool?
  stackci.nodepool.nodepool_config_info:
    config: nodepool.yaml
    sections: ["providers[cloud1].pools[main]"]
  register: pool

- name: Show it
  ansible.builtin.debug:
    msg: "{{ item.option }}: {{ item.value }} ({{ item.origin }})"
  loop: "{{ pool.settings }}"
  loop_control:
    label: "{{ item.option }}"
"""

RETURN = r"""
file:
  description: The path of the configuration.
  returned: success
  type: str
  sample: /etc/nodepool/nodepool.yaml
problems:
  description: What was ignored of the configuration.
  returned: success
  type: list
  elements: str
  sample: []
settings:
  description:
    - The options of each section, in the order of the file. Providers of other drivers are left out.
    - All keys are always there.
  returned: success
  type: list
  elements: dict
  contains:
    section:
      description: Where the option is, V(top) for the top level of the file.
      type: str
    option:
      description: Its name.
      type: str
    value:
      description: The value in force, null for none and for no limit.
      type: raw
    origin:
      description: >-
        Where it comes from. V(default), V(secure file), or the kind of section that has it, V(top), V(webapp),
        V(label), V(diskimage), V(cloud-image), V(provider), V(pool), or C(diskimage) with the name of a parent.
      type: str
    line:
      description: The line of the file where it stands, null for defaults and for the secure file.
      type: int
  sample:
    - {section: "providers[cloud1].pools[main]", option: max-servers, value: 10, origin: pool, line: 23}
    - {section: "providers[cloud1].pools[main]", option: priority, value: 50, origin: provider, line: 14}
    - {section: "providers[cloud1].pools[main]", option: auto-floating-ip, value: true, origin: default, line: null}
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.config_checking import (
    CONFIG_INFO_ARGUMENTS,
    show,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module


def main() -> None:
    """Entry point."""
    run_module(show, CONFIG_INFO_ARGUMENTS)


if __name__ == "__main__":
    main()
