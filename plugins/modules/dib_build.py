#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds disk images."""

from __future__ import annotations

DOCUMENTATION = r"""
module: dib_build
short_description: Build disk images with diskimage-builder
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Runs one builds cycle. The module builds the diskimages of C(nodepool.yaml) that are due, one after the other. It
    writes Nodepool's records to ZooKeeper, so the C(nodepool) command lists and controls the builds.
  - An image is due when it has no ready build, when the newest build is older than C(rebuild-age) or lacks a format
    that a provider needs, or when a build was requested. After a failure the image waits for 10 seconds, twice as long
    after each further failure, and at most an hour. Other images do not wait for it.
  - diskimage-builder runs in PID and mount namespaces of its own where the machine permits it. The module ends it and
    all that it started when C(build-timeout) is over, when the cycle is stopped, and when the process that started the
    module has ended. The module removes the loop devices, mounts, temporary files and processes of a build after the
    build, or before the next one when the cycle was killed.
  - The module builds nothing while less space is free than the last build took, or than O(first_build_room) for the
    first build. Check mode reports this as well.
  - The module fails when a builder with the same C(builder_id.txt) is alive on another machine or with another
    C(images-dir).
  - M(stackci.nodepool.image_upload) uploads the images.
options:
  image_names:
    description:
      - Build only these diskimages of C(nodepool.yaml). When unset, build all that are due.
      - The module fails when the build of an image that is named here fails. Without this option failures are warnings.
    type: list
    elements: str
    aliases: [name, image_name]
  state:
    description:
      - V(present) builds.
      - V(absent) marks the ready or failed build O(build_id) for deletion. The uploads cycle deletes its uploads, then
        its files, then its record, and providers use the previous build again. A build without uploads is deleted at
        once, with its files on this machine.
      - V(cleared) removes what killed builds left on this machine and marks their records as failed, as each builds
        cycle does before it builds. Nothing is built.
    type: str
    choices: [present, absent, cleared]
    default: present
  build_id:
    description:
      - The build to delete. V(debian-ID), as C(nodepool dib-image-list) shows it, means the build of this image.
    type: str
  force:
    description:
      - Build the images of O(image_names) even when they are not due. A paused image is not built.
    type: bool
    default: false
  request:
    description:
      - Only request builds of O(image_names), as C(nodepool image-build) does. A later cycle builds them. The request
        for an image that is paused by O(pause) waits until the pause ends.
    type: bool
    default: false
  pause:
    description:
      - V(true) pauses the builds of O(image_names), as C(nodepool image-pause) does. V(false) ends the pause. Nothing
        is built. When unset, pauses are not changed.
    type: bool
  record:
    description:
      - V(false) builds O(image_names) into O(output_dir) without ZooKeeper. It writes no records and does not affect
        other builders. Use it to test elements.
    type: bool
    default: true
  output_dir:
    description:
      - Directory for the image files and the log of a build with O(record=false).
    type: path
  formats:
    description:
      - Formats of a build with O(record=false). When unset, those that the image and its providers need, or qcow2 when
        they need none.
    type: list
    elements: str
  qemu_img_vhd:
    description:
      - Make the format vhd with C(qemu-img) when C(vhd-util) is not installed. Without C(vhd-util), diskimage-builder
        cannot make vhd. The image is a dynamic vhd of exactly the size of its source.
        Clouds on Azure or Xen may need the one of C(vhd-util), because they look at its creator field.
    type: bool
    default: false
  first_build_room:
    description:
      - MiB that must be free for the files of an image that was never built here, and as many for its temporary files.
        On one file system the two add up. Later builds need as much as the last good build took.
    type: int
    default: 1024
  duration:
    description:
      - Seconds in which the cycle begins builds. It finishes a build that runs then, within its C(build-timeout).
    type: float
    default: 300
  until:
    description:
      - V(settled) ends the cycle as soon as nothing is due.
      - V(deadline) lets the cycle last for the whole of O(duration) and build images that become due.
    type: str
    choices: [settled, deadline]
    default: settled
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
      - In check mode the diff shows which images would be built and why. Outside of check mode the result has what was
        done. With O(request) and O(pause) the diff shows the changes in both modes.
  idempotent:
    support: partial
    details:
      - An image that was just built is not due. O(force=true) and O(record=false) build each time.
notes:
  - A build needs root, or sudo without a password, as diskimage-builder does.
seealso:
  - module: stackci.nodepool.node_launch
"""

EXAMPLES = r"""
- name: Build the images that are due
  stackci.nodepool.dib_build:
    config: /etc/nodepool/nodepool.yaml

- name: Build images that become due within an hour
  stackci.nodepool.dib_build:
    config: /etc/nodepool/nodepool.yaml
    duration: 3600
    until: deadline

- name: Build one image now
  stackci.nodepool.dib_build:
    config: /etc/nodepool/nodepool.yaml
    name: debian-bookworm
    force: true

- name: Show which images would be built, and why the others would not
  stackci.nodepool.dib_build:
    config: /etc/nodepool/nodepool.yaml
  check_mode: true
  diff: true

- name: Delete a broken build and all its uploads
  stackci.nodepool.dib_build:
    config: /etc/nodepool/nodepool.yaml
    state: absent
    build_id: 0d5ba3b1e4c84e6d9d5bbd9c1e5ae3ba

- name: Test the elements of an image, without records in ZooKeeper
  stackci.nodepool.dib_build:
    config: nodepool.yaml
    name: debian-bookworm
    record: false
    output_dir: /tmp/images
    formats: [qcow2]
"""

RETURN = r"""
ended:
  description:
    - Why the cycle ended. V(stopped) is by O(control_file) or a signal, V(controller gone) because the process that
      started the module has ended. V(done) means that the task was no cycle.
  returned: success
  type: str
  sample: settled
  choices: [settled, deadline, stopped, controller gone, check, done]
seconds:
  description: Duration of the cycle in seconds.
  returned: when building
  type: float
  sample: 312.4
builds:
  description:
    - The builds that the cycle made or tried, in their order.
    - C(state) is V(ready), V(failed), V(stopped) because the cycle ended first, or V(lost) because another builder
      took the lock or the record of the build.
    - All keys are always there.
  returned: when building
  type: list
  elements: dict
  contains:
    image:
      description: The diskimage.
      type: str
    build_id:
      description: Id of the build. Empty when the build did not begin, for instance because too little space was free.
      type: str
    state:
      description: The state of the build.
      type: str
    reason:
      description: Why the image was built.
      type: str
    error:
      description: The error. Empty when there was none.
      type: str
    log:
      description: Path of the build's log. Its last line is the exit code.
      type: str
    formats:
      description: Formats that were made.
      type: list
      elements: str
    sizes:
      description: Bytes on disk, by format.
      type: dict
    seconds:
      description: Duration of the build in seconds.
      type: float
    exit_code:
      description: Exit code of diskimage-builder, negative for a signal. Null when it was not started.
      type: int
  sample:
    - image: debian-bookworm
      build_id: 0d5ba3b1e4c84e6d9d5bbd9c1e5ae3ba
      state: ready
      reason: there is no ready build
      error: ""
      log: /var/log/nodepool/builds/debian-bookworm-0d5ba3b1e4c84e6d9d5bbd9c1e5ae3ba.log
      formats: [qcow2]
      sizes: {qcow2: 524288000}
      seconds: 301.8
      exit_code: 0
not_built:
  description: The images that were not built, each with C(image), C(code), C(reason) and C(formats).
  returned: when building with records
  type: list
  elements: dict
  sample:
    - image: debian-trixie
      code: fresh
      reason: the newest ready build is 2 h old; due in 22 h
      formats: [qcow2]
cleared:
  description: Remains of killed builds that were removed.
  returned: when building, and with O(state=cleared)
  type: list
  elements: str
  sample: []
abandoned:
  description: Ids of builds that were killed and are now marked as failed.
  returned: when building with records, and with O(state=cleared)
  type: list
  elements: str
  sample: []
isolation:
  description:
    - The namespaces of diskimage-builder. C(level) is V(processes and mounts), V(mounts) or V(none). C(why_not) is the
      reason when there are not more.
  returned: when building
  type: dict
  sample: {level: processes and mounts, why_not: ""}
providers:
  description:
    - Whether each provider that takes images has a usable entry in C(clouds.yaml), and if not, what to do. The module
      calls no cloud.
  returned: in check mode, for a cycle
  type: dict
  sample:
    cloud1: {reached: true}
unusable:
  description:
    - The providers of the configuration that cannot be used, each with what to do. With O(strict_check) the module
      fails unless the list is empty.
  returned: in check mode, for a cycle
  type: list
  elements: str
  sample: []
left_out:
  description: Providers whose image format cannot be read from C(clouds.yaml), and why.
  returned: for a cycle
  type: dict
  sample: {}
summary:
  description: >-
    The result in sentences, which the playbooks show. The keys are those of
    RV(stackci.nodepool.node_launch#module:summary).
  returned: for a cycle
  type: dict
  sample:
    done: 1 image built, 0 failed, 2 not due or impossible
    failed: []
    wrong: []
    waits: []
config_problems:
  description:
    - Problems of the configuration files at the end of the cycle. The configuration that was read before stays in force
      until they are corrected.
  returned: when building with records
  type: list
  elements: str
  sample: []
images:
  description: The images whose request or pause was changed.
  returned: with O(request) or O(pause)
  type: list
  elements: str
  sample: [debian-bookworm]
image:
  description: The diskimage of O(build_id), null when there is no such build.
  returned: with O(state=absent)
  type: str
  sample: debian-bookworm
build_id:
  description: The build to delete.
  returned: with O(state=absent)
  type: str
  sample: 0d5ba3b1e4c84e6d9d5bbd9c1e5ae3ba
state:
  description: The state of the build now, V(deleting) or V(absent).
  returned: with O(state=absent)
  type: str
  sample: deleting
plan:
  description: What the cycle would do now. All keys are always there.
  returned: in check mode, for a cycle
  type: dict
  contains:
    build:
      description: Images that would be built, as in RV(not_built).
      type: list
      elements: dict
    wait:
      description:
        - Images that would not be built, as in RV(not_built). C(code) V(cannot-begin) means that the image is due and
          cannot be built, because too little space is free, or a folder or the C(dib-cmd) cannot be used. Each is a
          warning, too.
      type: list
      elements: dict
    abandoned:
      description: Ids of builds that would be marked as failed.
      type: list
      elements: str
    remains:
      description: Ids of builds whose remains would be removed.
      type: list
      elements: str
  sample:
    build: [{image: debian-bookworm, code: no-ready-build, reason: there is no ready build, formats: [qcow2]}]
    wait: []
    abandoned: []
    remains: []
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.building import (
    BUILD_ARGUMENTS,
    BUILD_RULES,
    build,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module


def main() -> None:
    """Entry point."""
    run_module(build, BUILD_ARGUMENTS, **BUILD_RULES)


if __name__ == "__main__":
    main()
