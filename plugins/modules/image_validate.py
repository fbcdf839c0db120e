#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests an image with a playbook of the site."""

from __future__ import annotations

DOCUMENTATION = r"""
module: image_validate
short_description: Run a playbook on a new node of an image
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Requests a node of a diskimage or of a cloud-image, runs a playbook on it with C(ansible-runner), and gives the node
    back. A launcher must be running.
  - The result says whether the playbook passed. The task fails only when the test could not be made, and nothing is
    decided about the build; see M(stackci.nodepool.dib_image) for that.
options:
  image:
    description: The diskimage or cloud-image.
    type: str
    required: true
  playbook:
    description:
      - The playbook, on the host of the module. Its only host is the node.
    type: path
    required: true
  provider:
    description: The provider. When unset, the first one with a label that is made from the image.
    type: str
  build_id:
    description:
      - The build of the diskimage. It must be in the cloud of the provider, and not be rejected, revoked or held. When
        unset, the build from which nodes are made now.
    type: str
  label:
    description: The label of the node. When unset, the first one that is made from the image.
    type: str
  private_key:
    description: The private key for ssh to the node. When unset, what Ansible uses by itself.
    type: path
  timeout:
    description: Maximum seconds for the playbook.
    type: int
    default: 600
  wait:
    description: Maximum seconds to wait for the node.
    type: int
    default: 1800
requirements:
  - ansible-runner
extends_documentation_fragment:
  - stackci.nodepool.tree
  - stackci.nodepool.tree.change
  - stackci.nodepool.control.progress
  - stackci.nodepool.attributes
  - stackci.nodepool.attributes.change
seealso:
  - module: stackci.nodepool.dib_image
  - module: stackci.nodepool.image_upload
"""

EXAMPLES = r"""
- name: Test the build in use
  stackci.nodepool.image_validate:
    image: debian-12
    playbook: smoke.yml
  register: tested

- name: Go back to the build before when it is broken
  stackci.nodepool.dib_image:
    image: debian-12
    state: revoked
    reason: "{{ tested.reason }}"
  when: not tested.passed
"""

RETURN = r"""
image:
  description: The image.
  returned: success
  type: str
  sample: debian-12
provider:
  description: The provider.
  returned: success
  type: str
  sample: west
label:
  description: The label of the node.
  returned: success
  type: str
  sample: debian-12-small
build_id:
  description: The build that the node was made from, null for a cloud-image.
  returned: when not in check mode
  type: str
  sample: 62ee55d4b3414869b6b292a38d9f6cf0
node_id:
  description: The node, null when none could be launched.
  returned: when not in check mode
  type: str
  sample: "0000000042"
passed:
  description: Whether the playbook passed.
  returned: when not in check mode
  type: bool
reason:
  description: Why it did not pass, null when it did.
  returned: when not in check mode
  type: str
  sample: "task 'DNS': non-zero return code"
log:
  description: Path of the output of the playbook, null when it was not run.
  returned: when not in check mode
  type: str
  sample: /var/log/nodepool/builds/gates/debian-12-by-hand-20261125-201500.log
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.validating import (
    IMAGE_VALIDATE_ARGUMENTS,
    image_validate,
)


def main() -> None:
    """Entry point."""
    run_module(image_validate, IMAGE_VALIDATE_ARGUMENTS)


if __name__ == "__main__":
    main()
