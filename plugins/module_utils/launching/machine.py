# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state machine of one launch. It can be resumed: events go in, the next step comes out.

For each event a function changes the record, and :func:`next_step` returns what the cycle must do next. Nothing here
acts. The cycle stores the record before it carries out the step, so that after a kill the next cycle continues at the
same place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from ..model import owner
from ..model.backoff import backoff
from ..model.cloud import Server
from ..model.launch import Launch, Phase
from ..model.resources import ORDER
from .classifier import (
    COURSES,
    Tries,
    Verdict,
    of_fault,
)

SETTLE_SECONDS = 10.0
"""Seconds during which an unanswered create may still appear as a server; only then another one is made."""
HALF_MADE = 60.0
"""Least age in seconds at which a server without a host, whose create was never answered, counts as half made."""
HALF_MADE_BOOTS = 5.0
"""And the least age as a multiple of the longest known boot."""
API_PAUSE = 30.0
"""Longest wait in seconds before a create or a floating IP is tried again after a refusal or a failure of the API."""


class Step(Enum):
    """What the cycle must do for a launch."""

    WAIT = "wait"
    CREATE = "create"
    WATCH = "watch"
    """Read the server list, for the server's state or for the launch's mark."""
    ADDRESS = "address"
    SCAN = "scan"
    CLEAR = "clear"
    """Delete the server of a failed attempt and wait until it is gone."""
    FINISH = "finish"
    GIVE_UP = "give-up"


class Failure(Enum):
    """The class of a failure; it decides what follows."""

    QUOTA = "quota"
    CAPACITY = "no capacity"
    FAULT = "fault"
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    UNPROVED = "not proved"
    """It answers, but with the address or a host key of another node."""
    PROBE = "probe"
    """It answers, but does not pass the probe of its label or image."""
    API = "api"
    REFUSED = "refused"
    IMAGE = "image gone"


ENDED = frozenset({"DELETED", "SOFT_DELETED"})
STOPPED = frozenset({"SHUTOFF", "PAUSED", "SUSPENDED", "SHELVED", "SHELVED_OFFLOADED"})
"""Statuses that a server has only after it was ACTIVE, and that it does not leave by itself."""
DOES_NOT_COUNT = frozenset({Failure.QUOTA, Failure.CAPACITY, Failure.API, Failure.IMAGE})
"""Failures that the launch did not cause: it is tried again when the API works or the freeze is over, or with another
image."""
SPACED = frozenset({Failure.API, Failure.REFUSED, Failure.IMAGE, Failure.UNPROVED})
"""Failures that the cloud reports at once, or that the next try may meet again: the launcher waits before it."""
MOST_UNKNOWN_PAUSE = 120.0
"""Longest wait in seconds after failures of which nothing shows whose fault they are."""


_STEPS = {
    Phase.QUEUED: Step.CREATE,
    Phase.CREATING: Step.WAIT,
    Phase.UNCLEAR: Step.WATCH,
    Phase.BOOTING: Step.WATCH,
    Phase.ADDRESSING: Step.ADDRESS,
    Phase.REACHING: Step.SCAN,
    Phase.PROBING: Step.WAIT,
    Phase.CLEARING: Step.CLEAR,
    Phase.READY: Step.FINISH,
    Phase.FAILED: Step.GIVE_UP,
}


@dataclass(frozen=True)
class LaunchRules:
    """The provider's settings for launches: times in seconds and the number of attempts."""

    launch_timeout: float
    retries: int


def next_step(launch: Launch, now: float) -> Step:
    """Return what the cycle must do for the launch now."""
    if launch.phase in (Phase.QUEUED, Phase.ADDRESSING) and now < launch.not_before:
        return Step.WAIT
    return _STEPS[launch.phase]


def begin_attempt(launch: Launch, mark: str, now: float) -> None:
    """Record that a create with *mark* is about to be sent."""
    launch.mark = mark
    if not launch.started:
        launch.started = now
    launch.server_id = None
    launch.created_at = None
    launch.active_at = None
    launch.asked_at = now
    launch.enter(Phase.CREATING, now)


def adopt(launch: Launch, now: float, settle: float = 0.0) -> None:
    """Take over another cycle's launch.

    A create that was under way may or may not have made a server. The time to look for it counts from when the create
    was sent, not from the adoption. A server that was ACTIVE is looked up once more: this cycle has no listing with its
    addresses yet, and the listing shows whether a requested floating IP was made.

    :param settle: seconds within which the server of a create is listed, judged by recent creates.
    """
    launch.adopted += 1
    launch.adopted_at = now
    if launch.phase == Phase.CREATING:
        create_unclear(launch, launch.asked_at or now, settle)
    elif launch.phase in (Phase.ADDRESSING, Phase.REACHING, Phase.PROBING):
        launch.enter(Phase.BOOTING, now)


def created(launch: Launch, server_id: str, now: float) -> None:
    """Record that nova accepted the create."""
    launch.server_id = server_id
    launch.created_at = now
    launch.guest_since = launch.answered_at = None
    launch.answered = True
    launch.trouble = ""
    launch.enter(Phase.BOOTING, now)


def create_unclear(launch: Launch, now: float, settle: float = 0.0, silent_until: float = 0.0, text: str = "") -> None:
    """Record that the create may or may not have made a server: the cycle looks for it before it makes another one.

    :param settle: seconds for which to look, judged by recent creates.
    :param silent_until: not 0 when the create was given up only because no answer came: until this time a server may
        still appear. If a second create is given up before then, the launcher looks for a server until that time, so
        that there is at most one server too many.
    :param text: what was answered, or that nothing was.
    """
    launch.trouble = text or launch.trouble
    launch.look_until = now + settle
    if silent_until:
        if now < launch.doubt_until:
            launch.look_until = max(launch.look_until, launch.doubt_until)
        else:
            launch.doubt_until = silent_until
    launch.enter(Phase.UNCLEAR, now)


def found(launch: Launch, mark: str, server_id: str, now: float) -> bool:
    """Record that the list shows a server of one of the launch's creates: the present one or one that was given up.

    :return: True when the launch takes the server, because no other create has made one so far. If the present create
        makes a server later, that one is superfluous and is deleted.
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
    """True for a server that will never boot: nova-api ended after storing it and before passing it on.

    It stays in BUILD without a host for ever. Only its age distinguishes it from a server that still waits for a host.

    :param longest_boot: the longest recent boot of this provider in seconds; 0 while nothing is known.
    """
    if server is None or launch.answered or launch.phase != Phase.BOOTING:
        return False
    if server.status != "BUILD" or server.host_id:
        return False
    return now - launch.since >= max(HALF_MADE, HALF_MADE_BOOTS * longest_boot)


def seen(
    launch: Launch, server: Server | None, listed_from: float, now: float, rules: LaunchRules, needs_address: bool
) -> Failure | None:
    """Record what a listing requested at *listed_from* shows: the launch's server, or None.

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
        return failure_of(of_fault(server.fault or "", server.fault_code), fault=True)
    if server.status == "ACTIVE":
        # Another cycle got a floating IP that this list may not show: look for it before a new one is requested.
        launch.floating_doubt |= needs_address and launch.floating_ip_id is not None
        launch.active_at = now
        if needs_address:
            launch.enter(Phase.ADDRESSING, now)
        else:
            _wait_for_guest(launch, now)
        return None
    if server.status in ENDED or server.status in STOPPED:
        return Failure.FAULT
    return Failure.TIMEOUT if now - launch.started > rules.launch_timeout else None


def addressed(launch: Launch, floating_ip_id: str, address: str, now: float) -> None:
    """Record that a floating IP is attached."""
    launch.floating_ip_id = floating_ip_id
    launch.floating_address = address
    launch.floating_doubt = False
    launch.trouble = ""
    _wait_for_guest(launch, now)


def address_refused(
    launch: Launch, text: str, now: float, random: Callable[[], float], whose: str = owner.CAPACITY
) -> None:
    """Record that no floating IP is available now: the server is kept, and the launcher asks again later."""
    launch.owner, launch.trouble = whose, text
    _wait_a_while(launch, now, random)


def _wait_a_while(launch: Launch, now: float, random: Callable[[], float], most: float = API_PAUSE) -> None:
    launch.delays += 1
    launch.not_before = now + backoff(launch.delays, first=2.0, most=most, spread=0.25, chance=random())


def _wait_for_guest(launch: Launch, now: float) -> None:
    """Record that the server has its address. The time for its answer does not begin anew with each cycle."""
    launch.guest_since = now if launch.guest_since is None else launch.guest_since
    launch.enter(Phase.REACHING, now)


def probing(launch: Launch, now: float) -> None:
    """Record that the node answers, and must pass a probe before it is ready; its time began with the first answer."""
    launch.answered_at = now if launch.answered_at is None else launch.answered_at
    launch.enter(Phase.PROBING, now)


def reached(launch: Launch, now: float) -> None:
    """Record that the node answers and its host keys are known."""
    launch.enter(Phase.READY, now)


def counts(failure: Failure, whose: str) -> bool:
    """Return True if the failure counts as an attempt of the launch: it may be its own."""
    return failure not in DOES_NOT_COUNT and (COURSES[whose].may_fail or whose == owner.UNKNOWN)


def failed(
    launch: Launch,
    failure: Failure,
    text: str,
    now: float,
    rules: LaunchRules,
    random: Callable[[], float],
    whose: str = owner.IMAGE,
    *,
    once: bool = False,
) -> None:
    """Record that the attempt failed; decide between cleaning up, another attempt later, and giving up.

    :param whose: the owner of the failure. It alone decides whether the launch may ever be given up for it.
    :param once: True for what cannot succeed with the same settings.
    """
    launch.owner = whose
    # That an unanswered create produced no server tells less than why it was not answered.
    launch.trouble = (launch.trouble if launch.phase == Phase.UNCLEAR else "") or text
    launch.thrown += launch.server_id is not None
    course, counted = COURSES[whose], counts(failure, whose)
    unknown = counted and whose == owner.UNKNOWN
    narrow = failure is Failure.CAPACITY or (course.freezes and failure is not Failure.QUOTA)
    if unknown:
        # A first server that fails costs no pause; the pauses after it are as long as if it had cost one.
        launch.delays = max(launch.delays, len(launch.failures))
    if failure in SPACED or narrow or not (counted or course.freezes) or (unknown and launch.failures):
        before_it = failure is Failure.REFUSED and whose == owner.CLOUD
        # No breaker holds up a single launch: a longer first pause leaves six refusals in two minutes.
        launch.delays = max(launch.delays, 1) if before_it else launch.delays
        _wait_a_while(launch, now, random, MOST_UNKNOWN_PAUSE if unknown or before_it else API_PAUSE)
    if counted:
        launch.failures.append(f"attempt {launch.attempt}: {failure.value}: {text} [owner: {whose}]")
        launch.attempt += 1
        launch.first_failed = launch.first_failed or now
    tries = 1 if once or course.tries is Tries.ONCE else rules.retries
    if counted and course.may_fail and len(launch.failures) >= tries:
        launch.enter(Phase.FAILED, now)
    elif launch.server_id is not None or launch.floating_ip_id is not None:
        launch.enter(Phase.CLEARING, now)
    else:
        _again(launch, now)


def cleared(launch: Launch, now: float) -> None:
    """Record that the failed attempt's server is gone: the next attempt may begin."""
    if launch.server_id is not None:
        launch.thrown_seconds += max(0.0, now - (launch.created_at or now))
    launch.server_id = None
    launch.floating_ip_id = None
    launch.floating_address = None
    launch.floating_doubt = False
    _again(launch, now)


def left_behind(launch: Launch, now: float) -> None:
    """Record that the failed attempt's server cannot be deleted: the next attempt does not wait for that.

    The server's mark stays among the superseded ones, so that the server is deleted once the cloud allows it.
    """
    launch.superseded.append(launch.mark)
    cleared(launch, now)


def failure_of(verdict: Verdict, *, fault: bool) -> Failure:
    """Return the class of a failure, which metrics and lines name.

    :param fault: True for a server in ERROR, False for a call that was refused or not answered.
    """
    if verdict.owner == owner.CAPACITY:
        return Failure.QUOTA if any(name in ORDER for name in verdict.resources) else Failure.CAPACITY
    if fault:
        return Failure.FAULT
    return Failure.API if verdict.owner == owner.CLOUD and not verdict.sent else Failure.REFUSED


def _again(launch: Launch, now: float) -> None:
    launch.started = 0.0
    launch.mark = ""
    launch.enter(Phase.QUEUED, now)
