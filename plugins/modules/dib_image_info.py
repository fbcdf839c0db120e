#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists builds of disk images."""

from __future__ import annotations

DOCUMENTATION = r"""
module: dib_image_info
short_description: List builds of disk images, and which images are due for one
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Reads the builds of disk images from ZooKeeper and returns whether each diskimage of C(nodepool.yaml) is due for a
    build and why. The module uses the builder's own decisions.
  - When C(images-dir) of the configuration is the directory of a builder, the module also lists its files and those
    that a builder would remove.
  - The module changes nothing.
options:
  images:
    description:
      - List only these diskimages. An image that was removed from the configuration can be named as long as ZooKeeper
        has builds or uploads of it.
      - When empty, list all.
    type: list
    elements: str
    default: []
extends_documentation_fragment:
  - stackci.nodepool.tree
  - stackci.nodepool.tree.last
  - stackci.nodepool.tree.clouds
  - stackci.nodepool.attributes
  - stackci.nodepool.attributes.info
seealso:
  - module: stackci.nodepool.image_info
  - module: stackci.nodepool.dib_build
"""

EXAMPLES = r"""
- name: Read which images would be built now, and why
  stackci.nodepool.dib_image_info:
    config: /etc/nodepool/nodepool.yaml
  register: dib

- name: Show them
  ansible.builtin.debug:
    msg: "{{ item.image }}: {{ item.reason }}"
  loop: "{{ dib.images | selectattr('due') }}"
  loop_control:
    label: "{{ item.image }}"

- name: Fail when an image was not built again in time
  ansible.builtin.assert:
    that: dib.stale == []
    fail_msg: "stale: {{ dib.stale | join(', ') }}"
"""

RETURN = r"""
as_of:
  description: How current the result is. A failure that has the result has it, too.
  returned: success
  type: dict
  contains:
    time:
      description: The time at which the result was the state of ZooKeeper, in UTC.
      type: str
      sample: "2026-11-25T18:00:00Z"
    age:
      description: Seconds since then. V(0) while ZooKeeper answers.
      type: float
      sample: 0.0
    problem:
      description: Why ZooKeeper cannot be reached; null while it answers.
      type: str
      sample: null
builder_id:
  description: The id of the builder whose C(images-dir) is on this host, null when there is none.
  returned: success
  type: str
  sample: 0f5c8a55-3f4e-4f55-9f0b-6a3a3f1d1c52
images:
  description: The diskimages of the configuration, and others that ZooKeeper has builds of. All keys are always there.
  returned: success
  type: list
  elements: dict
  contains:
    image:
      description: The name of the image.
      type: str
    due:
      description: Whether a builder with this configuration would build the image now.
      type: bool
    code:
      description:
        - The image is due with V(requested) (a build was requested), V(no-ready-build), V(aged) (C(rebuild-age)),
          V(files-lost) (the files of the newest build, made by the builder on this host, are not in C(images-dir) any
          more), V(builder-gone) (a provider waits for files of the newest build, and no cycle of the builder that has
          them has run for C(builder-gone-after), half an hour by default) and V(format-missing) (a provider needs a
          format that the newest build does not have).
        - It is not due with V(fresh), V(paused), V(building), V(backoff) (after failures), V(no-format) (no provider
          lists the image), V(format-unknown) (C(clouds.yaml) does not name the format) and V(removed) (not configured).
      type: str
    reason:
      description: The same as a sentence.
      type: str
    at:
      description: UNIX time at which RV(images[].code) changes without further events, null when it does not.
      type: float
    formats:
      description: Formats of a build, those of the image's C(formats) and those that its providers need.
      type: list
      elements: str
    formats_unknown:
      description: Providers that list the image and whose image format is not known.
      type: list
      elements: str
    age:
      description: Seconds since the newest ready build became ready, null when there is none.
      type: float
    stale:
      description: Whether RV(images[].age) is more than twice the image's C(rebuild-age).
      type: bool
    paused:
      description: Whether the pause flag is set in ZooKeeper.
      type: bool
    paused_in_config:
      description: Whether C(pause) is set in the configuration.
      type: bool
    requested:
      description: Whether a build is requested and not made yet.
      type: bool
    request_age:
      description: Seconds since the request, null when no build is requested.
      type: float
    request_age_text:
      description: The same as C(DD:HH:MM:SS), null when no build is requested.
      type: str
    building:
      description: Whether a builder builds the image now.
      type: bool
    sizes:
      description: Bytes on disk of the last build by the collection's builder, by format.
      type: dict
    seconds:
      description: Duration of that build in seconds, null when there was none.
      type: float
    failures:
      description: Failed builds in a row.
      type: int
    last_error:
      description: Error of the last failed build, null when there was none.
      type: str
  sample:
    - image: debian-12
      due: false
      code: fresh
      reason: the newest ready build is 3 h 12 min old; due in 20 h 48 min
      at: 1795273212.8
      formats: [qcow2, raw]
      formats_unknown: []
      age: 11520.0
      stale: false
      paused: false
      paused_in_config: false
      requested: false
      request_age: null
      request_age_text: null
      building: false
      sizes: {qcow2: 421527552, raw: 1932735283}
      seconds: 182.4
      failures: 0
      last_error: null
builds:
  description: The builds, in the order in which they were begun. All keys are always there.
  returned: success
  type: list
  elements: dict
  contains:
    image:
      description: The diskimage.
      type: str
    build_id:
      description: The id of the build.
      type: str
    state:
      description: V(building), V(ready), V(deleting) or V(failed).
      type: str
    age:
      description: Seconds since the build came into that state.
      type: float
    age_text:
      description: The same as C(DD:HH:MM:SS), null when the record does not have it.
      type: str
    stale:
      description: Whether RV(builds[].age) is more than twice the C(rebuild-age) of its image.
      type: bool
    builder:
      description: The host that made the build.
      type: str
    builder_id:
      description: The id of the builder that made the build.
      type: str
    here:
      description: Whether that is the builder on this host.
      type: bool
    formats:
      description: Formats of the build. Empty while it is made and when it failed.
      type: list
      elements: str
    changes:
      description:
        - What differs in the newest build from the build that was in use when it was made. It is null for older builds,
          and when that is not known.
      type: str
    files:
      description: Files of the build in C(images-dir) on this host, with the bytes on disk.
      type: list
      elements: dict
    providers:
      description: The providers to which the build was uploaded.
      type: list
      elements: str
    kept:
      description: Why the build is kept, V(current) or V(previous) for the two newest ready ones, null when it is not.
      type: str
    deletion:
      description: Why the build is due to be deleted, null when it is not.
      type: str
  sample:
    - image: debian-12
      build_id: 62ee55d4b3414869b6b292a38d9f6cf0
      state: ready
      age: 11520.0
      age_text: "00:03:12:00"
      stale: false
      builder: builder01.example.org
      builder_id: 0f5c8a55-3f4e-4f55-9f0b-6a3a3f1d1c52
      here: true
      formats: [qcow2, raw]
      changes: "compared with build 0b5c7e0f8d2b4a4c9f6d3a1e2c4b5a69: 2 newer: bash 5.2-2, libc6 2.36-9+deb12u8"
      files:
        - {name: debian-12-62ee55d4b3414869b6b292a38d9f6cf0.qcow2, size: 421527552}
      providers: [cloud1]
      kept: current
      deletion: null
left_out:
  description:
    - The number of builds that are not returned. At most 10,000 are, and as many deletions. Of more builds the youngest
      are returned. Choose some with O(images).
  returned: success
  type: int
  sample: 0
deletions:
  description:
    - The builds, files and records that a builder on this host would delete now. Uploads are deleted first, so more may
      follow later.
    - All keys are always there.
  returned: success
  type: list
  elements: dict
  contains:
    what:
      description: V(build) (it is marked for deletion), V(files) (in C(images-dir)) or V(record) (in ZooKeeper).
      type: str
    image:
      description: The diskimage.
      type: str
    build_id:
      description: The build.
      type: str
    names:
      description: Names in C(images-dir).
      type: list
      elements: str
    code:
      description:
        - V(old), V(removed) (from the configuration), V(asked) (marked for deletion), V(failed), V(abandoned),
          V(uploaded) (C(delete-after-upload)) or V(left-over) (without a record).
      type: str
    reason:
      description: The same as a sentence.
      type: str
  sample: []
stale:
  description: The images whose newest ready build is older than twice their C(rebuild-age).
  returned: success
  type: list
  elements: str
  sample: []
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.image_info import (
    DIB_IMAGE_INFO_ARGUMENTS,
    dib_image_info,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module


def main() -> None:
    """Entry point."""
    run_module(dib_image_info, DIB_IMAGE_INFO_ARGUMENTS)


if __name__ == "__main__":
    main()
