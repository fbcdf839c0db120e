# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Image files and the tree that has their records."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.images_dir import ImagesDir
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.context.image_files import check_files
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import TreeExchanged
from tests.support.image_views import build, build_id
from tests.support.memory_zookeeper import MemoryZooKeeper
from tests.support.virtual_time import Agenda

SITE, OTHER = "a" * 32, "b" * 32


@pytest.fixture
def store():
    return MemoryZooKeeper(Agenda()).store()


@pytest.fixture
def directory(tmp_path):
    return ImagesDir(str(tmp_path))


def add_file(directory, number=1):
    with open(f"{directory.path}/debian-{build_id(number)}.qcow2", "wb") as file:
        file.write(b"x")


def test_an_empty_directory_becomes_that_of_the_tree(store, directory):
    check_files(directory, store, SITE, write=False)
    assert directory.tree_id() == ""
    check_files(directory, store, SITE, write=True)
    assert directory.tree_id() == SITE
    check_files(directory, store, SITE, write=True)


def test_files_of_which_the_tree_has_a_record_are_taken_over(store, directory):
    add_file(directory, 1)
    add_file(directory, 2)
    store.images.create_build(build(2))
    check_files(directory, store, SITE, write=True)
    assert directory.tree_id() == SITE


def test_files_without_any_record_are_not(store, directory):
    add_file(directory)
    with pytest.raises(TreeExchanged, match=rf"has files of 1 build, but ZooKeeper has no record .* write {SITE} into"):
        check_files(directory, store, SITE, write=True)
    assert directory.tree_id() == ""


@pytest.mark.parametrize("site", [SITE, ""])
def test_files_of_another_tree_are_refused_whatever_it_has(store, directory, site):
    directory.write_tree_id(OTHER)
    add_file(directory)
    store.images.create_build(build(1))
    with pytest.raises(TreeExchanged, match=f"belong to tree {OTHER}.*nothing was built, uploaded or removed"):
        check_files(directory, store, site, write=True)
    assert directory.tree_id() == OTHER
