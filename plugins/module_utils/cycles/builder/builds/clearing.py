# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Removes the remains of killed builds before anything is built."""

from __future__ import annotations

from collections.abc import Callable

from ....clients.diskimage_builder.images_dir import ImagesDir
from ....clients.diskimage_builder.reaper import Reaped, reap
from ....clients.diskimage_builder.scratch import (
    Leftover,
    leftovers,
)
from ....clients.zookeeper.store import Store
from ....imaging.files import base_name
from ....imaging.image_snapshot import ImagesView
from ....imaging.retention import abandoned_builds
from ....model.errors import StoreGone
from ....model.image import Build, BuildState
from ....model.lines import Line, Trouble


def clear_machine(
    store: Store | None,
    images_dir: str,
    say: Callable[[str], None],
    reaper: Callable[[Leftover], Reaped] = reap,
) -> list[str]:
    """End the processes and remove the remains, on this machine, of builds whose cycle was killed.

    Files in images-dir are removed, too, unless the build is ready in ZooKeeper: then its cycle was killed between the
    last two steps.

    :param store: None for builds without records in ZooKeeper.
    :return: sentences for the operator about what was done.
    """
    done = []
    for leftover in leftovers(images_dir):
        reaped = reaper(leftover)
        text = f"removed what build {leftover.build_id} of {leftover.image or 'some image'} had left: "
        done.append(text + reaped.text())
        say(Line(done[-1], image=leftover.image, build=leftover.build_id))
        if leftover.image and not _is_ready(store, leftover):
            ImagesDir(images_dir).remove_build(base_name(leftover.image, leftover.build_id))
    return done


def _is_ready(store: Store | None, leftover: Leftover) -> bool:
    if store is None:
        return False
    build = store.images.read_build(leftover.image, leftover.build_id)
    return build is not None and build.state == BuildState.READY


def set_build_state(store: Store, build: Build, state: str, now: float, may: Callable[[Build], bool]) -> bool | None:
    """Set the state of a build under its lock, if *may* allows it for the current record.

    :return: True if the state was set, False if it may not be, None if another client has the lock.
    :raises StoreError: the write failed; :class:`StoreGone` if the build is gone.
    """
    held = store.images.lock_build(build.image, build.id)
    if held is None:
        return None
    try:
        found = store.images.read_build(build.image, build.id)
        if found is None or not may(found):
            return False
        if state == BuildState.FAILED:
            found.formats = []
        found.set_state(state, now)
        store.images.write_build(found, held=held, if_unchanged=True)
        return True
    finally:
        held.release()


def fail_abandoned(store: Store, view: ImagesView, now: float, say: Callable[[str], None]) -> list[str]:
    """Mark abandoned builds of this builder, which no process makes any more, as failed.

    :return: the ids of the builds.
    """
    done = []
    for build in abandoned_builds(view):
        try:
            if not set_build_state(store, build, BuildState.FAILED, now, lambda it: it.state == BuildState.BUILDING):
                continue
        except StoreGone:
            continue
        done.append(build.id)
        line = f"{build.image}: build {build.id} was interrupted and is marked as failed"
        say(Trouble(line, image=build.image, build=build.id))
    return done
