#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists disk images in clouds."""

from __future__ import annotations

DOCUMENTATION = r"""
module: image_info
short_description: List uploads of disk images, and which are due
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Reads the uploads of disk images from ZooKeeper and returns whether each diskimage of each provider of
    C(nodepool.yaml) is due for an upload and why. The module uses the builder's own decisions.
  - Only the host of the builder that made a build has its files. On other hosts the image is not due, and the reason
    names the host.
  - The module asks each cloud for the images of the uploads, because an image may have been deactivated or deleted
    there, and changes nothing.
options:
  images:
    description:
      - List only these diskimages. An image that was removed from the configuration can be named as long as ZooKeeper
        has builds or uploads of it.
      - When empty, list all.
    type: list
    elements: str
    default: []
  providers:
    description:
      - List only these providers. A provider that was removed from the configuration can be named as long as ZooKeeper
        has uploads of it.
      - When empty, list all.
    type: list
    elements: str
    default: []
  ask_clouds:
    description:
      - Ask the clouds whether servers can be made of the uploads. A cloud that does not answer is a warning.
      - Without it, the module calls no cloud, and RV(uploads[].current) relies on the records in ZooKeeper.
    type: bool
    default: true
  api_timeout:
    description:
      - Seconds without data from the API of a cloud after which the module gives up a call.
    type: float
    default: 10
extends_documentation_fragment:
  - stackci.nodepool.tree
  - stackci.nodepool.tree.last
  - stackci.nodepool.tree.clouds
  - stackci.nodepool.attributes
  - stackci.nodepool.attributes.info
seealso:
  - module: stackci.nodepool.dib_image_info
  - module: stackci.nodepool.image_upload
"""

EXAMPLES = r"""
- name: Read from which images the next nodes of cloud1 boot
  stackci.nodepool.image_info:
    providers: [cloud1]
  register: images

- name: Show them
  ansible.builtin.debug:
    msg: "{{ item.image }}: {{ item.external_id }}, built {{ (item.build_age / 3600) | round(1) }} h ago"
  loop: "{{ images.uploads | selectattr('current') }}"
  loop_control:
    label: "{{ item.image }}"

- name: Fail when a cloud has old images
  ansible.builtin.assert:
    that: images.stale == []
    fail_msg: "stale: {{ images.stale | join(', ') }}"
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
uploads:
  description: The uploads, by image and build. All keys are always there.
  returned: success
  type: list
  elements: dict
  contains:
    image:
      description: The diskimage.
      type: str
    build_id:
      description: The build that was uploaded.
      type: str
    upload_id:
      description: The number of the upload.
      type: str
    provider:
      description: The provider to which the build was uploaded.
      type: str
    name:
      description: The name of the image in the cloud, null until the upload is ready.
      type: str
    external_id:
      description: The id of the image in the cloud, null until the upload is ready.
      type: str
    format:
      description: The format, null until the upload is ready.
      type: str
    state:
      description: V(uploading), V(ready), V(deleting) or V(failed).
      type: str
    age:
      description: Seconds since the upload came into that state.
      type: float
    age_text:
      description: The same as C(DD:HH:MM:SS), null when the record does not have it.
      type: str
    build_age:
      description: Seconds since its build came into its present state, null when there is no such build.
      type: float
    stale:
      description: Whether RV(uploads[].build_age) is more than twice the C(rebuild-age) of its image.
      type: bool
    current:
      description: Whether the next node of the provider boots from this upload.
      type: bool
    cloud_status:
      description:
        - The status of the image in glance (V(active), V(deactivated), ...), or V(gone) if glance does not know it.
        - It is null when the cloud was not asked or did not answer, or the upload is not ready.
      type: str
    unusable:
      description: Why no server can be made of the image, and the remedy; null if one can be, or if that is unknown.
      type: str
    changes:
      description:
        - What differs in the newest build from the build that was in use when it was made. It is null for older builds,
          and when that is not known.
      type: str
    used:
      description: Whether nodes may be launched from the build at this provider.
      type: bool
    verdict:
      description: What a person, the test of new uploads or the launcher has decided about the build, null for nothing.
      type: str
    launches:
      description:
        - How the launches from the build ended at this provider. A cycle stores the figures every ten seconds; all keys
          are always there.
      type: dict
      contains:
        tried:
          description: Number of attempts that have ended.
          type: int
        ready:
          description: Number of those that ended with a ready node.
          type: int
        failed:
          description: The owner of the failure, and the number of attempts that failed for it.
          type: dict
        flavors:
          description: The same by flavor, with C(ready) or the owner of the failure.
          type: dict
        before_tried:
          description: Number of attempts with the build that was in use before, null when none is known.
          type: int
        before_ready:
          description: Number of those that ended with a ready node, null when none is known.
          type: int
        text:
          description: The figures as a sentence, null without any attempt.
          type: str
    under_way:
      description: Whether a builder works on the upload, which is so while its lock is taken.
      type: bool
    deletion:
      description: Why the upload is due to be deleted, null when it is not.
      type: str
  sample:
    - image: debian-12
      build_id: 62ee55d4b3414869b6b292a38d9f6cf0
      upload_id: "0000000001"
      provider: cloud1
      name: debian-12-1795198332
      external_id: 9f3f0a4c-3f0e-4b53-8f66-0a7d1a9a0d11
      format: qcow2
      state: ready
      age: 11400.0
      age_text: "00:03:10:00"
      build_age: 11520.0
      stale: false
      current: true
      changes: "compared with build 0b5c7e0f8d2b4a4c9f6d3a1e2c4b5a69: 2 newer: bash 5.2-2, libc6 2.36-9+deb12u8"
      used: true
      verdict: null
      launches:
        tried: 9
        ready: 9
        failed: {}
        flavors: {small: {ready: 9}}
        before_tried: 212
        before_ready: 212
        text: "debian-12 build 62ee55d4: 9 of 9 in cloud1; the build before: 212 of 212"
      under_way: false
      cloud_status: active
      unusable: null
      deletion: null
due:
  description: Each diskimage of each provider of the configuration. All keys are always there.
  returned: success
  type: list
  elements: dict
  contains:
    provider:
      description: The provider.
      type: str
    image:
      description: The diskimage.
      type: str
    due:
      description: Whether the builder on this host would upload the image now.
      type: bool
    code:
      description:
        - The image is due with V(missing) (the provider does not have the newest ready build).
        - It is not due with V(current) (the provider has the newest ready build), V(paused), V(no-ready-build),
          V(format-missing) (no newer build has the format of the provider), V(format-unknown) (C(clouds.yaml) does not
          name it), V(elsewhere) (another builder has the files), V(no-file) (the file is not in C(images-dir)),
          V(uploading) (also while its gate tests it), V(untested) (another provider tests the build first, or another
          build is being tested there), and V(backoff) (after failures).
      type: str
    reason:
      description: The same as a sentence.
      type: str
    at:
      description: UNIX time at which RV(due[].code) changes without further events, null when it does not.
      type: float
    build_id:
      description: The build that the provider should have, null when there is none.
      type: str
    format:
      description: The image format of the provider, null when unknown.
      type: str
    failures:
      description: Failed uploads in a row.
      type: int
    last_error:
      description: Error of the last failed upload, null when there was none.
      type: str
  sample:
    - provider: cloud1
      image: debian-12
      due: false
      code: current
      reason: the newest ready build is already uploaded
      at: null
      build_id: 62ee55d4b3414869b6b292a38d9f6cf0
      format: qcow2
      failures: 0
      last_error: null
left_out:
  description:
    - The number of uploads that are not returned. At most 10,000 are, and as many deletions. Of more, the youngest
      are returned. Choose some with O(images) or O(providers). The uploads that nodes boot from are never left out.
  returned: success
  type: int
  sample: 0
deletions:
  description: Uploads that a builder with this configuration would delete now. All keys are always there.
  returned: success
  type: list
  elements: dict
  contains:
    what:
      description: Always V(upload).
      type: str
    image:
      description: The diskimage.
      type: str
    build_id:
      description: The build.
      type: str
    provider:
      description: The provider.
      type: str
    upload_id:
      description: The number of the upload.
      type: str
    code:
      description:
        - V(old), V(surplus) (the provider has this build twice), V(removed) (from the configuration), V(asked) (the
          upload or its build is marked for deletion), V(failed) or V(abandoned). An uploads cycle, which asks the
          clouds, also has V(lost) (the image is not in the cloud any more).
      type: str
    reason:
      description: The same as a sentence.
      type: str
  sample: []
stale:
  description:
    - Provider and image of the uploads that nodes boot from and whose build is older than twice the C(rebuild-age).
  returned: success
  type: list
  elements: str
  sample: [cloud1/debian-12]
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.image_info import (
    IMAGE_INFO_ARGUMENTS,
    image_info,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module


def main() -> None:
    """Entry point."""
    run_module(image_info, IMAGE_INFO_ARGUMENTS)


if __name__ == "__main__":
    main()
