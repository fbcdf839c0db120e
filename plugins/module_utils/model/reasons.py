# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reasons why a request waits, is declined or is served: a code with values, which become a sentence for display."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import owner
from .freeze import is_narrow
from .resources import describe

# Codes of waiting. The first group names limits that an operator or the cloud set: a cycle that runs until it is
# settled may end while only these are left.
NO_ROOM = "no-room"
TENANT_LIMIT = "tenant-limit"
CONCURRENCY = "concurrency"
BUILDING = "building"
IMAGE_BUILDING = "image-building"
IMAGE_GONE = "image-gone"
BUILD_UNUSED = "build-unused"
FOREIGN_FIRST = "foreign-first"
FROZEN = "frozen"
NOT_ACTING = "not-acting"
LIMITS = frozenset(
    {
        NO_ROOM,
        TENANT_LIMIT,
        CONCURRENCY,
        BUILDING,
        IMAGE_BUILDING,
        IMAGE_GONE,
        BUILD_UNUSED,
        FOREIGN_FIRST,
        FROZEN,
        NOT_ACTING,
    }
)

FACTS_UNREAD = "facts-unread"
UNCONFIRMED = "unconfirmed"
PROVIDER_TROUBLE = "provider-trouble"
STARTING = "starting"
BREAKER = "breaker"

# Codes of a request that a launcher works on, whose launches make no progress.
UNANSWERED = "unanswered"
SLOW_BOOT = "slow-boot"
RETRYING = "retrying"

# Codes of declining. They are permanent: with its configuration the pool can never serve the request.
POOL_DISABLED = "pool-disabled"
POOL_GONE = "pool-gone"
LABEL_UNKNOWN = "label-unknown"
LABEL_BROKEN = "label-broken"
NO_IMAGE = "no-image"
TOO_LARGE_FOR_POOL = "too-large-for-pool"
TOO_LARGE_FOR_CLOUD = "too-large-for-cloud"
LAUNCH_FAILED = "launch-failed"
NOT_OFFERED = frozenset({LABEL_UNKNOWN, POOL_DISABLED, POOL_GONE})
"""Codes of pools that do not offer the label at all; a reason of any other pool is shown instead of them."""

WITHOUT_IMAGE = frozenset({NO_IMAGE, LABEL_BROKEN})
"""Codes for a label whose image does not exist and will not be built."""
IMAGE_REASONS = WITHOUT_IMAGE | {IMAGE_BUILDING, IMAGE_GONE, BUILD_UNUSED}

# Codes of actions.
FITS = "fits"
REUSE = "reuse"
MIN_READY = "min-ready"
ROOM_NEEDED = "room-needed"
USED = "used"
AGED = "aged"
SURPLUS = "surplus"
HELD_TOO_LONG = "held-too-long"
OWNER_GONE = "owner-gone"
SERVER_GONE = "server-gone"
SPARE_SILENT = "spare-silent"
BUILD_CONDEMNED = "build-condemned"
LEASE_EXPIRED = "lease-expired"
REQUEST_GONE = "request-gone"

_TEXTS = {
    CONCURRENCY: "{where} has reached its max-concurrency: {launching:.12g} in progress",
    BUILDING: "the cloud of {where} is fastest with {count:.12g} builds at a time, and that many are in progress",
    IMAGE_BUILDING: "the image {image} of label {label} is being built or uploaded for {where}",
    IMAGE_GONE: "image {image} of build {build} {fate}, and there is no older one",
    BUILD_UNUSED: "{where}: build {build} of image {image} is {text}; there is no other one to use",
    FOREIGN_FIRST: "pool {where} of another launcher comes first (priority or preferred provider)",
    FROZEN: "{where} refused creates for {resource} ({text}); {next}",
    STARTING: "{where}: earlier launches are sent to the cloud first",
    BREAKER: "{where}: launches of {image} with {flavor} failed {count:g} times in a row ({text}); {next}",
    FACTS_UNREAD: "{where}: waiting for the first answers of its API",
    PROVIDER_TROUBLE: "provider {where}: {text}",
    NOT_ACTING: "this launcher does not act for {where}",
    UNANSWERED: "{where}: nova has not answered the create yet; waiting for its server",
    SLOW_BOOT: "{where}: server {server} is not ACTIVE yet, which takes longer than at other times",
    RETRYING: "{where}: the latest launch attempt failed: {text}",
    POOL_GONE: "{where} is no longer in the configuration",
    POOL_DISABLED: "{where} has max-servers 0",
    LABEL_UNKNOWN: "{where} does not offer label {label}",
    LABEL_BROKEN: "{where} is not usable for label {label}: {text}",
    NO_IMAGE: "{where} has no ready image {image} for label {label}, and none is being built",
    LAUNCH_FAILED: "{where}: launches failed: {text}",
    FITS: "fits into {where}",
    REUSE: "uses {count:.12g} of the ready nodes of {where}",
    MIN_READY: "min-ready of label {label}: {have:.12g} of {wanted:.12g}",
    ROOM_NEEDED: "request {request} needs the room of this idle node",
    USED: "the node is {state} and no client holds it",
    SURPLUS: "idle for {age:.0f} s, and neither a request nor min-ready needs it",
    AGED: "ready for {age:.0f} s, but max-ready-age is {limit:.12g} s",
    HELD_TOO_LONG: "held for {age:.0f} s, but the limit is {limit:.12g} s",
    SERVER_GONE: "{where} lists its server {server} as {status}: it cannot be used",
    SPARE_SILENT: "its server {server} in {where} no longer answers by ssh: {text}",
    BUILD_CONDEMNED: "its build {build} of image {image} is {text}",
    OWNER_GONE: "the launch no longer has an owner",
    LEASE_EXPIRED: "the lease {lease} of this request has expired",
    REQUEST_GONE: "request {request} no longer exists",
}

_NARROW_TEXT = "{where} has no {resource} ({text}); {next}"
_OWNERS = {
    NO_ROOM: owner.CAPACITY,
    TENANT_LIMIT: owner.CAPACITY,
    CONCURRENCY: owner.US,
    BUILDING: owner.CAPACITY,
    IMAGE_BUILDING: owner.IMAGE,
    IMAGE_GONE: owner.IMAGE,
    BUILD_UNUSED: owner.IMAGE,
    FOREIGN_FIRST: owner.US,
    FROZEN: owner.CAPACITY,
    NOT_ACTING: owner.US,
    FACTS_UNREAD: owner.US,
    UNCONFIRMED: owner.CAPACITY,
    PROVIDER_TROUBLE: owner.CLOUD,
    STARTING: owner.US,
    BREAKER: owner.IMAGE,
    UNANSWERED: owner.CLOUD,
    SLOW_BOOT: owner.CLOUD,
    RETRYING: owner.UNKNOWN,
    POOL_DISABLED: owner.LABEL,
    POOL_GONE: owner.LABEL,
    LABEL_UNKNOWN: owner.LABEL,
    LABEL_BROKEN: owner.LABEL,
    NO_IMAGE: owner.IMAGE,
    TOO_LARGE_FOR_POOL: owner.REQUEST,
    TOO_LARGE_FOR_CLOUD: owner.REQUEST,
    LAUNCH_FAILED: owner.UNKNOWN,
}
"""The owner of each reason to wait or to decline, unless its figures name another one."""


@dataclass(frozen=True)
class Reason:
    """A code and the values for its sentence. *figures* holds plain JSON values.

    The figure ``owner`` names the owner of the trouble (see :mod:`.owner`) where the code alone does not tell it.
    """

    code: str
    figures: Mapping[str, Any] = field(default_factory=dict)

    @property
    def owner(self) -> str | None:
        """Whose fault it is, one of :data:`.owner.OWNERS`; None for the reason of an action, which is no trouble."""
        named = self.figures.get("owner")
        return named if named in owner.SENTENCES else _OWNERS.get(self.code)

    @property
    def is_limit(self) -> bool:
        """True when the reason is a limit that an operator or the cloud set."""
        return self.code in LIMITS

    def text(self) -> str:
        """Return the reason as a sentence."""
        if self.code in (NO_ROOM, TENANT_LIMIT, UNCONFIRMED, TOO_LARGE_FOR_POOL, TOO_LARGE_FOR_CLOUD):
            return self._room_text()
        figures = self.figures
        if self.code in (FROZEN, BREAKER):
            figures = {**figures, "next": next_attempt(figures.get("seconds"))}
        if self.code == FROZEN and is_narrow(str(figures.get("resource"))):
            return _NARROW_TEXT.format_map(_Figures(figures))
        if self.code == PROVIDER_TROUBLE and str(figures.get("text")).startswith(f"provider {figures.get('where')}:"):
            return str(figures["text"])  # an error of the API names the provider itself
        return _TEXTS.get(self.code, self.code).format_map(_Figures(figures))

    def document(self) -> dict[str, Any]:
        """Return the reason as it is stored and as modules return it."""
        whose = {} if self.owner is None else {"owner": self.owner}
        return {**self.figures, **whose, "code": self.code, "text": self.text()}

    def _room_text(self) -> str:
        figures = self.figures
        needed = describe(figures["resource"], figures["needed"])
        if self.code == TENANT_LIMIT:
            text = f"{needed} needed, tenant {figures['tenant']}"
            if figures["needed"] > figures["limit"]:
                return f"{text} can never have more than its limit of {figures['limit']:.12g}"
            return f"{text} has {max(0, figures['left']):.12g} left of its limit of {figures['limit']:.12g}"
        if self.code == NO_ROOM:
            text = f"{needed} needed, {max(0, figures['left']):.12g} left in {figures['where']}"
            return text + (" behind earlier requests" if figures.get("behind") else "")
        text = f"{needed} needed, {figures['where']} can never hold more than {figures['left']:.12g}"
        return text + (" (to be confirmed by a second reading)" if self.code == UNCONFIRMED else "")


def next_attempt(seconds: float | None) -> str:
    """Return the end of the sentence about a freeze or a breaker. A pause that is over is no pause of 0 s."""
    if seconds is None:
        return "next attempt in ? s"
    return "an attempt is due or in progress" if seconds < 0.5 else f"next attempt in {seconds:.0f} s"


def causes_first(documents: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the documents of reasons, each once: failed launches first, pools that do not offer the label last."""
    once = {(str(item.get("code")), str(item.get("text"))): dict(item) for item in documents}
    return sorted(once.values(), key=lambda item: (item.get("code") in NOT_OFFERED, item.get("code") != LAUNCH_FAILED))


def cause(documents: Iterable[Mapping[str, Any]]) -> str:
    """Return one sentence for all reasons.

    It names pools that do not offer the label only when there is no other reason.
    """
    told = causes_first(documents)
    causes = [item for item in told if item.get("code") not in NOT_OFFERED]
    return "; ".join(str(item.get("text")) for item in causes or told)


class _Figures(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return "?"
