#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows a nodepool.yaml as it is meant."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nodepool_config_info
short_description: Validate nodepool.yaml and show the effective value of every option
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Reads C(nodepool.yaml), and C(nodepool-settings.yaml) if there is one, as launcher and builder do and fails with all
    their problems.
  - Then returns every option of every section with its effective value and the origin of the value. The origin is the
    section itself, a section above it, a parent of a diskimage, the label of the same name, the secure file or the
    default.
  - Values that may be secret are masked. These are values of C(env-vars), C(userdata), C(metadata), C(meta),
    C(instance-properties), C(dynamic-instance-properties) and C(node-attributes), and all values that come from the
    environment.
  - The module does not read ZooKeeper or call a cloud, and changes nothing.
options:
  sections:
    description:
      - Return only these sections, as RV(settings[].section) names them. When empty, return all.
    type: list
    elements: str
    default: []
  only_given:
    description:
      - Leave out options that have their default.
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
- name: Read the effective options of one pool
  stackci.nodepool.nodepool_config_info:
    config: nodepool.yaml
    sections: ["providers[cloud1].pools[main]"]
  register: pool

- name: Show them
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
  description: Parts of the configuration that were ignored, each as a sentence.
  returned: success
  type: list
  elements: str
  sample: []
other_providers:
  description: The providers of other drivers, which are ignored.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The name of the provider.
      type: str
    driver:
      description: The driver of the provider.
      type: str
  sample:
    - {name: cluster1, driver: kubernetes}
settings:
  description:
    - The options of each section, in the order of the file. Providers of other drivers are left out.
    - All keys are always there.
  returned: success
  type: list
  elements: dict
  contains:
    section:
      description: The section that has the option, V(top) for the top level of the file.
      type: str
    option:
      description: The name of the option.
      type: str
    value:
      description: The effective value, null for none and for no limit.
      type: raw
    origin:
      description: >-
        The origin of the value. V(default), V(secure file), or the kind of section that has it, V(top), V(webapp),
        V(label), V(diskimage), V(cloud-image), V(provider), V(pool), or C(diskimage) with the name of a parent, or
        C(label) with the name of a label whose value its entry in a pool has.
      type: str
    file:
      description: The path of the file that gives the value, null for defaults.
      type: str
    line:
      description: The line of the option in the file, null for defaults and for the secure file.
      type: int
  sample:
    - {section: "providers[cloud1].pools[main]", option: max-servers, value: 10, origin: pool, file: n.yaml, line: 23}
    - {section: "providers[cloud1].pools[main]", option: priority, value: 50, origin: provider, file: n.yaml, line: 14}
    - {section: "providers[cloud1].pools[main]", option: networks, value: [], origin: default, file: null, line: null}
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.config_showing import (
    CONFIG_INFO_ARGUMENTS,
    show,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module


def main() -> None:
    """Entry point."""
    run_module(show, CONFIG_INFO_ARGUMENTS)


if __name__ == "__main__":
    main()
