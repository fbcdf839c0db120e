# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks that the files in images-dir belong to this tree: a file beside them names the tree that has their records.

Files without a record are removed from images-dir. So ZooKeeper must be the one that the files belong to.
"""

from __future__ import annotations

from ....clients.diskimage_builder.images_dir import ImagesDir
from ....clients.zookeeper.store import Store
from ....model.errors import TreeExchanged
from ....model.lines import amount
from .observe_images import local_files


def check_files(directory: ImagesDir, store: Store, site: str, *, write: bool) -> None:
    """Check that the image files are those of this tree.

    A directory that names no tree (new, of an earlier version, or Nodepool's) is assigned to this tree if it has no
    files of builds, or if ZooKeeper has a record of one of them.

    :param site: the id of the tree; "" if it has none yet.
    :param write: False to not write the id into the directory (check mode).
    :raises TreeExchanged: the files belong to another tree, or it is unknown to which one.
    :raises ImageFileError: the directory cannot be used.
    """
    there = directory.tree_id()
    if there == site and site:
        return
    here = f"this ZooKeeper has tree {site}" if site else "this ZooKeeper has no tree yet"
    if there:
        raise TreeExchanged(
            f"{directory.tree_id_path} says that the image files belong to tree {there}, but {here}:"
            f" {_remedy(directory, site)}"
        )
    # An id of ten digits proves nothing: it may be a date, for example.
    builds = {file.build_id for file in local_files(directory) if len(file.build_id) == 32}
    if builds and not builds & _known(store):
        count = amount(len(builds), "build")
        raise TreeExchanged(
            f"{directory.path} has files of {count}, but ZooKeeper has no record of any: {_remedy(directory, site)}"
        )
    if write and site:
        directory.write_tree_id(site)


def _known(store: Store) -> set[str]:
    """Return the ids of all builds that have a znode, from the cache."""
    found: set[str] = set()
    for name in store.images.names():
        empty, unreadable = store.images.without_document(name)
        found |= {build.id for build in store.images.builds(name)} | set(empty) | set(unreadable)
    return found


def _remedy(directory: ImagesDir, site: str) -> str:
    path = directory.tree_id_path
    mine = f"write {site} into {path}" if site else f"run a cycle: it shows the id to write into {path}"
    return (
        "nothing was built, uploaded or removed. Check zookeeper-servers, chroot and images-dir. If ZooKeeper"
        f" was set up again on purpose, {mine}. Files without a record are removed then (docs/operating.md,"
        " 'Another tree')"
    )
