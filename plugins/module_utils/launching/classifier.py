# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide whose fault a failed launch is, and with that alone what follows. No I/O.

:func:`classify` goes through a table. A rule looks at the call, the status and the machine-readable type first, and at
words only where OpenStack gives nothing else: nova stores the fault of a server as a text. An answer that no rule knows
is judged by what else is seen at the same time; without a second, independent sign it stays *unknown*.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import Enum

from ..clients.openstack.quota import own_words, quota_resources
from ..model import owner
from ..model.errors import CloudAuthError, CloudError, CloudQuotaRefused, CloudUnavailable
from ..model.resources import FLOATING_IPS, INSTANCES
from .known_answers import (
    ADDRESSES,
    CREATES,
    FAULT,
    FLOATING,
    READ,
    RULES,
    SERVERS,
    SUCCESS,
    SUCCESS_THERE,
    ZONE,
    Answer,
    Rule,
)


@dataclass(frozen=True)
class Seen:
    """What else is seen at the time of a failure, in the same provider unless something else is said.

    :ivar from_request: the metadata keys of the launch whose values come from its request.
    :ivar reread: True if the fact that the answer names was read anew before this attempt, and was there.
    :ivar label_succeeds: nodes of the same label became ready for others since this launch first failed.
    :ivar others_succeed: nodes with another image or flavor became ready since then.
    :ivar same_for_others: a launch for somebody else failed in the same way, with the same image and flavor.
    :ivar one_tenant: its create sends data of its request, and all that failed in the same way are of its tenant.
    :ivar spared: nodes with the same image and flavor became ready for another label or tenant.
    :ivar same_for_all: launches with another image or flavor failed in the same way, and none became ready.
    :ivar forbidden: within the past hour the cloud forbade creates with the same image and flavor to others, too.
    :ivar elsewhere: the same label failed at another provider too, where other labels work.
    :ivar zones_left: the launch may be tried in a zone in which its create has not been refused yet.
    :ivar lasting: it has failed so for longer than a passing trouble lasts.
    :ivar persistent: it has failed so for a very long time.
    """

    from_request: Collection[str] = ()
    reread: bool = False
    label_succeeds: bool = False
    others_succeed: bool = False
    same_for_others: bool = False
    one_tenant: bool = False
    spared: bool = False
    same_for_all: bool = False
    forbidden: bool = False
    elsewhere: bool = False
    zones_left: bool = False
    lasting: bool = False
    persistent: bool = False


NOTHING_ELSE = Seen()


@dataclass(frozen=True)
class Verdict:
    """Whose fault it is.

    :ivar resources: what is used up: names of :mod:`..model.resources` or :mod:`.known_answers`. It is frozen in the
        pool.
    :ivar names: what the answer says does not exist: ``flavor``, ``image``, ``network``, ``group``, ``key``, ``zone``;
        ``name`` if the name of the server is taken. It is read anew before the failure counts.
    :ivar once: it is tried once, whatever the owner says.
    :ivar wrong: the field of the create that is wrong; "" if none is named.
    :ivar sent: it may be about anything that the create sends: what is held up is what all that are refused so share.
    """

    owner: str
    resources: tuple[str, ...] = ()
    names: str = ""
    wrong: str = ""
    once: bool = False
    sent: bool = False


class Tries(Enum):
    """How often a launch is tried in one place."""

    ONCE = "once"
    RETRIES = "launch-retries times"
    WAITS = "until it succeeds"


@dataclass(frozen=True)
class Course:
    """What follows from an owner.

    :ivar breaker: what launches nothing more for a time: ``label``, ``image and flavor`` or "".
    :ivar freezes: True if the resource is frozen in the pool.
    :ivar touches: who else waits.
    """

    tries: Tries
    breaker: str = ""
    freezes: bool = False
    touches: str = "nobody"

    @property
    def may_fail(self) -> bool:
        """True if a request may fail for it in this pool."""
        return self.tries is not Tries.WAITS


LABEL_BREAKER, IMAGE_AND_FLAVOR = "label", "image and flavor"
COURSES = {
    owner.REQUEST: Course(Tries.ONCE),
    owner.LABEL: Course(Tries.ONCE, breaker=LABEL_BREAKER, touches="requests for the label in this pool"),
    owner.IMAGE: Course(Tries.RETRIES, breaker=IMAGE_AND_FLAVOR, touches="launches with the same image and flavor"),
    owner.ACCOUNT: Course(Tries.WAITS, freezes=True, touches="the pool"),
    owner.CAPACITY: Course(Tries.WAITS, freezes=True, touches="who needs the same resource in this pool"),
    owner.NETWORK: Course(Tries.WAITS, freezes=True, touches="who needs the same networks in this pool"),
    owner.CLOUD: Course(Tries.WAITS, touches="nobody; who needs the same networks, if no server answers there"),
    owner.US: Course(Tries.WAITS, touches="nobody; who needs the same networks, if no server answers there"),
    owner.UNKNOWN: Course(Tries.WAITS),
}


_PREFIX = re.compile(r"^.{0,400}?was answered with \d+:?", re.DOTALL)
"""What the client puts before the words of the cloud; it has the name of the provider, which may be any word."""
_NO_CREATES = re.compile(r"policy doesn't allow \S*servers:create to be", re.IGNORECASE)
"""What nova says when its policy lets the account make no server at all; other rules are about what a server has."""
_FIELD = re.compile(r"field/attribute (\S+?)\.? Value:", re.IGNORECASE)
_LAST = re.compile(r"last exception: (.+)", re.IGNORECASE | re.DOTALL)
"""What nova says of the last host on which it tried a build."""
_UNANSWERED = frozenset({408, 425, 429})


def classify(answer: Answer, seen: Seen = NOTHING_ELSE) -> Verdict:
    """Return whose fault the answer is. Every answer has exactly one owner."""
    if answer.call != FAULT and _no_answer(answer.status):
        return Verdict(owner.CLOUD)
    verdict = _judged(replace(answer, text=own_words(answer.text)), seen)
    held_up = verdict.sent or verdict.resources
    if verdict.owner == owner.CLOUD and answer.call in (SERVERS, FAULT) and not held_up:
        # nova works for other calls, so nothing else would space these.
        lacking = {"": SUCCESS_THERE, "zone": ZONE}.get(verdict.names, SUCCESS)
        return replace(verdict, resources=(lacking,))
    return verdict


def _judged(answer: Answer, seen: Seen) -> Verdict:
    rule = next((rule for rule in RULES if rule.holds(answer)), None)
    last = _LAST.search(answer.text) if rule is not None and rule.owner == owner.UNKNOWN else None
    if last is not None:
        answer = replace(answer, text=last[1])
        rule = next((rule for rule in RULES if rule.holds(answer)), None)
    if rule is None or rule.owner == owner.UNKNOWN:
        return Verdict(_by_signs(answer, seen))
    return _refined(rule, answer, seen)


def of_error(error: CloudError, seen: Seen = NOTHING_ELSE) -> Verdict:
    """Return whose fault the error of a call is."""
    if isinstance(error, CloudAuthError):
        # A token of this moment is refused by nova alone: creates are what cannot be had.
        return Verdict(owner.ACCOUNT, (CREATES,) if error.call == SERVERS else ())
    if isinstance(error, CloudUnavailable):
        # What looks like a refusal was judged before: a zone that nova has lost sight of.
        return Verdict(owner.CLOUD, (ZONE,), "zone") if denies_zone(error) else Verdict(owner.CLOUD)
    verdict = classify(_answer(error), seen)
    if isinstance(error, CloudQuotaRefused) and verdict.owner not in (owner.CAPACITY, owner.LABEL, owner.REQUEST):
        other = FLOATING_IPS if error.call == FLOATING else INSTANCES
        return Verdict(owner.CAPACITY, error.resources or (other,))
    return verdict


def denies_zone(error: CloudError) -> bool:
    """Return True for a create that was refused because of its zone, in whatever words."""
    return classify(_answer(error)).names == "zone"


def _answer(error: CloudError) -> Answer:
    return Answer(error.call, error.status, error.error_type, _PREFIX.sub("", str(error)), error.foreign)


def of_fault(text: str, code: int | None, seen: Seen = NOTHING_ELSE) -> Verdict:
    """Return whose fault it is that a server went to ERROR."""
    return classify(Answer(FAULT, code, "", text), seen)


def of_broken_create(seen: Seen) -> Verdict:
    """Return whose fault it is that nova answers a create with 500 and makes no server.

    While nova serves others it may fail over what this create sends. That must last very long before it counts.
    """
    if not (seen.label_succeeds or seen.others_succeed):
        return Verdict(owner.CLOUD)
    if not seen.persistent:
        return Verdict(owner.UNKNOWN)
    return Verdict(owner.REQUEST if seen.label_succeeds else owner.LABEL)


def of_slow_build(seen: Seen) -> Verdict:
    """Return whose fault it is that a server was not ACTIVE within launch-timeout, which the operator has set."""
    if seen.label_succeeds:
        return Verdict(owner.UNKNOWN)
    return Verdict(owner.CLOUD if seen.same_for_all and not seen.others_succeed else owner.IMAGE)


def of_no_address(seen: Seen) -> Verdict:
    """Return whose fault it is that an ACTIVE server has no address that can be used: neutron gives addresses."""
    return Verdict(owner.UNKNOWN) if seen.label_succeeds else Verdict(owner.NETWORK, (ADDRESSES,))


def _no_answer(status: int | None) -> bool:
    return status is None or status >= 500 or status < 400 or status in _UNANSWERED


def _refined(rule: Rule, answer: Answer, seen: Seen) -> Verdict:
    """Add to a rule's owner what the answer names, and look whether another sign contradicts it."""
    if rule.foreign or rule.calls == READ:
        return _of_the_way(rule, answer, seen)
    once = rule.once and answer.call == SERVERS
    verdict = Verdict(rule.owner, (rule.resource,) if rule.resource else (), rule.names, once=once)
    if rule.owner == owner.CAPACITY and not rule.resource:
        return replace(verdict, resources=quota_resources(answer.text) or (INSTANCES,))
    if rule.owner == owner.LABEL and not rule.names:
        named = _FIELD.search(answer.text)
        wrong = named[1] if named is not None else ""
        return replace(verdict, owner=owner.REQUEST if wrong in seen.from_request else owner.LABEL, wrong=wrong)
    if rule.owner == owner.LABEL and rule.names and seen.reread and _says_it_is_gone(answer):
        # The cloud shows what nova says does not exist: that is not for the label to mend. Where everything else works
        # for long, the account may see it, but not use it.
        mine = seen.persistent and seen.others_succeed and not seen.label_succeeds
        return replace(verdict, owner=owner.LABEL if mine else owner.CLOUD)
    if rule.owner == owner.ACCOUNT and answer.status == 403:
        if answer.call == FLOATING:
            # The server is there and works: it waits for its address. Others may succeed without one.
            return replace(verdict, resources=(FLOATING_IPS,))
        if seen.label_succeeds or seen.others_succeed or seen.spared:
            return Verdict(_by_signs(answer, seen))
        if _NO_CREATES.search(answer.text):
            return replace(verdict, resources=(CREATES,))
        independent = seen.same_for_others and not seen.one_tenant
        others_too = (independent or seen.same_for_all) and not seen.zones_left
        others_too = others_too or seen.forbidden or seen.persistent
        if answer.call.startswith(SERVERS) and not others_too:
            # It may be the data of one request, or a flavor, that is forbidden: nobody else waits for it.
            return Verdict(owner.UNKNOWN)
    return verdict


def _of_the_way(rule: Rule, answer: Answer, seen: Seen) -> Verdict:
    """Return whose fault it is that a launch gets no further for what neither its request nor its label can mend.

    A firewall may forbid what one create sends, or all of them: that it is all shows only when others fail as well.
    """
    if answer.call != SERVERS:
        # The server is there and works: it waits for its address.
        return Verdict(rule.owner, (FLOATING_IPS,))
    some_succeed = seen.label_succeeds or seen.others_succeed or seen.spared
    return Verdict(rule.owner, (SUCCESS,)) if seen.same_for_all and not some_succeed else Verdict(rule.owner, sent=True)


def _says_it_is_gone(answer: Answer) -> bool:
    ambiguous = re.search(
        r"multiple|more than one|requires a subnet|not allowed|not supported|unique", answer.text, re.IGNORECASE
    )
    return ambiguous is None and answer.error_type != "NoUniqueMatch"


def _by_signs(answer: Answer, seen: Seen) -> str:
    """Return the owner of an answer that says nothing by itself: a second, independent sign must point to one."""
    if seen.same_for_all and not (seen.label_succeeds or seen.others_succeed):
        return owner.CLOUD
    if seen.zones_left and answer.call == SERVERS and not seen.persistent:
        return owner.UNKNOWN
    if seen.label_succeeds:
        # Its label, image and flavor work for others. A refusal is then its own; a server in ERROR is bad luck.
        return owner.REQUEST if answer.call == SERVERS and seen.lasting else owner.UNKNOWN
    # The data of one tenant's requests may be what is refused: then no other request for the label fails for it.
    mine = answer.call == SERVERS and seen.one_tenant
    if seen.elsewhere and seen.others_succeed:
        return owner.REQUEST if mine else owner.LABEL
    shared = seen.same_for_others and not mine and (seen.others_succeed or seen.lasting)
    if shared or (seen.others_succeed and seen.lasting) or seen.persistent:
        # A refused call is about what was sent, which the label says. Only a server that was made can show that its
        # image or flavor does not work.
        if mine:
            return owner.REQUEST
        return owner.IMAGE if answer.call == FAULT else owner.LABEL
    return owner.UNKNOWN
