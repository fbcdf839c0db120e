#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exports and imports what ZooKeeper knows of disk images."""

from __future__ import annotations

DOCUMENTATION = r"""
module: image_data
short_description: Export or import the records of disk images
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Saves the builds, uploads and pauses of disk images from ZooKeeper to a file, and restores them from the file. The
    format is that of C(nodepool export-image-data) and C(nodepool import-image-data). Each program reads the files of
    the other.
  - With O(form=zuul), writes the ready uploads for C(zuul-admin import-images) of Zuul 14.3. zuul-launcher then
    launches from the images of this builder, without an upload or a build job of its own.
  - When ZooKeeper has lost these records, a builder does not know its image files any more, and the images in the
    clouds belong to no upload.
options:
  path:
    description:
      - The file, on the host where the module runs. An export replaces the whole file, with mode 0600.
    type: path
    required: true
  state:
    description:
      - V(exported) writes the records to O(path).
      - V(imported) stores the records of O(path) in ZooKeeper. It creates missing znodes. New uploads get numbers above
        those in the file.
    type: str
    choices: [exported, imported]
    required: true
  form:
    description:
      - V(nodepool) is the format of Nodepool's own commands.
      - V(zuul) is the format of C(zuul-admin import-images). It is for O(state=exported) only. It has every upload that
        is ready, once for each build, provider and format, but none of a build that is revoked, rejected or held, or
        from which the launcher does not launch any more. The ids in it are always the same for the same upload, so an
        export may be imported again after each build; Zuul skips what it has.
      - Zuul finds an upload by the names of image and provider. In Zuul, name the image as the diskimage, the
        connection as the cloud in C(clouds.yaml), and the provider as the provider; if that has several pools, make one
        for each of them and add a hyphen and the pool's name.
    type: str
    choices: [nodepool, zuul]
    default: nodepool
  zuul_project:
    description:
      - Canonical name of the project in which Zuul reads the definitions of images and providers, with the host name,
        such as C(opendev.org/org/project-config). Required with O(form=zuul).
    type: str
  zuul_tenant:
    description:
      - The tenant of Zuul whose web pages show the images as its own. Required with O(form=zuul).
    type: str
  zuul_branch:
    description:
      - The branch of O(zuul_project) that has the definitions.
    type: str
    default: main
  force:
    description:
      - Import also while a builder is working, and when ZooKeeper has builds or uploads that are missing or different
        in O(path). Records that differ are replaced, and records that are not in the file are kept, as
        C(nodepool import-image-data) always does.
      - Export also when ZooKeeper has no image and O(path) has some, as after a loss of ZooKeeper's data.
      - Without this option the module fails and says why.
    type: bool
    default: false
extends_documentation_fragment:
  - stackci.nodepool.tree
  - stackci.nodepool.tree.clouds
  - stackci.nodepool.attributes
  - stackci.nodepool.attributes.change
notes:
  - Stop the builders before an import, and start them afterwards. Launchers need not be stopped.
  - Zuul deletes an image from the cloud when its C(retain-count) says so. Leave it in Zuul at two, its default and the
    number of builds that this builder keeps.
  - Zuul also deletes the uploads of an image from the cloud that the section of their provider does not list.
    M(stackci.nodepool.zuul_config) writes all of them; leave them there, also if no label uses them.
  - C(zuul-admin import-images) takes nothing away. What is deleted or revoked here after an import, delete in Zuul,
    too.
seealso:
  - module: stackci.nodepool.dib_image_info
  - module: stackci.nodepool.image_info
"""

EXAMPLES = r"""
- name: Save the records of disk images
  stackci.nodepool.image_data:
    config: /etc/nodepool/nodepool.yaml
    path: /var/backups/nodepool-images.json
    state: exported

- name: Show what an import would write
  stackci.nodepool.image_data:
    config: /etc/nodepool/nodepool.yaml
    path: /var/backups/nodepool-images.json
    state: imported
  check_mode: true
  diff: true

- name: Write the uploads for zuul-launcher; then run zuul-admin import-images with the file
  stackci.nodepool.image_data:
    config: /etc/nodepool/nodepool.yaml
    path: /var/lib/nodepool/zuul-images.json
    state: exported
    form: zuul
    zuul_project: opendev.org/org/project-config
    zuul_tenant: org

- name: Restore the records into an empty tree
  stackci.nodepool.image_data:
    config: /etc/nodepool/nodepool.yaml
    path: /var/backups/nodepool-images.json
    state: imported
"""

RETURN = r"""
counts:
  description: Numbers of records in the file. All keys are always there.
  returned: success
  type: dict
  contains:
    images:
      description: Disk images.
      type: int
    builds:
      description: Builds.
      type: int
    uploads:
      description: Uploads.
      type: int
    paused:
      description: Images whose builds are paused; 0 with O(form=zuul).
      type: int
  sample: {images: 2, builds: 4, uploads: 8, paused: 0}
left_out:
  description:
    - Records that could not be exported, because another program wrote unusable data or, with O(form=zuul), because
      nodepool.yaml lacks their provider or their build must not be used. Each is a warning, too.
  returned: success
  type: list
  elements: str
  sample: []
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.image_data import (
    IMAGE_DATA_ARGUMENTS,
    image_data,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module


def main() -> None:
    """Entry point."""
    run_module(image_data, IMAGE_DATA_ARGUMENTS)


if __name__ == "__main__":
    main()
