#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides whether a build of a disk image is used."""

from __future__ import annotations

DOCUMENTATION = r"""
module: dib_image
short_description: Approve, reject, hold or revoke a build of a disk image
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Stores in ZooKeeper whether nodes are launched from a build of a disk image, with the reason. The launchers of all
    providers follow that in their next pass. They use the next older build that is in the cloud of the provider, until
    a newer one is there.
  - The decision about a build is independent of the providers. It also ends what a launcher has decided by itself for
    single providers when launches from the build failed there.
  - The module deletes no build, no upload and no node. The acting launcher deletes ready nodes of a rejected or revoked
    build that nobody uses.
options:
  image:
    description: The diskimage.
    type: str
    required: true
  build_id:
    description:
      - The id of the build, as M(stackci.nodepool.dib_image_info) returns it. V(newest) is the newest ready build.
    type: str
    default: newest
  state:
    description:
      - V(approved) uses the build, and the launcher does not stop using it by itself when launches fail.
      - V(rejected) and V(revoked) do not use it. Ready nodes of it are deleted; nodes in use are returned as
        RV(in_use). V(rejected) is meant for a build that no job has used.
      - V(held) does not use it until somebody decides. Nodes of it stay.
      - V(restored) undoes all decisions about the build, also those of the launcher.
    type: str
    choices: [approved, held, rejected, restored, revoked]
    required: true
  reason:
    description:
      - Why, for others to read. Needed with V(held), V(rejected) and V(revoked). At most 500 bytes are kept.
    type: str
    default: ""
  at:
    description:
      - When the decision applies, such as V(18:00) or V(2026-12-24 18:00) in the time zone of the host. At once when
        unset. Only with V(held), V(rejected) and V(revoked).
      - A build that is not used now does not become usable until then. If another O(state) is the cause, the module
        fails.
    type: str
extends_documentation_fragment:
  - stackci.nodepool.tree
  - stackci.nodepool.tree.change
  - stackci.nodepool.attributes
  - stackci.nodepool.attributes.change
seealso:
  - module: stackci.nodepool.dib_image_info
  - module: stackci.nodepool.image_info
  - module: stackci.nodepool.dib_build
"""

EXAMPLES = r"""
- name: Go back to the build before
  stackci.nodepool.dib_image:
    image: debian-12
    state: revoked
    reason: its python is broken

- name: Stop using a build at the end of the day
  stackci.nodepool.dib_image:
    image: debian-12
    build_id: 62ee55d4b3414869b6b292a38d9f6cf0
    state: revoked
    reason: replaced by the build with the new kernel
    at: "18:00"

- name: Use it again
  stackci.nodepool.dib_image:
    image: debian-12
    build_id: 62ee55d4b3414869b6b292a38d9f6cf0
    state: restored
"""

RETURN = r"""
image:
  description: The diskimage.
  returned: success
  type: str
  sample: debian-12
build_id:
  description: The build.
  returned: success
  type: str
  sample: 62ee55d4b3414869b6b292a38d9f6cf0
verdict:
  description: What is decided about the build now. All keys are always there.
  returned: success
  type: dict
  contains:
    state:
      description: V(approved), V(held), V(rejected) or V(revoked), null when nothing is decided.
      type: str
    reason:
      description: Why, null when no reason is given.
      type: str
    by:
      description: V(hand) or V(gate), null when nothing is decided.
      type: str
    since:
      description: UNIX time from which on it applies, null when nothing is decided.
      type: float
    used:
      description: Whether nodes may be launched from it now, without what the launcher decided for single providers.
      type: bool
    fallen_back:
      description: Providers at which the launcher decided by itself not to use it, each with the reason.
      type: dict
  sample:
    state: revoked
    reason: its python is broken
    by: hand
    since: 1795273212.8
    used: false
    fallen_back: {}
deleted:
  description:
    - Ready nodes that were made from the build and that nobody uses, when the build is rejected or revoked from now on.
      The launcher deletes them. All keys are always there.
  returned: success
  type: list
  elements: dict
  contains: &node
    id:
      description: The id of the node.
      type: str
    state:
      description: Its state.
      type: str
    provider:
      description: The provider, null when the record does not have it.
      type: str
    allocated_to:
      description: The request that the node belongs to, null for none.
      type: str
in_use:
  description: The other nodes that were made from the build. The launcher does not touch them.
  returned: success
  type: list
  elements: dict
  contains: *node
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.deciding import DIB_IMAGE_ARGUMENTS, dib_image
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module


def main() -> None:
    """Entry point."""
    run_module(dib_image, DIB_IMAGE_ARGUMENTS)


if __name__ == "__main__":
    main()
