# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One launch as a resumable machine: what happened goes in, what is to be done next comes out.

Nothing here acts. An event changes the record; :func:`next_step` says what the cycle must do about it. The cycle stores
the record before it carries the step out, so that a killed cycle is continued by the next one at the same place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from ..model.backoff import backoff
from ..model.cloud import Server
from ..model.launch import Launch, Phase

SETTLE_SECONDS = 10.0
"""How long a create without an answer may still turn up as a server before another one is made."""
HALF_MADE = 60.0
"""A server without a host whose create was never answered may be so old, at least, before it counts as half made."""
HALF_MADE_BOOTS = 5.0
"""And so many times the longest boot known."""
API_PAUSE = 30.0
"""Seconds until a create that the API could not do is tried again, at the most."""


class Step(Enum):
    """What the cycle has to do for a launch."""

    WAIT = "wait"
    CREATE = "create"
    WATCH = "watch"
    """Look at the server list (for the server's state, or for our mark)."""
    ADDRESS = "address"
    SCAN = "scan"
    CLEAR = "clear"
    """Delete the server of a failed attempt, to the end."""
    FINISH = "finish"
    GIVE_UP = "give-up"


class Failure(Enum):
    """Why an attempt failed; the class decides what follows."""

    QUOTA = "quota"
    CAPACITY = "no capacity"
    FAULT = "fault"
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    API = "api"
    REFUSED = "refused"
    IMAGE = "image gone"


DOES_NOT_COUNT = frozenset({Failure.QUOTA, Failure.API, Failure.IMAGE})
"""Not the launch's fault: tried again when the API is well, the pool's freeze is over or with another image."""
SPACED = frozenset({Failure.API, Failure.REFUSED, Failure.IMAGE})
"""The cloud was asked and said no, which takes no time: the next try comes a while later."""


_STEPS = {
    Phase.QUEUED: Step.CREATE,
    Phase.CREATING: Step.WAIT,
    Phase.UNCLEAR: Step.WATCH,
    Phase.BOOTING: Step.WATCH,
    Phase.ADDRESSING: Step.ADDRESS,
    Phase.REACHING: Step.SCAN,
    Phase.CLEARING: Step.CLEAR,
    Phase.READY: Step.FINISH,
    Phase.FAILED: Step.GIVE_UP,
}


@dataclass(frozen=True)
class LaunchRules:
    """The provider's settings that decide: seconds and the number of attempts."""

    launch_timeout: float
    boot_timeout: float
    retries: int


def next_step(launch: Launch, now: float) -> Step:
    """What is to be done for the launch at this moment."""
    if launch.phase in (Phase.QUEUED, Phase.ADDRESSING) and now < launch.not_before:
        return Step.WAIT
    return _STEPS[launch.phase]


def begin_attempt(launch: Launch, mark: str, now: float) -> None:
    """A create is about to be sent with *mark*."""
    launch.mark = mark
    if not launch.started:
        launch.started = now
    launch.server_id = None
    launch.created_at = None
    launch.active_at = None
    launch.asked_at = now
    launch.enter(Phase.CREATING, now)


def adopt(launch: Launch, now: float, settle: float = 0.0) -> None:
    """Another cycle's launch is taken over.

    A create that it had under way may or may not have been made: its server is looked for from when the create was
    sent, not from the adoption. A server that was up is looked at once more: this cycle has no listing with its
    addresses yet, and a floating IP that was asked for shows there if it came about.

    :param settle: seconds after which the server of a create shows, as far as the cloud has shown lately.
    """
    launch.adopted += 1
    launch.adopted_at = now
    if launch.phase == Phase.CREATING:
        create_unclear(launch, launch.asked_at or now, settle)
    elif launch.phase in (Phase.ADDRESSING, Phase.REACHING):
        launch.enter(Phase.BOOTING, now)


def created(launch: Launch, server_id: str, now: float) -> None:
    """nova accepted the create."""
    launch.server_id = server_id
    launch.created_at = now
    launch.answered = True
    launch.enter(Phase.BOOTING, now)


def create_unclear(launch: Launch, now: float, settle: float = 0.0, silent_until: float = 0.0) -> None:
    """The create may or may not have been done: its server must be looked for before another is made.

    :param settle: for so many seconds, as far as the cloud has shown lately.
    :param silent_until: the create was given up although nothing was wrong but that no answer came; until this time at
        the latest one may still come of it. A second one is looked for as long as of the first one a server may come:
        so there is one too many at the most.
    """
    launch.look_until = now + settle
    if silent_until:
        if now < launch.doubt_until:
            launch.look_until = max(launch.look_until, launch.doubt_until)
        else:
            launch.doubt_until = silent_until
    launch.enter(Phase.UNCLEAR, now)


def found(launch: Launch, mark: str, server_id: str, now: float) -> bool:
    """The list shows a server of one of the launch's creates, the present one or one that was given up.

    :return: True when it is the launch's now: nothing has come of any other so far. If the present create makes a
        server all the same, that is the one too many.
    """
    if launch.phase not in (Phase.QUEUED, Phase.CREATING, Phase.UNCLEAR):
        return False
    if mark in launch.superseded:
        launch.superseded.remove(mark)
        if launch.mark:
            launch.superseded.append(launch.mark)
        launch.mark = mark
    elif mark != launch.mark:
        return False
    launch.started = launch.started or now
    created(launch, server_id, now)
    launch.answered = False
    return True


def is_half_made(launch: Launch, server: Server | None, longest_boot: float, now: float) -> bool:
    """True for a server of which nothing will come: nova-api ended between storing it and handing it on.

    It stays in BUILD without a host for ever. Only the time tells it from one that waits for its turn.

    :param longest_boot: seconds that boots of this provider have taken of late; 0 while nothing is known.
    """
    if server is None or launch.answered or launch.phase != Phase.BOOTING:
        return False
    if server.status != "BUILD" or server.host_id:
        return False
    return now - launch.since >= max(HALF_MADE, HALF_MADE_BOOTS * longest_boot)


def seen(
    launch: Launch, server: Server | None, listed_from: float, now: float, rules: LaunchRules, needs_address: bool
) -> Failure | None:
    """A listing that was asked for at *listed_from* shows the launch's server, or (None) does not.

    :return: the class of the failure when the attempt has failed; the caller then calls :func:`failed`.
    """
    if launch.phase == Phase.UNCLEAR:
        if server is not None:
            created(launch, server.id, launch.since)
            launch.answered = False
        elif listed_from >= max(launch.since + SETTLE_SECONDS, launch.look_until):
            launch.superseded.append(launch.mark)
            launch.mark = ""
            return Failure.API
        else:
            return None
    if launch.phase != Phase.BOOTING:
        return None
    if server is None:
        # nova's list may lag behind its own create for a moment.
        missing_for = listed_from - (launch.created_at or launch.since)
        return Failure.FAULT if missing_for >= SETTLE_SECONDS else None
    if server.status == "ERROR":
        return fault_class(server.fault or "")
    if server.status == "ACTIVE":
        # Another cycle got a floating IP that this list does not show, or not any more: it is looked for first.
        launch.floating_doubt |= needs_address and launch.floating_ip_id is not None
        launch.active_at = now
        launch.enter(Phase.ADDRESSING if needs_address else Phase.REACHING, now)
        return None
    if server.status in ("DELETED", "SOFT_DELETED"):
        return Failure.FAULT
    return Failure.TIMEOUT if now - launch.started > rules.launch_timeout else None


def addressed(launch: Launch, floating_ip_id: str, address: str, now: float) -> None:
    """A floating IP is attached."""
    launch.floating_ip_id = floating_ip_id
    launch.floating_address = address
    launch.floating_doubt = False
    launch.enter(Phase.REACHING, now)


def address_refused(launch: Launch, now: float, random: Callable[[], float]) -> None:
    """There is no floating IP to be had at the moment: the server is kept, and one asked for again."""
    _wait_a_while(launch, now, random)


def _wait_a_while(launch: Launch, now: float, random: Callable[[], float]) -> None:
    launch.delays += 1
    launch.not_before = now + backoff(launch.delays, first=2.0, most=API_PAUSE, spread=0.25, chance=random())


def reached(launch: Launch, now: float) -> None:
    """The node answers and its host keys are known."""
    launch.enter(Phase.READY, now)


def failed(
    launch: Launch, failure: Failure, text: str, now: float, rules: LaunchRules, random: Callable[[], float]
) -> None:
    """The present attempt failed; decides between clearing up, trying again later and giving up."""
    if failure in SPACED:
        _wait_a_while(launch, now, random)
    if failure not in DOES_NOT_COUNT:
        launch.failures.append(f"attempt {launch.attempt}: {failure.value}: {text}")
        launch.attempt += 1
    if len(launch.failures) >= rules.retries:
        launch.enter(Phase.FAILED, now)
    elif launch.server_id is not None or launch.floating_ip_id is not None:
        launch.enter(Phase.CLEARING, now)
    else:
        _again(launch, now)


def cleared(launch: Launch, now: float) -> None:
    """The failed attempt's server is gone: the next attempt may begin."""
    launch.server_id = None
    launch.floating_ip_id = None
    launch.floating_address = None
    launch.floating_doubt = False
    _again(launch, now)


def fault_class(text: str) -> Failure:
    """Sort the fault text of a server in ERROR (texts of nova; openstack-observed)."""
    lowered = text.lower()
    if "quota" in lowered or "number of ports exceeded" in lowered:
        return Failure.QUOTA
    if "no valid host" in lowered:
        return Failure.CAPACITY
    return Failure.FAULT


def _again(launch: Launch, now: float) -> None:
    launch.started = 0.0
    launch.mark = ""
    launch.enter(Phase.QUEUED, now)
