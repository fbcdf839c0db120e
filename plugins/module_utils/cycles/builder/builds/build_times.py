# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Corrects the times of ready builds that lie in the future: a builder's clock was ahead when they became ready.

Such a build counts as the newest until its time comes, which may take years: it is never too old, and no build that is
made after it is ever used.
"""

from __future__ import annotations

from collections.abc import Callable

from ....clients.zookeeper.locks import Held
from ....clients.zookeeper.store import Store
from ....imaging.image_snapshot import ImagesView
from ....model.errors import StoreConflict, StoreDenied, StoreGone
from ....model.image import Build, BuildState
from ....model.lines import Trouble, span
from ...frame.tree_clock import TreeClock

TOLERATED = 3600.0
"""Seconds by which the time of a build may be ahead: so long a rebuild may be late."""


def _is_wrong_here(store: Store) -> bool:
    """Return True if the clock of this host differs from ZooKeeper's, or may not be compared with it."""
    try:
        return bool(TreeClock().ask(store))
    except StoreDenied:
        return True


def correct_times(
    store: Store,
    view: ImagesView,
    now: float,
    say: Callable[[str], None],
    is_wrong_here: Callable[[Store], bool] = _is_wrong_here,
) -> list[str]:
    """Give ready builds whose time has not come the latest time that they can have: now, or that of a later build.

    Nothing is done while it is the clock of this host that may be wrong.

    :return: the ids of the builds.
    :raises StoreError: ZooKeeper did not answer.
    """
    ahead = [
        build
        for state in view.images.values()
        for build in state.ready_builds
        if (build.state_time or 0.0) > now + TOLERATED
    ]
    if not ahead or is_wrong_here(store):
        return []
    # The youngest first: an older one must not get a later time.
    return [
        build.id
        for build in sorted(ahead, key=lambda build: build.born, reverse=True)
        if _correct(store, build, _latest(store, build, now), now, say)
    ]


def _latest(store: Store, build: Build, now: float) -> float:
    after = [each for each in store.images.builds(build.image) if each.born > build.born]
    return min([now, *(each.state_time or now for each in after if each.state == BuildState.READY)])


def _correct(store: Store, build: Build, time: float, now: float, say: Callable[[str], None]) -> bool:
    held: Held | None = None
    try:
        held = store.images.lock_build(build.image, build.id)
        if held is None:
            return False
        found = store.images.read_build(build.image, build.id)
        if found is None or (found.state, found.state_time) != (BuildState.READY, build.state_time):
            return False
        found.state_time = time
        store.images.write_build(found, held=held, if_unchanged=True)
    except (StoreConflict, StoreDenied, StoreGone):
        return False
    finally:
        if held is not None:
            held.release()
    early = span((build.state_time or 0.0) - now)
    told = (
        f"{build.image}: build {build.id} became ready, by its record, in {early}: the clock of its builder was wrong"
    )
    say(Trouble(f"{told}, and its time is corrected", image=build.image, build=build.id))
    return True
