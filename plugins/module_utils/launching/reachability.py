# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide whose fault it is that a server is ACTIVE and does not answer by ssh. No I/O.

The silence itself says nothing: the guest may not have booted, or the way to it may be broken. So the other servers
decide that were waited for at the same time: those of the same image, those in the same networks and zone, those of the
same cloud, and those of other clouds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..model import owner
from .classifier import Verdict
from .known_answers import REACH


@dataclass(frozen=True)
class Guest:
    """What may decide whether a server answers.

    :ivar image: the id of its image, or the image's name if the id is not known.
    :ivar networks: the names that the configuration gives; empty for the cloud's choice.
    :ivar label: its pool and label: they have security groups, user data and the like.
    """

    provider: str
    image: str
    networks: tuple[str, ...] = ()
    zone: str | None = None
    label: str = ""

    def is_near(self, other: Guest) -> bool:
        """Return True if both are in the same networks of a cloud."""
        return (self.provider, self.networks) == (other.provider, other.networks)

    def is_beside(self, other: Guest) -> bool:
        """Return True if both are in the same networks and the same zone of a cloud."""
        return self.is_near(other) and self.zone == other.zone


@dataclass(frozen=True)
class Around:
    """What is seen of other servers while one does not answer. *here*: in its networks; *there*: in other networks of
    its cloud.

    :ivar label_here: a server of the same label answers here.
    :ivar same_here: a server of the same image answers here.
    :ivar others_here: a server of another image answers here.
    :ivar zone_silent: servers here answer in other zones only, and its image is not the only one that does not in its
        own.
    :ivar same_there: a server of the same image answers there.
    :ivar others_there: a server of another image answers there.
    :ivar silent_here: a server of another image does not answer here either.
    :ivar silent_there: a server there does not answer either.
    :ivar clouds_answer: a server of another provider answers.
    :ivar clouds_silent: a server of another provider does not answer either.
    :ivar before: a server of the same image has answered in this cloud earlier.
    :ivar persistent: the launch has failed for a very long time.
    """

    label_here: bool = False
    same_here: bool = False
    others_here: bool = False
    zone_silent: bool = False
    same_there: bool = False
    others_there: bool = False
    silent_here: bool = False
    silent_there: bool = False
    clouds_answer: bool = False
    clouds_silent: bool = False
    before: bool = False
    persistent: bool = False

    @property
    def here(self) -> bool:
        """True if any server answers here."""
        return self.label_here or self.same_here or self.others_here

    @property
    def there(self) -> bool:
        """True if any server answers there."""
        return self.same_there or self.others_there


@dataclass(frozen=True)
class Sign:
    """One row of the table.

    :ivar shows: the row for people.
    :ivar holds: returns True if it is so.
    """

    owner: str
    shows: str
    holds: Callable[[Around], bool]


SIGNS = (
    Sign(
        owner.NETWORK,
        "servers answer in its networks, but none in its zone, where another image or server was also tried",
        lambda around: around.zone_silent,
    ),
    Sign(
        owner.UNKNOWN,
        "another server of its label answers in the same networks",
        lambda around: around.label_here,
    ),
    Sign(
        owner.LABEL,
        "its image and networks work for other labels, but its launches have failed for ten minutes",
        lambda around: (
            around.persistent and (around.same_here or (around.others_here and (around.same_there or around.before)))
        ),
    ),
    Sign(
        owner.UNKNOWN,
        "another server of its image answers in the same networks",
        lambda around: around.same_here,
    ),
    Sign(
        owner.UNKNOWN,
        "other images answer in the same networks, and its image answers in other networks or did before",
        lambda around: around.others_here and (around.same_there or around.before),
    ),
    Sign(
        owner.IMAGE,
        "other images answer in the same networks, but its image answers nowhere",
        lambda around: around.others_here,
    ),
    Sign(
        owner.NETWORK,
        "nothing answers in its networks, but its image answers in others",
        lambda around: around.same_there,
    ),
    Sign(
        owner.NETWORK,
        "nothing answers in its networks, where another image was tried or its own answered before; servers"
        " elsewhere answer",
        lambda around: around.others_there and (around.silent_here or around.before),
    ),
    Sign(
        owner.IMAGE,
        "only its image was tried in its networks, for ten minutes; other images answer in other networks",
        lambda around: around.others_there and around.persistent,
    ),
    Sign(
        owner.UNKNOWN,
        "only its image was tried in its networks; other images answer in other networks",
        lambda around: around.others_there,
    ),
    Sign(
        owner.US,
        "nothing answers in this cloud or in any other that was tried",
        lambda around: around.clouds_silent and not around.clouds_answer,
    ),
    Sign(
        owner.CLOUD,
        "nothing answers in any network of this cloud that was tried",
        lambda around: around.silent_there,
    ),
    Sign(
        owner.NETWORK,
        "nothing answers in this cloud: another image does not answer either, or its own answered before",
        lambda around: around.silent_here or around.before,
    ),
    Sign(
        owner.IMAGE, "no other image or network was tried: boot-timeout and launch-retries apply", lambda around: True
    ),
)
"""Ordered: the first row that holds decides."""


def whose_silence(around: Around) -> Verdict:
    """Return whose fault it is that a server does not answer.

    Where the way to it is broken, launches that need the same networks in the same zone wait.
    """
    sign = next(sign for sign in SIGNS if sign.holds(around))
    broken = sign.owner in (owner.NETWORK, owner.CLOUD, owner.US)
    return Verdict(sign.owner, (REACH,) if broken else ())


def look_around(
    mine: Guest,
    answered: Iterable[Guest],
    silent: Iterable[Guest],
    earlier: Iterable[Guest],
    *,
    persistent: bool = False,
) -> Around:
    """Return what is seen of other servers.

    :param mine: the server that does not answer.
    :param answered: servers that answered while it did not.
    :param silent: servers that did not answer in that time, *mine* left out.
    :param earlier: servers that answered before.
    """
    answering, quiet = list(answered), list(silent)
    cloud = [guest for guest in answering if guest.provider == mine.provider]
    here = [guest for guest in cloud if guest.is_near(mine)]
    there = [guest for guest in cloud if not guest.is_near(mine)]
    return Around(
        label_here=any((guest.image, guest.label) == (mine.image, mine.label) for guest in here),
        same_here=any(guest.image == mine.image for guest in here),
        others_here=any(guest.image != mine.image for guest in here),
        zone_silent=_is_zone_silent(mine, here, quiet),
        same_there=any(guest.image == mine.image for guest in there),
        others_there=any(guest.image != mine.image for guest in there),
        silent_here=any(guest.is_near(mine) and guest.image != mine.image for guest in quiet),
        silent_there=any(guest.provider == mine.provider and not guest.is_near(mine) for guest in quiet),
        clouds_answer=any(guest.provider != mine.provider for guest in answering),
        clouds_silent=any(guest.provider != mine.provider for guest in quiet),
        before=any(guest.provider == mine.provider and guest.image == mine.image for guest in earlier),
        persistent=persistent,
    )


def _is_zone_silent(mine: Guest, here: list[Guest], silent: list[Guest]) -> bool:
    beside = [guest for guest in silent if guest.is_beside(mine)]
    if not here or any(guest.zone == mine.zone for guest in here):
        return False
    answers_elsewhere = any(guest.image == mine.image for guest in here)
    return any(answers_elsewhere or guest.image != mine.image for guest in beside)
