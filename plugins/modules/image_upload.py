#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs one cycle of uploads, or deletes one upload."""

from __future__ import annotations

DOCUMENTATION = r"""
module: image_upload
short_description: Upload disk images to OpenStack clouds, and delete what is not needed any more
version_added: 0.1.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Runs one cycle of the builder's second half. What is ready in C(images-dir) is uploaded to the providers of
    C(nodepool.yaml), several of them side by side, each within its C(image-upload-timeout). Then what is not needed any
    more is deleted, cloud images first, then files, then records.
  - Of each image the current and the previous build, and of each provider its two newest uploads, are never deleted.
  - The file is read in pieces, and what glance says of size and checksum is compared with it. Whatever goes wrong, no
    half-uploaded image stays in a cloud; a cycle that was killed is cleaned up by the next one.
  - Failed uploads are tried again after 10 seconds, then at growing distances up to an hour.
  - In check mode ZooKeeper and C(images-dir) are read, and the plan with its reasons is returned and, with C(--diff),
    shown. No cloud is asked.
options:
  state:
    description:
      - V(present) uploads and deletes what is due.
      - V(absent) deletes the one upload that O(image), O(provider), O(build_id) and O(upload_id) name. The launcher
        then uses the upload before it. As long as the provider lists the image and is not paused for it, the newest
        build is uploaded again.
    type: str
    choices: [present, absent]
    default: present
  image:
    description:
      - Only this diskimage.
    type: str
  provider:
    description:
      - Only this provider.
    type: str
  build_id:
    description:
      - Upload this build of O(image), whatever newer ones there are. It becomes the image that new nodes are made from.
    type: str
  upload_id:
    description:
      - The number of the upload to delete.
    type: str
  force:
    description:
      - Upload what is chosen once, although it is there already, is paused in the configuration of the provider, or
        failed a moment ago. What was there of the same build is deleted when the new one is ready.
    type: bool
    default: false
  duration:
    description:
      - Seconds for which something new is begun. An upload that is under way then is finished, which takes no longer
        than C(image-upload-timeout) and O(hook_timeout).
    type: float
    default: 300
  until:
    description:
      - V(settled) ends the cycle as soon as nothing is due.
      - V(deadline) stays for the whole of O(duration).
    type: str
    choices: [settled, deadline]
    default: settled
  uploads_per_provider:
    description:
      - Uploads to one provider at the same time. Those to other providers do not count.
    type: int
    default: 2
  hook_timeout:
    description:
      - Seconds after which a C(post-upload-hook) is ended. Then, and when it answers with anything but 0, the upload
        has failed and the cloud image is deleted.
    type: float
    default: 600
  api_timeout:
    description:
      - Seconds for which the API of a cloud may say nothing before a call is given up. An upload may make no progress
        for twice as long.
    type: float
    default: 30
  state_dir:
    description:
      - A folder, private to the user, in which cycles on the same host leave word for each other. When one of them was
        killed, its successor frees what the dead one had locked in ZooKeeper at once instead of after the session
        time-out. An empty text turns this off.
      - When unset, a folder of the user's runtime directory is used.
    type: path
  progress_file:
    description:
      - A file to which a line of JSON is appended for each thing that happens. The action plugin of this module sets it
        and shows the lines while the module works.
    type: path
extends_documentation_fragment:
  - stackci.nodepool.config
  - stackci.nodepool.control
  - stackci.nodepool.check
  - stackci.nodepool.statsd
  - stackci.nodepool.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: partial
    details:
      - The plan is shown in check mode; a cycle that acts reports what it did in its result.
  idempotent:
    support: partial
    details:
      - With O(force) the images are uploaded each time.
seealso:
  - module: stackci.nodepool.node_launch
"""

EXAMPLES = r"""
- name: Upload what is due, and delete what is not needed
  stackci.nodepool.image_upload:
    config: /etc/nodepool/nodepool.yaml
    duration: 3600

- name: What would be uploaded and deleted now, and why?
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
    - Why the cycle ended. V(stopped) is by O(control_file) or a signal, V(controller gone) because whoever started the
      module is not there any more, V(done) after O(state=absent).
  returned: success
  type: str
  sample: settled
  choices: [settled, deadline, stopped, controller gone, done, check]
seconds:
  description: How long it stayed, in seconds.
  returned: success
  type: float
  sample: 24.3
uploads:
  description: What became of uploads.
  returned: when not in check mode
  type: dict
  contains:
    done:
      description: Uploads that are ready, with C(bytes), C(seconds) and what was C(compared) with the file.
      type: list
      elements: dict
      returned: always
    failed:
      description: Uploads that failed, each with its C(error).
      type: list
      elements: dict
      returned: always
    stopped:
      description: Uploads that ended with the cycle; nothing is left of them.
      type: list
      elements: dict
      returned: always
    deleted:
      description: Uploads that are gone, each with the C(reason).
      type: list
      elements: dict
      returned: always
    adopted:
      description: Uploads whose module was killed when all of it was in the cloud already. They are ready now.
      type: list
      elements: dict
      returned: always
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
  description: Builds whose records are gone, each with the C(reason).
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
  description: What could not be deleted, each with the last C(error). It is tried again at growing distances.
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
  description: Images that were chosen and are not uploaded at the end, each with C(code) and C(reason).
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
    - What is not as it should be at the end, as sentences. Uploads that failed and are tried again, what could not be
      deleted, providers that could not be used, and a configuration that cannot be read are among them.
  returned: when not in check mode
  type: list
  elements: str
  sample:
    - "provider cloud2: image debian: failed once, tried again in 9 s; last error: no answer in time"
plan:
  description: What the cycle would do now.
  returned: in check mode
  type: dict
  contains:
    upload:
      description: Images that would be uploaded, with the reason.
      type: list
      elements: dict
      returned: always
    wait:
      description: Images that would not, with the reason.
      type: list
      elements: dict
      returned: always
    delete:
      description: Uploads, builds, files and records that would be deleted, with the reason.
      type: list
      elements: dict
      returned: always
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
      fails unless it is empty.
  returned: in check mode
  type: list
  elements: str
  sample: []
left_out:
  description: Providers that could not be used, and why; the others were served.
  returned: success
  type: dict
  sample: {}
summary:
  description: >-
    What there is to say at the end, in sentences: the keys are those of
    RV(stackci.nodepool.node_launch#module:summary). The playbooks show it.
  returned: success
  type: dict
  sample:
    done: 1 image uploaded, 0 uploads failed, 0 uploads and 0 builds deleted, 0 could not be deleted
    failed: []
    wrong: []
    waits: []
config_problems:
  description:
    - What is wrong with C(nodepool.yaml), C(secure.conf) and C(clouds.yaml) as they are at the end. What was read
      before stays in force until they are mended.
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
