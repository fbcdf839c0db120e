#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs one cycle of uploads, or deletes one upload."""

from __future__ import annotations

DOCUMENTATION = r"""
module: image_upload
short_description: Upload disk images to OpenStack clouds, and delete images that are not needed any more
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Runs one uploads cycle. The module uploads the ready builds in C(images-dir) to the providers of C(nodepool.yaml),
    several providers in parallel, each upload within the provider's C(image-upload-timeout). It deletes builds and
    uploads that are not needed any more, first the cloud images, then the files, then the records.
  - It never deletes the current and the previous build of an image, nor the two newest uploads of an image to a
    provider. What another builder of the tree lists is not deleted, while that builder runs and for a day after.
  - The upload of a builder that was ended is deleted as soon as its lock is free, whichever builder made it.
  - The module fails when a builder with the same C(builder_id.txt) is alive on another machine or with another
    C(images-dir).
  - The module compares the size and the checksum that glance reports with the file. A failed upload leaves no
    incomplete image in the cloud. When a cycle is killed, the next one removes what it left.
  - The module tries a failed upload again after 10 seconds, then at growing intervals up to an hour.
  - In check mode the module reads ZooKeeper and C(images-dir), returns the plan with its reasons and, with C(--diff),
    shows it. It asks each cloud only whether it can be reached.
options:
  state:
    description:
      - V(present) makes the uploads and deletions that are due.
      - V(absent) deletes the one upload that O(image), O(provider), O(build_id) and O(upload_id) name. The launcher
        then uses the upload before it. A later cycle uploads the newest build again, as long as the provider lists the
        image and is not paused for it.
    type: str
    choices: [present, absent]
    default: present
  image:
    description:
      - Upload and delete only this diskimage.
    type: str
  provider:
    description:
      - Upload only to this provider, and delete only there.
    type: str
  build_id:
    description:
      - Upload this build of O(image), even when there are newer ones. New nodes then boot from it.
    type: str
  upload_id:
    description:
      - The number of the upload to delete.
    type: str
  force:
    description:
      - Upload the chosen images once, even when the upload exists, is paused in the provider's configuration, or
        has just failed. When the new upload is ready, the former ones of the same build are deleted.
    type: bool
    default: false
  duration:
    description:
      - Seconds in which the cycle begins uploads and deletions. It finishes an upload that is under way then, which
        takes no longer than C(image-upload-timeout) and O(hook_timeout).
    type: float
    default: 300
  until:
    description:
      - V(settled) ends the cycle as soon as nothing is due.
      - V(deadline) lets the cycle last for the whole of O(duration).
    type: str
    choices: [settled, deadline]
    default: settled
  uploads_per_provider:
    description:
      - Uploads to one provider at the same time.
    type: int
    default: 2
  hook_timeout:
    description:
      - Seconds after which a C(post-upload-hook) is ended. In that case, and when its exit code is not 0, the upload
        has failed and the cloud image is deleted.
    type: float
    default: 600
  api_timeout:
    description:
      - Seconds without data from the API of a cloud after which the module gives up a call. An upload is given up after
        twice this time without progress.
    type: float
    default: 30
extends_documentation_fragment:
  - stackci.nodepool.tree
  - stackci.nodepool.tree.clouds
  - stackci.nodepool.control
  - stackci.nodepool.control.progress
  - stackci.nodepool.control.statsd
  - stackci.nodepool.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: partial
    details:
      - In check mode the diff shows the plan. Outside of check mode the result has what was done.
  idempotent:
    support: partial
    details:
      - With O(force) the module uploads the images each time.
seealso:
  - module: stackci.nodepool.node_launch
"""

EXAMPLES = r"""
- name: Upload images that are due, and delete those that are not needed
  stackci.nodepool.image_upload:
    config: /etc/nodepool/nodepool.yaml
    duration: 3600

- name: Show what would be uploaded and deleted now, and why
  stackci.nodepool.image_upload:
    config: /etc/nodepool/nodepool.yaml
  check_mode: true
  diff: true

- name: Go back to an older build at one provider
  stackci.nodepool.image_upload:
    image: debian
    provider: cloud1
    build_id: 5d2ff0b4d6a74c0b8f0b1f6e1a2b3c4d

- name: Delete one upload
  stackci.nodepool.image_upload:
    state: absent
    image: debian
    provider: cloud1
    build_id: 5d2ff0b4d6a74c0b8f0b1f6e1a2b3c4d
    upload_id: "0000000001"
"""

RETURN = r"""
ended:
  description:
    - Why the cycle ended. V(stopped) is by O(control_file) or a signal, V(controller gone) because the process that
      started the module has ended, V(done) after O(state=absent).
  returned: success
  type: str
  sample: settled
  choices: [settled, deadline, stopped, controller gone, done, check]
seconds:
  description: Duration of the cycle in seconds.
  returned: success
  type: float
  sample: 24.3
uploads:
  description: Uploads by their outcome. All keys are always there.
  returned: when not in check mode
  type: dict
  contains:
    done:
      description: Uploads that are ready, with C(bytes), C(seconds) and the properties C(compared) with the file.
      type: list
      elements: dict
    failed:
      description: Uploads that failed, each with its C(error).
      type: list
      elements: dict
    stopped:
      description: Uploads that were aborted at the end of the cycle. Nothing is left of them.
      type: list
      elements: dict
    deleted:
      description: Uploads that were deleted, each with the C(reason).
      type: list
      elements: dict
    adopted:
      description: Uploads of killed cycles whose image was complete in the cloud. They are ready now.
      type: list
      elements: dict
  sample:
    done:
      - provider: cloud1
        image: debian
        build_id: 5d2ff0b4d6a74c0b8f0b1f6e1a2b3c4d
        format: qcow2
        upload_id: "0000000001"
        external_id: 0b1e3a52-7f0d-4c53-9b0e-0d1c2b3a4f5e
        external_name: debian-1795198332
        bytes: 3221225472
        seconds: 61.2
        compared: [size, md5]
    failed: []
    stopped: []
    deleted: []
    adopted: []
builds_deleted:
  description: Builds whose records were deleted, each with the C(reason).
  returned: when not in check mode
  type: list
  elements: dict
  sample: []
files_removed:
  description: Names in C(images-dir) that were removed.
  returned: when not in check mode
  type: list
  elements: str
  sample: []
undeleted:
  description: Uploads and files that could not be deleted, each with the last C(error). They are tried again later.
  returned: when not in check mode
  type: list
  elements: dict
  sample: []
bytes:
  description: Bytes of all uploads that are ready.
  returned: when not in check mode
  type: int
  sample: 3221225472
waiting:
  description: Images that are not uploaded at the end of the cycle, each with C(code) and C(reason).
  returned: when not in check mode
  type: list
  elements: dict
  sample:
    - provider: cloud2
      image: debian
      build_id: 5d2ff0b4d6a74c0b8f0b1f6e1a2b3c4d
      format: raw
      code: backoff
      reason: "failed once, tried again in 9 s; last error: no answer in time"
problems:
  description:
    - Problems at the end of the cycle, in sentences. They are uploads that failed and are tried again, deletions that
      failed, providers that could not be used, and a configuration that cannot be read.
  returned: when not in check mode
  type: list
  elements: str
  sample:
    - "provider cloud2: image debian: failed once, tried again in 9 s; last error: no answer in time"
plan:
  description: What the cycle would do now. All keys are always there.
  returned: in check mode
  type: dict
  contains:
    upload:
      description: Images that would be uploaded, with the reason.
      type: list
      elements: dict
    wait:
      description: Images that would not be uploaded, with the reason.
      type: list
      elements: dict
    delete:
      description: Uploads, builds, files and records that would be deleted, with the reason.
      type: list
      elements: dict
  sample:
    upload: []
    wait: []
    delete: []
providers:
  description:
    - Whether each provider that takes images could be reached, and if not, why and what to do.
  returned: in check mode
  type: dict
  sample:
    cloud1: {reached: true}
unusable:
  description:
    - The providers of the configuration that cannot be used, each with what to do. With O(strict_check) the module
      fails unless the list is empty.
  returned: in check mode
  type: list
  elements: str
  sample: []
left_out:
  description: Providers that could not be used, and why. The cycle uploaded to the others.
  returned: success
  type: dict
  sample: {}
summary:
  description: >-
    The result in sentences, which the playbooks show. The keys are those of
    RV(stackci.nodepool.node_launch#module:summary).
  returned: success
  type: dict
  sample:
    done: 1 image uploaded, 0 uploads failed, 0 uploads and 0 builds deleted, 0 could not be deleted
    failed: []
    wrong: []
    waits: []
config_problems:
  description:
    - Problems of C(nodepool.yaml), C(secure.conf) and C(clouds.yaml) at the end of the cycle. The configuration that
      was read before stays in force until they are corrected.
  returned: when not in check mode
  type: list
  elements: str
  sample: []
api_calls:
  description: Calls of each provider's API by kind and status.
  returned: when not in check mode
  type: dict
  sample:
    cloud1:
      POST /images: {"201": 1}
      PUT /images/{id}/file: {"204": 1}
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.uploading import (
    UPLOAD_ARGUMENTS,
    UPLOAD_RULES,
    upload,
)


def main() -> None:
    """Entry point."""
    run_module(upload, UPLOAD_ARGUMENTS, **UPLOAD_RULES)


if __name__ == "__main__":
    main()
