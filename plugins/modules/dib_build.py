#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds disk images."""

from __future__ import annotations

DOCUMENTATION = r"""
module: dib_build
short_description: Build disk images with diskimage-builder
version_added: 0.1.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Runs one cycle of builds. Of the diskimages of C(nodepool.yaml) it builds those that are due, one after the other;
    their records in ZooKeeper are Nodepool's, so that the C(nodepool) command shows and steers them.
  - An image is due when it has no ready build, when the newest is older than C(rebuild-age) or lacks a format that a
    provider wants, or when somebody asked for a build. Failures put an image off for 10 seconds, doubled with each, at
    most an hour; other images go on.
  - diskimage-builder runs as a child with processes and mounts of its own where the machine permits it. When its
    C(build-timeout) is over, when the cycle is stopped, or when whoever started the module is gone, everything that it
    has started is ended. Loop devices, mounts, temporary files and processes of ours are cleared away after every
    build, and before the next where a cycle was killed.
  - Nothing is built while there is less room than the last build took, or O(first_build_room) before the first. Check
    mode says so, too.
  - Uploading is the work of another cycle.
options:
  image_names:
    description:
      - Build only these diskimages of C(nodepool.yaml). When unset, all that are due.
      - When one that is named here cannot be built the module fails; otherwise failures are warnings.
    type: list
    elements: str
    aliases: [name, image_name]
  state:
    description:
      - V(present) builds.
      - V(absent) marks the build O(build_id) for deletion, ready or failed. Its uploads are deleted by the cycle of
        uploads, then its files, then its record; providers go back to the previous build. Where there are no uploads,
        the record and the files on this machine are removed at once.
      - V(cleared) removes what killed builds have left on this machine, and marks their records as failed. Nothing is
        built. A cycle of builds does the same before it builds.
    type: str
    choices: [present, absent, cleared]
    default: present
  build_id:
    description:
      - The build to delete.
    type: str
  force:
    description:
      - Build the images of O(image_names) although they are not due. A pause is respected all the same.
    type: bool
    default: false
  request:
    description:
      - Only ask for builds of O(image_names), as C(nodepool image-build) does. A later cycle makes them; those of an
        image that is paused by O(pause) wait until that is taken back.
    type: bool
    default: false
  pause:
    description:
      - V(true) pauses the builds of O(image_names) as C(nodepool image-pause) does, V(false) lets them be built again.
        Nothing is built. When unset, pauses are left as they are.
    type: bool
  record:
    description:
      - V(false) builds O(image_names) into O(output_dir) without ZooKeeper; neither records nor other builders are
        touched. It is for tests of elements.
    type: bool
    default: true
  output_dir:
    description:
      - Where a build with O(record=false) puts image files and log.
    type: path
  formats:
    description:
      - What a build with O(record=false) makes. When unset, the formats that the image and its providers ask for, or
        qcow2 where there are none.
    type: list
    elements: str
  qemu_img_vhd:
    description:
      - Make the format vhd with C(qemu-img) where there is no C(vhd-util), without which diskimage-builder makes none.
        Such an image is a dynamic one of exactly the size of its source.
    type: bool
    default: false
  first_build_room:
    description:
      - MiB that must be free for the files of an image that was never built here, and as many for its temporary files;
        on one file system they add up. What the last good build took decides afterwards.
    type: int
    default: 1024
  duration:
    description:
      - Seconds in which builds are begun. One that is running then is finished, within its C(build-timeout).
    type: float
    default: 300
  until:
    description:
      - V(settled) ends the cycle as soon as nothing is due.
      - V(deadline) stays for the whole of O(duration) and builds what becomes due.
    type: str
    choices: [settled, deadline]
    default: settled
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
      - What would be built and why is shown in check mode; a cycle that acts reports what it did in its result.
  idempotent:
    support: partial
    details:
      - What was built a moment ago is not due. O(force=true) and O(record=false) build each time.
notes:
  - A build needs root, or sudo without a password, as diskimage-builder does.
seealso:
  - module: stackci.nodepool.node_launch
"""

EXAMPLES = r"""
- name: Build what is due
  stackci.nodepool.dib_build:
    config: /etc/nodepool/nodepool.yaml

- name: Stay for an hour and build what becomes due
  stackci.nodepool.dib_build:
    config: /etc/nodepool/nodepool.yaml
    duration: 3600
    until: deadline

- name: Build one image now
  stackci.nodepool.dib_build:
    config: /etc/nodepool/nodepool.yaml
    name: debian-bookworm
    force: true

- name: What would be built, and why not the others?
  stackci.nodepool.dib_build:
    config: /etc/nodepool/nodepool.yaml
  check_mode: true
  diff: true

- name: Delete a build that is no good, and all its uploads
  stackci.nodepool.dib_build:
    config: /etc/nodepool/nodepool.yaml
    state: absent
    build_id: 0d5ba3b1e4c84e6d9d5bbd9c1e5ae3ba

- name: Try the elements of an image without anybody's notice
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
    - Why the cycle ended. V(stopped) is by O(control_file) or a signal, V(controller gone) because whoever started the
      module is not there any more. V(done) is for what is no cycle.
  returned: success
  type: str
  sample: settled
  choices: [settled, deadline, stopped, controller gone, check, done]
seconds:
  description: How long it stayed, in seconds.
  returned: when building
  type: float
  sample: 312.4
builds:
  description:
    - The builds that were made or tried, in their order.
    - C(state) is V(ready), V(failed), V(stopped) because the cycle was ended meanwhile, or V(lost) because somebody
      else took its lock or record.
  returned: when building
  type: list
  elements: dict
  contains:
    image:
      description: The diskimage.
      type: str
      returned: always
    build_id:
      description: Id of the build; empty when nothing was begun, for lack of room for instance.
      type: str
      returned: always
    state:
      description: What became of it.
      type: str
      returned: always
    reason:
      description: Why it was built.
      type: str
      returned: always
    error:
      description: What went wrong; empty when nothing did.
      type: str
      returned: always
    log:
      description: Path of its log, whose last line is the exit code.
      type: str
      returned: always
    formats:
      description: What was made.
      type: list
      elements: str
      returned: always
    sizes:
      description: Bytes on disk, by format.
      type: dict
      returned: always
    seconds:
      description: How long it took.
      type: float
      returned: always
    exit_code:
      description: Exit code of diskimage-builder, negative for a signal; null when it was not started.
      type: int
      returned: always
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
  description: What was cleared away of builds that were killed.
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
    - What a child has of its own, as C(level), which is V(processes and mounts), V(mounts) or V(none), and why it is
      not more, as C(why_not).
  returned: when building
  type: dict
  sample: {level: processes and mounts, why_not: ""}
providers:
  description:
    - Whether each provider that takes images has an entry in C(clouds.yaml) that can be used, and if not, what to do. A
      build asks no cloud.
  returned: in check mode, for a cycle
  type: dict
  sample:
    cloud1: {reached: true}
unusable:
  description:
    - The providers of the configuration that cannot be used, each with what to do. With O(strict_check) the module
      fails unless it is empty.
  returned: in check mode, for a cycle
  type: list
  elements: str
  sample: []
left_out:
  description: Providers whose image format cannot be told from C(clouds.yaml), and why.
  returned: for a cycle
  type: dict
  sample: {}
summary:
  description: >-
    What there is to say at the end, in sentences: the keys are those of
    RV(stackci.nodepool.node_launch#module:summary). The playbooks show it.
  returned: for a cycle
  type: dict
  sample:
    done: 1 image built, 0 failed, 2 not due or not possible
    failed: []
    wrong: []
    waits: []
config_problems:
  description:
    - What is wrong with the configuration files as they are at the end. What was read before stays in force until they
      are mended.
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
  description: The build that was to be deleted.
  returned: with O(state=absent)
  type: str
  sample: 0d5ba3b1e4c84e6d9d5bbd9c1e5ae3ba
state:
  description: What the build is now, V(deleting) or V(absent).
  returned: with O(state=absent)
  type: str
  sample: deleting
plan:
  description: What the cycle would do now.
  returned: in check mode, for a cycle
  type: dict
  contains:
    build:
      description: Images that would be built, as in RV(not_built).
      type: list
      elements: dict
      returned: always
    wait:
      description:
        - Images that would not be, as in RV(not_built). Of code V(cannot-begin) are those that are due, and cannot be
          built for lack of room, or because of a folder or a C(dib-cmd) that cannot be used. Each is a warning, too.
      type: list
      elements: dict
      returned: always
    abandoned:
      description: Ids of builds that would be marked as failed.
      type: list
      elements: str
      returned: always
    clear:
      description: Ids of builds whose remains would be cleared away.
      type: list
      elements: str
      returned: always
  sample:
    build: [{image: debian-bookworm, code: no-ready-build, reason: there is no ready build, formats: [qcow2]}]
    wait: []
    abandoned: []
    clear: []
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
