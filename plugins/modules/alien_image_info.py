#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists images in clouds that no upload record knows."""

from __future__ import annotations

DOCUMENTATION = r"""
module: alien_image_info
short_description: List images in the clouds that no upload record names
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Lists the images that a builder has uploaded and of which ZooKeeper has no upload, as C(nodepool alien-image-list)
    does. An image is listed when it has the property C(nodepool_build_id), belongs to the project of the provider, and
    is in no upload record of any state.
  - Such an image may belong to another tree or to a Nodepool that uses the same project.
    M(stackci.nodepool.leak_cleanup) finds out which images belong to this tree and deletes them.
  - The module lists the images of each provider once. It changes nothing in ZooKeeper and in the clouds.
options:
  providers:
    description:
      - List only the images of these providers. When unset, of all providers of the configuration.
    type: list
    elements: str
  api_timeout:
    description:
      - Seconds that a cloud may take to answer.
    type: float
    default: 30
extends_documentation_fragment:
  - stackci.nodepool.tree
  - stackci.nodepool.tree.clouds
  - stackci.nodepool.attributes
  - stackci.nodepool.attributes.info
seealso:
  - module: stackci.nodepool.image_info
  - module: stackci.nodepool.leak_cleanup
"""

EXAMPLES = r"""
- name: List images that no record names
  stackci.nodepool.alien_image_info:
    config: /etc/nodepool/nodepool.yaml
  register: aliens

- name: Show them
  ansible.builtin.debug:
    msg: "{{ item.provider }} {{ item.name }} {{ item.image_id }}"
  loop: "{{ aliens.images }}"
  loop_control:
    label: "{{ item.image_id }}"
"""

RETURN = r"""
images:
  description: The images, by provider, name and id. All keys are always there.
  returned: success
  type: list
  elements: dict
  contains:
    provider:
      description: The provider in whose project the image is.
      type: str
    name:
      description: The name of the image in the cloud.
      type: str
    image_id:
      description: The id of the image in the cloud.
      type: str
    build_id:
      description: The build of which the image was made, by its properties.
      type: str
    upload_id:
      description: The number of the upload, by its properties, null when they have none.
      type: str
    uploaded_for:
      description: The provider for which the image was uploaded, by its properties, null when they have none.
      type: str
    site:
      description: The id of the tree, by the image's properties, null when they have none, as images of a Nodepool.
      type: str
    this_tree:
      description: Whether that is this tree.
      type: bool
    snapshot:
      description: Whether the image is a user's snapshot of a server. It may have the properties of the server's image.
      type: bool
    created:
      description: Time of creation as the cloud reports it, null when the cloud does not report it.
      type: str
  sample:
    - provider: cloud1
      name: debian-bookworm-1700000000
      image_id: 5f1c2d3e-3f4e-4f55-9f0b-6a3a3f1d1c52
      build_id: 0d5ba3b1e4c84e6d9d5bbd9c1e5ae3ba
      upload_id: "0000000001"
      uploaded_for: cloud1
      site: 4f1c0d6e1c1f4a0f9a3c5b7d9e2f4a6c
      this_tree: true
      snapshot: false
      created: "2026-01-02T03:04:05Z"
left_out:
  description: Providers whose images could not be listed, and why. Each is a warning, too.
  returned: success
  type: dict
  sample: {}
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.alien_image_info import (
    ALIEN_ARGUMENTS,
    aliens,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module


def main() -> None:
    """Entry point."""
    run_module(aliens, ALIEN_ARGUMENTS)


if __name__ == "__main__":
    main()
