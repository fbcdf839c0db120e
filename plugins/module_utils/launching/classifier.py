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
from dataclasses import dataclass, field, replace
from enum import Enum

from ..clients.openstack.quota import own_words, quota_resources
from ..model import owner
from ..model.errors import CloudAuthError, CloudError, CloudQuotaRefused, CloudUnavailable
from ..model.resources import FLOATING_IPS, INSTANCES, PORTS, VOLUMES

HOSTS = "hosts"
"""Room on hypervisors for one flavor in one zone: no quota, so it shows only in servers that fail."""
ADDRESSES = "addresses"
"""Addresses or ports in the networks of one label."""
CREATES = "creates"
"""Every create of the pool: the account may not create servers at all."""
REACH = "reach"
"""Servers that answer by ssh in the networks of one label, in one zone."""

FAULT = "fault"
"""Stands for the call where a server went to ERROR after its create was accepted."""


@dataclass(frozen=True)
class Answer:
    """What a cloud answered to a launch.

    :ivar call: the kind of call, as ``POST /servers``; :data:`FAULT` for the fault of a server.
    :ivar status: the HTTP status, or the code of the fault; None if there was no answer.
    :ivar error_type: the machine-readable type in the body; "" without one.
    :ivar text: the words.
    """

    call: str
    status: int | None
    error_type: str = ""
    text: str = ""


@dataclass(frozen=True)
class Seen:
    """What else is seen at the time of a failure, in the same provider unless something else is said.

    :ivar from_request: the metadata keys of the launch whose values come from its request.
    :ivar reread: True if the fact that the answer names was read anew before this attempt, and was there.
    :ivar label_succeeds: nodes of the same label became ready for others since this launch first failed.
    :ivar others_succeed: nodes with another image or flavor became ready since then.
    :ivar same_for_others: a launch for somebody else failed in the same way, with the same image and flavor.
    :ivar same_for_all: launches with another image or flavor failed in the same way, and none became ready.
    :ivar elsewhere: the same label failed at another provider too, where other labels work.
    :ivar lasting: it has failed so for longer than a passing trouble lasts.
    :ivar persistent: it has failed so for a very long time.
    """

    from_request: Collection[str] = ()
    reread: bool = False
    label_succeeds: bool = False
    others_succeed: bool = False
    same_for_others: bool = False
    same_for_all: bool = False
    elsewhere: bool = False
    lasting: bool = False
    persistent: bool = False


NOTHING_ELSE = Seen()


@dataclass(frozen=True)
class Verdict:
    """Whose fault it is.

    :ivar resources: what is used up: names of :mod:`..model.resources`, :data:`HOSTS`, :data:`ADDRESSES`,
        :data:`CREATES`, :data:`REACH`. It is frozen in the pool.
    :ivar names: what the answer says does not exist: ``flavor``, ``image``, ``network``, ``group``, ``key``, ``zone``;
        ``name`` if the name of the server is taken. It is read anew before the failure counts.
    :ivar wrong: the field of the create that is wrong; "" if none is named.
    """

    owner: str
    resources: tuple[str, ...] = ()
    names: str = ""
    wrong: str = ""


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


@dataclass(frozen=True)
class Rule:
    """One row of the table. A rule holds if the call and the status fit, and the type or the words, if any are given.

    :ivar shows: the row for people.
    :ivar calls: how the kind of call begins; "" for any.
    :ivar types: machine-readable types. Words are looked at only if the type is none of them.
    """

    owner: str
    shows: str
    calls: str = ""
    statuses: frozenset[int] = frozenset()
    types: frozenset[str] = frozenset()
    words: str = ""
    resource: str = ""
    names: str = ""
    pattern: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pattern", re.compile(self.words or r"(?!)", re.IGNORECASE | re.DOTALL))

    def holds(self, answer: Answer) -> bool:
        """Return True if the rule knows the answer."""
        if not answer.call.startswith(self.calls) or (self.statuses and answer.status not in self.statuses):
            return False
        if not self.types and not self.words:
            return True
        return answer.error_type in self.types or self.pattern.search(answer.text) is not None


def _these(*statuses: int) -> frozenset[int]:
    return frozenset(statuses)


_SERVERS, _FLOATING, _PORTS = "POST /servers", "POST /floatingips", "POST /ports"
RULES = (
    Rule(owner.ACCOUNT, "the credentials are not accepted", statuses=_these(401)),
    Rule(
        owner.CAPACITY,
        "no floating IP or no address for one",
        calls=_FLOATING,
        types=frozenset({"OverQuota", "ExternalIpAddressExhausted", "IpAddressGenerationFailure"}),
        words=r"quota exceeded|no more (ip addresses|floating)|unable to find any ip address",
        resource=FLOATING_IPS,
    ),
    Rule(
        owner.LABEL,
        "the floating IP cannot reach the network of the server (nat_source, nat_destination)",
        calls=_FLOATING,
        types=frozenset({"ExternalGatewayForFloatingIPNotFound"}),
        words=r"is not reachable from subnet|does not contain any ipv4 subnet",
    ),
    # nova of before 2018 says so too when a build failed on each host it was tried on.
    Rule(
        owner.UNKNOWN,
        "the build failed on every host on which nova tried it",
        calls=FAULT,
        words=r"exceeded max(imum)?( number of retries| scheduling attempts)|exhausted all hosts",
    ),
    Rule(
        owner.CAPACITY,
        "no host for the flavor",
        words=r"no valid host|insufficient compute resources|not enough hosts|no available (host|compute)"
        r"|cannot allocate memory|no space left on device|insufficient free memory|pci ?device ?request"
        r"|no suitable (host|node)|claim(ing)? .{0,40}failed|computeresourcesunavailable",
        resource=HOSTS,
    ),
    Rule(
        owner.CAPACITY,
        "no address or no port in the network",
        types=frozenset(
            {
                "IpAddressGenerationFailure",
                "IpAddressGenerationFailureAllSubnets",
                "MacAddressGenerationFailure",
                "NoNetworkAvailable",
            }
        ),
        words=r"no fixed ip addresses|no more (fixed )?ip|no free ip|unable to generate unique mac"
        r"|ip ?address ?generation ?failure",
        resource=ADDRESSES,
    ),
    Rule(
        owner.CAPACITY,
        "no port left in the quota",
        words=r"(number of|maximum) ports exceeded|quota exceeded for resources: \['port'\]",
        resource=PORTS,
    ),
    Rule(
        owner.CAPACITY,
        "no room for a volume",
        words=r"no valid backend|no weighed backends|insufficient free space for volume"
        r"|volume \S+ did not finish being created",
        resource=VOLUMES,
    ),
    Rule(
        owner.LABEL,
        "more metadata than the quota allows",
        statuses=_these(400, 403),
        words=r"number of metadata items exceeds",
    ),
    Rule(
        owner.LABEL,
        "the body of the create is too large for a proxy",
        calls=_SERVERS,
        statuses=_these(413),
        words=r"\b(request|body|payload|entity|content) (entity |body |is )?(exceeds|size|too large|too long|length)",
    ),
    Rule(
        owner.CAPACITY,
        "a quota or a limit is used up",
        types=frozenset({"OverQuota", "QuotaExceeded"}),
        words=r"quota|limitexceeded|limit exceeded|is over (a )?limit|too many servers in group"
        r"|maximum number of \S+( ips)?( allowed)? ?(\(\d+\) )?exceeded",
    ),
    Rule(
        owner.NETWORK,
        "the network could not be allocated or bound",
        calls=FAULT,
        words=r"failed to allocate the network|virtual interface creation failed|binding failed for port"
        r"|unexpected vif_type|port binding|cannot bind a port|did not say in time that the ports",
        resource=ADDRESSES,
    ),
    Rule(
        owner.CLOUD,
        "a service behind nova is away",
        calls=FAULT,
        words=r"timed out|timeout|unable to establish connection|connection (refused|to \S+ failed|aborted|reset)"
        r"|max retries exceeded|service unavailable|keystoneauth1|messagingtimeout|amqp|dberror|pymysql"
        r"|unexpected api error|remote error|cannot reach|cannot use its database|by the message queue"
        r"|not mapped to any cell|cell \S+ is not responding|resource ?provider|placement ?api"
        r"|when nova called it",
    ),
    Rule(
        owner.IMAGE,
        "the image is not usable, or too large for the flavor",
        words=r"flavor's (memory|disk) is (too small|smaller)|can not find requested image|failed to get image"
        r"|image \S+ (is not active|could not be found|is unacceptable)|image is (invalid|unacceptable|corrupt)"
        r"|imageunacceptable|invalid image|image verification failed|no disk image found|converted to raw"
        r"|checksum.{0,80}(image|mismatch)|image.{0,80}checksum|fixed image \S+ virtual size"
        r"|image.{0,200}against the flavor|(set|defined|specified) in.{0,40}image and.{0,40}flavor",
        names="image",
    ),
    Rule(
        owner.LABEL,
        "the flavor does not exist",
        statuses=_these(400, 404),
        words=r"flavor \S+ could not be found|invalid flavorref|flavor.{0,80}not found|unable to find flavor",
        names="flavor",
    ),
    Rule(
        owner.LABEL,
        "the zone does not exist",
        statuses=_these(400, 404),
        words=r"availability zone.{0,40}(not available|not found|does not exist)",
        names="zone",
    ),
    Rule(
        owner.LABEL,
        "the keypair does not exist",
        statuses=_these(400, 404),
        words=r"invalid key_name|keypair \S+ not found",
        names="key",
    ),
    Rule(
        owner.LABEL,
        "the security group does not exist, or two have its name",
        statuses=_these(400, 404, 409),
        types=frozenset({"SecurityGroupNotFound"}),
        words=r"security.?group.{0,200}(not found|could not be found)|unable to find security.?group"
        r"|multiple security.?group",
        names="group",
    ),
    Rule(
        owner.LABEL,
        "the network does not exist, or is none that servers may use",
        statuses=_these(400, 403, 404, 409),
        types=frozenset({"NetworkNotFound", "NoUniqueMatch"}),
        words=r"network \S+ could not be found|requires a subnet|(more than one|multiple) possible network"
        r"|not allowed to create an interface on external network|field/attribute (uuid|networks)\b",
        names="network",
    ),
    Rule(
        owner.LABEL,
        "the security group does not exist",
        calls=FAULT,
        words=r"security.?group.{0,200}(not found|could not be found)",
        names="group",
    ),
    Rule(
        owner.LABEL,
        "the network does not let servers in",
        calls=FAULT,
        words=r"not allowed to create an interface on external network|network \S+ could not be found",
        names="network",
    ),
    Rule(
        owner.US,
        "the name of the server is taken",
        calls=_SERVERS,
        statuses=_these(400, 409),
        words=r"instance .{1,300} already exists",
        names="name",
    ),
    Rule(
        owner.LABEL,
        "a field of the create is wrong; *request* if its value comes from the request",
        calls=_SERVERS,
        statuses=_these(400, 413),
        words=r"invalid input for field/attribute|user.?data too large|metadata property (key|value)"
        r"|request entity too large|invalid metadata|user data needs to be valid|block device mapping is invalid"
        r"|blank volumes|volume (size )?\S* ?is (too small|smaller)|(duplicate|bad) networks"
        r"|(instance|server) ?group.{0,80}(not found|could not be found|not supported)",
    ),
    Rule(owner.LABEL, "what the create sends is too large", calls=_SERVERS, statuses=_these(413)),
    Rule(
        owner.LABEL,
        "the flavor needs a volume to boot from",
        calls=_SERVERS,
        statuses=_these(400, 403),
        words=r"only volume-backed servers are allowed",
    ),
    Rule(
        owner.LABEL,
        "the network of the floating IP is not an external one",
        calls=_FLOATING,
        statuses=_these(400),
        words=r"is not a valid external network",
    ),
    Rule(owner.ACCOUNT, "the account may not do this", statuses=_these(403), resource=CREATES),
)
"""Ordered: the first rule that holds decides."""

_PREFIX = re.compile(r"^.{0,400}?was answered with \d+:?", re.DOTALL)
"""What the client puts before the words of the cloud; it has the name of the provider, which may be any word."""
_NO_CREATES = re.compile(r"policy doesn't allow \S*servers:create to be", re.IGNORECASE)
"""What nova says when its policy lets the account make no server at all; other rules are about what a server has."""
_FIELD = re.compile(r"field/attribute (\S+?)\.? Value:", re.IGNORECASE)
_UNANSWERED = frozenset({408, 425, 429})


def classify(answer: Answer, seen: Seen = NOTHING_ELSE) -> Verdict:
    """Return whose fault the answer is. Every answer has exactly one owner."""
    if answer.call != FAULT and _no_answer(answer.status):
        return Verdict(owner.CLOUD)
    answer = replace(answer, text=own_words(answer.text))
    rule = next((rule for rule in RULES if rule.holds(answer)), None)
    if rule is None or rule.owner == owner.UNKNOWN:
        return Verdict(_by_signs(answer, seen))
    return _refined(rule, answer, seen)


def of_error(error: CloudError, seen: Seen = NOTHING_ELSE) -> Verdict:
    """Return whose fault the error of a call is."""
    if isinstance(error, CloudQuotaRefused):
        other = FLOATING_IPS if error.call == _FLOATING else INSTANCES
        return Verdict(owner.CAPACITY, error.resources or (other,))
    if isinstance(error, CloudAuthError):
        return Verdict(owner.ACCOUNT)
    if isinstance(error, CloudUnavailable):
        # What looks like a refusal was judged before: a zone that nova has lost sight of.
        return Verdict(owner.CLOUD)
    return classify(Answer(error.call, error.status, error.error_type, _PREFIX.sub("", str(error))), seen)


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


def _no_answer(status: int | None) -> bool:
    return status is None or status >= 500 or status < 400 or status in _UNANSWERED


def _refined(rule: Rule, answer: Answer, seen: Seen) -> Verdict:
    """Add to a rule's owner what the answer names, and look whether another sign contradicts it."""
    verdict = Verdict(rule.owner, (rule.resource,) if rule.resource else (), rule.names)
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
        if seen.label_succeeds or seen.others_succeed:
            return Verdict(_by_signs(answer, seen))
        others_too = seen.same_for_others or seen.same_for_all or seen.persistent
        if answer.call.startswith(_SERVERS) and not (others_too or _NO_CREATES.search(answer.text)):
            # It may be the data of one request, or a flavor, that is forbidden: nobody else waits for it.
            return Verdict(owner.UNKNOWN)
    return verdict


def _says_it_is_gone(answer: Answer) -> bool:
    ambiguous = re.search(r"multiple|more than one|requires a subnet|not allowed|unique", answer.text, re.IGNORECASE)
    return ambiguous is None and answer.error_type != "NoUniqueMatch"


def _by_signs(answer: Answer, seen: Seen) -> str:
    """Return the owner of an answer that says nothing by itself: a second, independent sign must point to one."""
    if seen.same_for_all and not (seen.label_succeeds or seen.others_succeed):
        return owner.CLOUD
    if seen.label_succeeds:
        # Its label, image and flavor work for others. A refusal is then its own; a server in ERROR is bad luck.
        return owner.REQUEST if answer.call == _SERVERS and seen.lasting else owner.UNKNOWN
    if seen.elsewhere and seen.others_succeed:
        return owner.LABEL
    shared = seen.same_for_others and (seen.others_succeed or seen.lasting)
    if shared or (seen.others_succeed and seen.lasting) or seen.persistent:
        # A refused call is about what was sent, which the label says. Only a server that was made can show that its
        # image or flavor does not work.
        return owner.IMAGE if answer.call == FAULT else owner.LABEL
    return owner.UNKNOWN
