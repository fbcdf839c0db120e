# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decisions of an operator about a build of a disk image: approve, reject, hold, revoke it, or undo that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...launching.made_of import MadeOf, made_of
from ...model.build_verdict import APPROVED, HAND, HELD, REJECTED, REVOKED, BuildVerdict
from ...model.errors import UnknownName, wrong
from ...model.image import Build, BuildState, age_order

if TYPE_CHECKING:
    from ...clients.zookeeper.store import Store

RESTORED = "restored"
DECISIONS = (APPROVED, HELD, REJECTED, RESTORED, REVOKED)
FUTURE = (HELD, REJECTED, REVOKED)
"""The decisions that may be announced for a later time."""
NEEDS_REASON = FUTURE
NEWEST = "newest"
"""Stands for the newest ready build of the image."""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What an operator decides.

    :ivar build_id: id of the build, or NEWEST.
    :ivar state: one of :data:`DECISIONS`.
    :ivar since: UNIX time from which on it applies; None: at once.
    """

    image: str
    build_id: str
    state: str
    reason: str = ""
    since: float | None = None


@dataclass(frozen=True)
class Outcome:
    """What was decided before and is now, and the nodes that were made from the build."""

    build_id: str
    before: BuildVerdict
    after: BuildVerdict
    nodes: MadeOf

    @property
    def changed(self) -> bool:
        """True if it was decided otherwise before."""
        return self.before != self.after


def decide(store: Store, decision: Decision, now: float, *, check: bool) -> Outcome:
    """Store a decision about a build; the launchers of all providers follow it in their next pass.

    :raises UnknownName: there is no such build.
    :raises ConfigError: see :func:`_decided`.
    """
    build_id = _find(store, decision).id
    named = replace(decision, build_id=build_id)

    def edit(verdict: BuildVerdict) -> BuildVerdict:
        return _decided(verdict, named, now)

    before = store.verdicts.of_build(decision.image, build_id)
    if check:
        after = edit(before)
    else:
        before, after = store.verdicts.change(decision.image, build_id, edit)
    nodes = made_of(map(store.nodes.get, store.nodes.ids()), decision.image, build_id)
    return Outcome(build_id, before, after, nodes)


def _decided(verdict: BuildVerdict, decision: Decision, now: float) -> BuildVerdict:
    """Return the verdict after the decision; the same one if that is decided already.

    :raises ConfigError: it is announced for later, and something else keeps the build from being used now.
    """
    if decision.state == RESTORED:
        return verdict.undone(now) if verdict.state or verdict.fallen_back else verdict
    since = decision.since
    if since is not None and not verdict.is_used(now):
        # What is announced must not make the build usable until then.
        if verdict.state != decision.state:
            raise wrong(
                f"at cannot be used: build {decision.build_id} of {decision.image} is already {verdict.text(now)}:"
                " leave out at, or restore the build first"
            )
        since = verdict.since
    after = verdict.given(decision.state, decision.reason, HAND, now, since)
    same = ("state", "reason", "by", "fallen_back")
    if any(getattr(after, name) != getattr(verdict, name) for name in same):
        return after
    # An earlier time in the past means the same.
    return verdict if after.since == verdict.since or (after.applies(now) and verdict.applies(now)) else after


def _find(store: Store, decision: Decision) -> Build:
    builds = {build.id: build for build in store.images.builds(decision.image)}
    ready = [build for build in builds.values() if build.state == BuildState.READY]
    wanted = decision.build_id
    if wanted == NEWEST and ready:
        return max(ready, key=age_order)
    if wanted in builds:
        return builds[wanted]
    if not builds:
        known = _listed(store.images.names())
        raise UnknownName([f"image names {decision.image}, but ZooKeeper has no build of it; there are {known}"])
    what = "ready build" if wanted == NEWEST else f"build {wanted}"
    raise UnknownName([f"image {decision.image} has no {what}; there are {_listed(builds)}"])


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
