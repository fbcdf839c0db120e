#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Converts nodepool.yaml to the objects of zuul-launcher."""

from __future__ import annotations

DOCUMENTATION = r"""
module: zuul_config
short_description: Convert nodepool.yaml to images, flavors, labels, sections and providers of Zuul
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Writes the labels, images and providers of C(nodepool.yaml) as zuul-launcher of Zuul 14.3 reads them from a
    repository. Each pool becomes a section and a provider.
  - Says what Zuul does not have, or does differently. A label that cannot be converted at a provider is left out there.
  - Zuul needs names of flavors and ids of images. For labels with C(min-ram), and for cloud images without
    C(image-id), the module asks the clouds, as the launcher does.
  - All disk images of a provider become images of type C(zuul), also those without a label, because zuul-launcher
    deletes imported uploads of images that a provider does not have. M(stackci.nodepool.image_data) with C(form=zuul)
    gives zuul-launcher the uploads of this builder.
options:
  path:
    description:
      - The file to write, on the host where the module runs. Comments at its top say what C(zuul.conf) needs, and what
        could not be converted. When unset, nothing is written.
    type: path
  offline:
    description:
      - Ask no cloud. Labels that need an answer of a cloud are left out, and told.
    type: bool
    default: false
  api_timeout:
    description:
      - Seconds without data from the API of a cloud after which the module gives up a call.
    type: float
    default: 30
extends_documentation_fragment:
  - stackci.nodepool.tree
  - stackci.nodepool.tree.clouds
  - stackci.nodepool.attributes
  - stackci.nodepool.attributes.change
notes:
  - The module does not read ZooKeeper and changes nothing in the clouds.
seealso:
  - module: stackci.nodepool.image_data
  - module: stackci.nodepool.nodepool_config_check
"""

EXAMPLES = r"""
- name: Write the objects for zuul-launcher
  stackci.nodepool.zuul_config:
    config: /etc/nodepool/nodepool.yaml
    path: zuul.d/providers.yaml
  register: converted

- name: Show what Zuul does not have
  ansible.builtin.debug:
    var: converted.told
"""

RETURN = r"""
objects:
  description: The objects, in the order of the file.
  returned: success
  type: list
  elements: dict
  sample:
    - image: {name: debian, type: zuul}
    - flavor: {name: m1.large}
    - label: {name: debian, image: debian, flavor: m1.large, min-ready: 2}
    - section: {name: cloud1, connection: cloud1}
    - provider: {name: cloud1, section: cloud1, labels: [{name: debian}]}
connections:
  description: The parts of C(zuul.conf) that the sections need, each with its keys.
  returned: success
  type: dict
  sample:
    cloud1: {driver: openstack, cloud: cloud1}
told:
  description: What Zuul does not have or does differently, and what was left out.
  returned: success
  type: list
  elements: str
  sample:
    - "provider cloud1: max-concurrency has no counterpart: rate of the connection in zuul.conf slows launches down"
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.zuul_config import (
    ZUUL_CONFIG_ARGUMENTS,
    zuul_config,
)


def main() -> None:
    """Entry point."""
    run_module(zuul_config, ZUUL_CONFIG_ARGUMENTS)


if __name__ == "__main__":
    main()
