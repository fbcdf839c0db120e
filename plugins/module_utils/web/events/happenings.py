# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is worth an event in a tree: from the rows that status and the page show. Pure.

:func:`happenings` returns all that is the case now; :class:`Teller` compares that with what it has told before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ...clients.zookeeper.link import paths
from ...clients.zookeeper.tree_reading import Found, TreeReading
from ...model import own_tree
from ...model.bounded_text import printable
from ...model.build_verdict import HELD, UNUSED, read_verdicts
from ...model.config.changes import changes
from ...model.config.types import NodepoolConfig
from ...model.lines import amount, in_a_row, span
from ...model.request import RequestState
from ...model.stored import BadDocument
from ...reporting.info.causes import UNTOLD
from ...reporting.info.explain import explanation
from ...reporting.info.image_list import image_rows
from ...reporting.info.leak_rows import leak_rows
from ...reporting.info.lease_rows import lease_rows
from ...reporting.info.providers import name_of, provider_rows
from ...reporting.info.request_rows import request_rows
from ...reporting.info.unused_files import unused_files

Rows = Sequence[Mapping[str, Any]]
Key = tuple[str, str]

REQUEST_WAITS = "request_waits"
REQUEST_FAILED = "request_failed"
PROVIDER_IN_TROUBLE, PROVIDER_WELL = "provider_in_trouble", "provider_well"
PROVIDER_UNSERVED, PROVIDER_SERVED = "provider_unserved", "provider_served"
FROZEN, THAWED = "resource_frozen", "resource_thawed"
QUOTA_LOW, QUOTA_OK = "quota_low", "quota_ok"
LEAK_FOUND, LEAK_GONE = "leak_found", "leak_gone"
DELETION_STUCK, DELETION_DONE = "deletion_stuck", "deletion_done"
BUILD_FAILED, UPLOAD_FAILED = "build_failed", "upload_failed"
BUILD_REJECTED, BUILD_HELD = "build_rejected", "build_held"
LEASE_ENDS = "lease_ends_soon"
CONFIG_READ = "configuration_read"
CONFIG_BAD, CONFIG_GOOD = "configuration_unused", "configuration_used"
BUILD_LIVE = "build_live"
LAUNCHER_SERVES = "launcher_serves"
ZOOKEEPER_LOST, ZOOKEEPER_BACK = "zookeeper_lost", "zookeeper_back"

ENDINGS = {
    PROVIDER_IN_TROUBLE: PROVIDER_WELL,
    PROVIDER_UNSERVED: PROVIDER_SERVED,
    FROZEN: THAWED,
    QUOTA_LOW: QUOTA_OK,
    LEAK_FOUND: LEAK_GONE,
    DELETION_STUCK: DELETION_DONE,
    ZOOKEEPER_LOST: ZOOKEEPER_BACK,
    CONFIG_BAD: CONFIG_GOOD,
}
"""Type of an event → type of the event that tells its end. The others tell what has happened once."""
_OF_BUILDS = (BUILD_FAILED, UPLOAD_FAILED, BUILD_REJECTED, BUILD_HELD, BUILD_LIVE)
ONCE = (REQUEST_WAITS, REQUEST_FAILED, *_OF_BUILDS, LEASE_ENDS, LAUNCHER_SERVES, CONFIG_READ)
PAST = frozenset((REQUEST_FAILED, *_OF_BUILDS, LAUNCHER_SERVES))
"""What stays in the tree after it has happened: not told to who begins to listen later."""
SETTLED = frozenset((*ENDINGS, BUILD_LIVE, LAUNCHER_SERVES))
"""What must be over for a while before it is forgotten: between two cycles no launcher is registered for a moment."""
CHANGES = (
    *_OF_BUILDS,
    LAUNCHER_SERVES,
    CONFIG_READ,
    *(CONFIG_BAD, CONFIG_GOOD),
    *(FROZEN, THAWED),
    *(PROVIDER_IN_TROUBLE, PROVIDER_WELL),
    *(PROVIDER_UNSERVED, PROVIDER_SERVED),
    *(ZOOKEEPER_LOST, ZOOKEEPER_BACK),
)
"""What the page lists below its curves as what has changed."""
TYPES = (*ENDINGS, *ENDINGS.values(), *ONCE)
SEVERITIES = ("info", "warning", "critical")
"""The words of the alerts, the least first."""
_BEGUN = {ended: begun for begun, ended in ENDINGS.items()}
_CRITICAL = (PROVIDER_IN_TROUBLE, PROVIDER_UNSERVED, CONFIG_BAD, ZOOKEEPER_LOST)
_INFO = (BUILD_LIVE, LAUNCHER_SERVES, CONFIG_READ)

_OPEN = (RequestState.REQUESTED, RequestState.PENDING)
_MOMENTARY = ("reason", "left", "used", "others", "ends_in", "tries", "state")
"""Fields that are not in the event of an end."""
MOST_NEWS = 5
"""Largest number of changes of a configuration that an event names."""
MOST_TOLD = 20_000
"""Largest number of keys that are remembered."""


@dataclass(frozen=True)
class Limits:
    """When something is worth an event.

    :ivar wait: seconds for which a request waits.
    :ivar lease: seconds before the end of a lease.
    :ivar quota: share of a limit that is left, between 0 and 1.
    :ivar leak: seconds since a leak was first seen.
    :ivar settle: seconds for which something must be over before that is told; a freeze ends at each probe.
    """

    wait: float = 300.0
    lease: float = 900.0
    quota: float = 0.1
    leak: float = 600.0
    settle: float = 60.0


@dataclass(frozen=True)
class Happening:
    """Something that is the case.

    :ivar type: one of :data:`TYPES`.
    :ivar subject: what it is about; unique among those of the type.
    :ivar text: a sentence without a full stop.
    :ivar about: fields of the event.
    """

    type: str
    subject: str
    text: str
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        """What tells it apart from all others."""
        return self.type, self.subject


def happenings(
    config: NodepoolConfig, reading: TreeReading, now: float, limits: Limits, told: Collection[Key] = ()
) -> dict[Key, Happening]:
    """Return what is the case.

    :param now: UNIX time.
    :param told: keys whose details nobody needs any more: they are not computed again.
    """
    requests, leases = request_rows(reading, now), lease_rows(reading, now, config.max_hold_age)
    found = [
        *_of_requests(reading, requests, now, limits, told),
        *without_requests(config, reading, now, limits).values(),
        *_of_leaks(leak_rows(reading, now), limits),
        *_of_leases(leases, limits),
    ]
    return {item.key: item for item in found}


def without_requests(
    config: NodepoolConfig, reading: TreeReading, now: float, limits: Limits, told: Collection[Key] = ()
) -> dict[Key, Happening]:
    """Return what is the case with providers, images and files: few things, also on a large site.

    :param told: not used; :func:`happenings` has it.
    """
    found = [
        *(item for row in provider_rows(config, reading, now) for item in _of_provider(row, limits)),
        *_of_images(image_rows(config, reading, now)),
        *_of_verdicts(reading, now),
        *(Happening(CONFIG_BAD, host.host, host.text(), {"host": host.host}) for host in unused_files(reading)),
    ]
    return {item.key: item for item in found}


def config_read(before: NodepoolConfig, config: NodepoolConfig, now: float) -> dict[str, Any]:
    """Return the event of a configuration that was read again."""
    found = changes(before, config)
    more = [f"and {len(found) - MOST_NEWS} more"] if len(found) > MOST_NEWS else []
    told = f"configuration read again: {', '.join([*found[:MOST_NEWS], *more]) or 'nothing in it has changed'}"
    return _event(CONFIG_READ, Happening(CONFIG_READ, "configuration", told), now)


def _of_requests(
    reading: TreeReading, rows: Rows, now: float, limits: Limits, told: Collection[Key]
) -> Iterator[Happening]:
    for row in rows:
        if row["state"] == RequestState.FAILED:
            kind, what = REQUEST_FAILED, "failed"
        elif row["state"] in _OPEN and (row["created_age"] or 0.0) >= limits.wait:
            kind, what = REQUEST_WAITS, f"has waited for {span(row['created_age'])}"
        else:
            continue
        if (kind, row["id"]) in told:
            yield Happening(kind, row["id"], "")
            continue
        why = explanation(reading, rows, row["id"], now)
        reason = row["reason"] or {}
        about = {
            "request": row["id"],
            "labels": row["labels"],
            "requestor": row["requestor"],
            "code": reason.get("code"),
            "reason": reason.get("text") or why["waits_for"],
            "owner": why["owner"],
            "provider": row["provider"],
            "waited": row["created_age"],
            "pools": [f"{pool['pool']}: {pool['text']}" for pool in why["pools"] if pool["declined"]],
        }
        told_why = about["reason"] or "; ".join(about["pools"]) or "no launcher has given a reason"
        yield Happening(kind, row["id"], f"request {row['id']} ({', '.join(row['labels'])}) {what}: {told_why}", about)


def _of_provider(row: Mapping[str, Any], limits: Limits) -> Iterator[Happening]:
    name, health = row["name"], row["health"]
    about = {"provider": name}
    if row["configured"] and not row["acting"] and not row["acted_for_by"]:
        yield Happening(PROVIDER_UNSERVED, name, f"provider {name}: no launcher serves it", about)
    if health is not None and health["state"] != "ok":
        why = health["text"] or UNTOLD
        more = {**about, "owner": health["owner"], "reason": why, "state": health["state"]}
        yield Happening(PROVIDER_IN_TROUBLE, name, f"provider {name} is in trouble: {why}", more)
    for host in row["acted_for_by"]:
        yield Happening(LAUNCHER_SERVES, f"{name}/{host}", f"provider {name}: the launcher on {host} serves it", about)
    for pool in row["pools"]:
        where = f"{name}/{pool['name']}"
        for freeze in pool["freezes"]:
            why = freeze["text"] or UNTOLD
            more = {**about, "pool": where, "resource": freeze["resource"], "reason": why, "ends_in": freeze["ends_in"]}
            told = f"{where}: {freeze['resource']} is frozen after a refused create: {why}"
            yield Happening(FROZEN, f"{where}/{freeze['resource']}", told, more)
    for item in row["resources"]:
        limit, left = item["limit"], item["left"]
        if limit and limit > 0 and left is not None and left <= limits.quota * limit:
            what = f"{item['resource']}: {left:.12g} of {limit:.12g} left"
            more = {**about, **{key: item[key] for key in ("resource", "used", "others", "limit", "left")}}
            yield Happening(QUOTA_LOW, f"{name}/{item['resource']}", f"provider {name}: {what}", more)
    for item in row["stuck"]:
        what, tries = name_of(item), amount(item["tries"], "try", "tries")
        told = f"provider {name}: {what} is not deleted after {tries}: {item['answer'] or UNTOLD}"
        kept = {key: item[key] for key in ("server", "floating_ip", "node", "tries")}
        yield Happening(DELETION_STUCK, f"{name}/{what}", told, {**about, **kept, "reason": item["answer"]})


def _of_images(rows: Rows) -> Iterator[Happening]:
    for row in rows:
        yield from _failures(BUILD_FAILED, row["image"], row, {"image": row["image"]})
        for item in row["providers"]:
            where, about = (
                f"{row['image']} at {item['provider']}",
                {"image": row["image"], "provider": item["provider"]},
            )
            yield from _failures(UPLOAD_FAILED, where, item, about)
            if item["current"] is not None:
                build = item["current"]["build_id"]
                told = f"build {build} of {row['image']} is live at {item['provider']}"
                yield Happening(BUILD_LIVE, f"{where}#{build}", told, {**about, "build": build})


def _failures(kind: str, where: str, row: Mapping[str, Any], about: Mapping[str, Any]) -> Iterator[Happening]:
    """Yield the latest failure; each further one in a row is another happening."""
    if count := row["failures"]:
        what, why = kind.partition("_")[0], row["last_error"] or UNTOLD
        told = f"{what} of {where} failed {in_a_row(count)}: {why}"
        yield Happening(kind, f"{where}#{count}", told, {**about, "failures": count, "reason": why})


def _of_verdicts(reading: TreeReading, now: float) -> Iterator[Happening]:
    for found in reading.below(paths.own(own_tree.VERDICTS)):
        for build_id, verdict in found.fact(_verdicts).items():
            if verdict.state in UNUSED and verdict.applies(now):
                kind = BUILD_HELD if verdict.state == HELD else BUILD_REJECTED
                about = {"image": found.name, "build": build_id, "state": verdict.state, "reason": verdict.reason}
                told = f"build {build_id} of {found.name}: {verdict.text(now)}"
                yield Happening(kind, f"{found.name}/{build_id}/{verdict.state}", told, about)


def _verdicts(found: Found) -> Mapping[str, Any]:
    try:
        return read_verdicts(found.document)
    except BadDocument:
        return {}


def _of_leaks(rows: Rows, limits: Limits) -> Iterator[Happening]:
    for row in rows:
        if (row["age"] or 0.0) >= limits.leak:
            about = {
                "provider": row["provider"],
                "resource": row["what"],
                "reason": row["answer"],
                "tries": row["tries"],
            }
            told = f"provider {row['provider']}: {row['what']} leaked {span(row['age'])} ago"
            yield Happening(LEAK_FOUND, f"{row['provider']}/{row['what']}", told, about)


def _of_leases(rows: Rows, limits: Limits) -> Iterator[Happening]:
    for row in rows:
        left = row["expires_in"]
        if row["held"] and left is not None and left <= limits.lease:
            about = {"lease": row["name"], "holder": row["owner"], "ends_in": left}
            about |= {"nodes": [node["id"] for node in row["nodes"] if node["held"]], "labels": row["labels"]}
            yield Happening(LEASE_ENDS, row["name"], f"lease {row['name']} ends in {span(left)}", about)


# -- news ------------------------------------------------------------------------------------------------------------


class Teller:
    """Remembers what it has told.

    :param told: what was told before a restart; None: nothing is known, and what has happened before is not told.
    :param settle: seconds for which something must be over before that is told.
    """

    def __init__(self, told: Mapping[Key, Mapping[str, Any]] | None = None, settle: float = Limits.settle) -> None:
        self._known: dict[Key, Happening] = {key: Happening(*key, "", about) for key, about in (told or {}).items()}
        self._over: dict[Key, float] = {}
        self._settle = settle
        self._first = told is None

    @property
    def known(self) -> Collection[Key]:
        """The keys of what is the case and was told."""
        return self._known.keys()

    @property
    def told(self) -> dict[Key, Mapping[str, Any]]:
        """The same for a restart: key → the fields that the event of the end will have."""
        return {key: _of_end(self._known[key]) for key in sorted(self._known)[:MOST_TOLD]}

    def news(self, current: Mapping[Key, Happening], now: float, *, whole: bool = True) -> list[dict[str, Any]]:
        """Return the events since the last call: what is new, and what has ended.

        :param whole: False while the tree was never read: what is in it later is still the first that is known.
        """
        fresh = [item for key, item in current.items() if key not in self._known]
        gone = [item for key, item in self._known.items() if key not in current]
        self._over = {item.key: self._over.get(item.key, now) for item in gone}
        over = [item for item in gone if item.type not in SETTLED or now - self._over[item.key] >= self._settle]
        silent = PAST if self._first else frozenset[str]()
        self._first = self._first and not whole
        ended = {item.key for item in over}
        # After a restart only the keys are known; the event of the end needs the fields.
        known = {key: item if item.about else current.get(key, item) for key, item in self._known.items()}
        self._known = {key: item for key, item in known.items() if key not in ended}
        self._known |= {item.key: item for item in fresh}
        return [
            *(_event(ENDINGS[item.type], item, now, over=True) for item in over if item.type in ENDINGS),
            *(_event(item.type, item, now) for item in fresh if item.type not in silent),
        ]


def severity(kind: str) -> str:
    """Return how bad it is; an end is as bad as what has ended, so that who hears of the one hears of the other."""
    begun = _BEGUN.get(kind, kind)
    level = 2 if begun in _CRITICAL else 0 if begun in _INFO else 1
    return SEVERITIES[level]


def _event(kind: str, item: Happening, now: float, *, over: bool = False) -> dict[str, Any]:
    """Return the event: text from clouds and requestors without control characters, fields without a value left out."""
    at = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    text = f"{kind.replace('_', ' ')}: {item.subject}" if over else item.text
    about = _of_end(item) if over else _fields(item.about)
    told = {"subject": printable(item.subject), "text": printable(text)}
    return {"type": kind, "severity": severity(kind), "at": at, **told, **about}


def _fields(about: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _plain(value) for key, value in about.items() if value not in (None, "", [])}


def _of_end(item: Happening) -> dict[str, Any]:
    """Return the fields of the event of an end, if there is one: how it was is not how it is."""
    if item.type not in ENDINGS:
        return {}
    return {key: value for key, value in _fields(item.about).items() if key not in _MOMENTARY}


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    return [_plain(item) for item in value] if isinstance(value, list) else value
