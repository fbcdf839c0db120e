# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ready uploads of an image are made once for each state of its records."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.image_view import ImageView
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import BuildState, UploadState
from tests.support.build_case import build_id, upload, uploaded
from tests.support.world import World


def mark_for_deletion(world: World) -> None:
    build = world.store.images.build("built", build_id(2))
    assert build is not None
    build.set_state(BuildState.DELETING, world.agenda.now)
    world.store.images.write_build(build)


def fail(world: World) -> None:
    (found,) = [one for one in world.store.images.uploads("built", "east") if one.build_id == build_id(2)]
    found.set_state(UploadState.FAILED, world.agenda.now)
    world.store.images.write_upload(found)


def remove(world: World) -> None:
    (found,) = [one for one in world.store.images.uploads("built", "east") if one.build_id == build_id(2)]
    world.store.images.delete_upload(found)


CHANGES: dict[str, tuple[Callable[[World], None], list[int]]] = {
    "a newer build": (lambda world: upload(world, 3), [3, 2, 1]),
    "the build is marked for deletion": (mark_for_deletion, [1]),
    "the upload fails": (fail, [1]),
    "the upload is deleted": (remove, [1]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_they_are_the_same_objects_until_one_changes(change: str) -> None:
    act, left = CHANGES[change]
    with World(uploaded()) as world:
        upload(world, 1)
        upload(world, 2)
        view = world.store.images
        before = view.ready_uploads("built", "east")
        again = view.ready_uploads("built", "east")
        assert [one.build_id for one in before] == [build_id(2), build_id(1)]
        assert all(one is other for one, other in zip(before, again, strict=True))
        assert view.ready_uploads("built", "east", without={"east-2"}) == before[1:]
        assert view.ready_uploads("built", "east", unused={build_id(1)}) == before[:1]
        assert view.ready_uploads("built", "west") == [] == view.ready_uploads("other", "east")
        act(world)
        world.run(1)
        after = view.ready_uploads("built", "east")
        assert [one.build_id for one in after] == [build_id(number) for number in left]
        assert after == ImageView(world.store.session).ready_uploads("built", "east")


def test_they_are_read_again_from_another_tree() -> None:
    """After a lost session, which leaves none of what was known."""
    with World(uploaded()) as world:
        upload(world, 1)
        view, session = world.store.images, world.store.session
        (before,) = view.ready_uploads("built", "east")
        session.tree = type(session.tree)()
        assert view.ready_uploads("built", "east") == []
        assert before.build_id == build_id(1)
