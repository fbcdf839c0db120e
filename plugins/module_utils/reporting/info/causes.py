# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kinds of trouble, each with its remedy, and the row about a trouble of one of them."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...model.owner import ACCOUNT, IMAGE, LABEL, REQUEST

BAD, WARN = "bad", "warn"
UNTOLD = "no text is stored"
_WHOLE = re.compile(r"[\w.:/@+-]+")
"""A name that stays one value in ``-a key=value``."""


@dataclass(frozen=True)
class Cause:
    """A kind of trouble.

    :ivar level: BAD: something does not work. WARN: it works on with less.
    :ivar remedy: what the operator can do.
    :ivar command: the words of the command to type; fields of the row stand in braces.
    :ivar section: the heading of docs/operating.md that explains it.
    :ivar ends: the words before the seconds of ``ends_in``.
    """

    level: str
    remedy: str
    command: tuple[str, ...]
    section: str
    ends: str = "next try in"


_OF_ONE = "see what each pool said of one of them"
_EXPLAIN = ("nodepoolctl", "why", "{subject}")
_BUILDS = ("nodepoolctl", "builds")
_IMAGES = ("nodepoolctl", "images")
_CHECK = ("ansible-playbook", "stackci.nodepool.config_validate")
_JOURNAL = ("journalctl", "-u", "nodepool-launcher", "-n", "50")
_THROTTLE = ("ansible", "localhost", "-m", "stackci.nodepool.throttle", "-a")

CAUSES: Mapping[str, Cause] = {
    "configuration": Cause(BAD, "correct the file that is named", _CHECK, "Nodes stop coming"),
    "no-launcher": Cause(
        BAD,
        "start the launcher, or see why it ended",
        ("systemctl", "status", "nodepool-launcher"),
        "Nothing happens at all",
    ),
    "provider": Cause(
        BAD,
        "the launcher retries by itself; tell the operators of the cloud",
        _CHECK,
        "Freezes, breakers, health",
    ),
    "label-unserved": Cause(
        BAD, "correct the label, or start the launcher of a provider that offers it", _CHECK, "Why does a request wait?"
    ),
    "requests-failed": Cause(BAD, _OF_ONE, _EXPLAIN, "Whose fault a failure is"),
    "build": Cause(
        BAD,
        "do what the text says: correct the image, or the machine of the builder; the last good build stays in use",
        _BUILDS,
        "Builds of disk images",
    ),
    "upload": Cause(
        BAD,
        "the builder retries; the last good upload stays in use",
        _IMAGES,
        "Uploads of disk images",
    ),
    "build-unused": Cause(
        WARN,
        "correct the image and build it again, or restore the build",
        ("nodepoolctl", "restore", "{subject}"),
        "Builds that are not used",
    ),
    "gate-rejected": Cause(
        WARN,
        "see the log of its test; correct the image and build it again",
        _IMAGES,
        "Tests of new images",
    ),
    "gate-inconclusive": Cause(
        WARN,
        "it is not the image: see what the log of the test says of the mirror, the playbook or the cloud",
        _IMAGES,
        "Tests of new images",
    ),
    "gate-flaky": Cause(
        WARN,
        "the build is used; see the log of the test that failed",
        _IMAGES,
        "Tests of new images",
    ),
    "gate-held": Cause(
        WARN,
        "log in and look, and release it as soon as you have seen enough; hold-failed of the gate limits how long",
        ("nodepoolctl", "unhold", "{subject}"),
        "Tests of new images",
        "its hold ends in",
    ),
    "clock": Cause(
        WARN,
        "synchronize the clock of that host",
        ("timedatectl", "status"),
        "Freezes, breakers, health",
    ),
    "metrics": Cause(
        WARN,
        "correct STATSD_HOST in the environment of that host's services, or the name server; nothing else suffers",
        ("systemctl", "show", "nodepool-launcher", "--property", "Environment"),
        "Metrics",
    ),
    "no-standby": Cause(
        WARN,
        "start the launcher of the other host, or see why it ended; nobody takes over when this one ends",
        ("systemctl", "status", "nodepool-launcher"),
        "Launchers on several hosts",
    ),
    "wasted": Cause(WARN, "see why the servers of one failed node were given up", _JOURNAL, "Whose fault a failure is"),
    "flapping": Cause(
        WARN,
        "none is needed while launches succeed; show the operators of the cloud which calls fail",
        ("ansible", "localhost", "-m", "stackci.nodepool.provider_info", "-a", "providers={provider}"),
        "Freezes, breakers, health",
    ),
    "requests-wait": Cause(WARN, "see what one of them waits for", _EXPLAIN, "Why does a request wait?"),
    "freeze": Cause(
        WARN,
        "none is needed; end it by hand after the limit was raised",
        (*_THROTTLE, "provider={provider} kind=freeze"),
        "Freezes, breakers, health",
    ),
    "breaker": Cause(
        WARN,
        "see why its servers fail; end it by hand after the fix",
        (*_THROTTLE, "provider={provider} kind=breaker"),
        "Freezes, breakers, health",
    ),
    "min-ready": Cause(WARN, "check that the clouds have what the label needs", _CHECK, "Ready nodes"),
    "stuck": Cause(
        WARN,
        "ask the operators of the cloud to delete them",
        ("nodepoolctl", "list", "--state", "deleting"),
        "A server that is not deleted",
    ),
    "stale": Cause(
        WARN, "start a builder, or ask for a build", ("nodepoolctl", "build", "{subject}"), "Builds of disk images"
    ),
    "no-upload": Cause(
        WARN,
        "check that a builder works; see what its last upload said",
        _IMAGES,
        "Uploads of disk images",
    ),
    "budget": Cause(
        WARN,
        "see what it was used for; talk to the tenant, or limit it with tenant-resource-limits: nothing is enforced",
        ("nodepoolctl", "usage", "--tenant", "{subject}", "--by", "project", "--by", "label"),
        "Budgets of tenants",
    ),
    "record": Cause(WARN, "a launcher that acts for the provider rewrites it", (), "Nodes stop coming"),
}

_BY_OWNER: Mapping[tuple[str, str | None], str] = {
    ("provider", ACCOUNT): "correct the account of the provider in clouds.yaml: its password, its project, its rights",
    ("requests-failed", REQUEST): f"have its requestor ask for less, or raise the limit that is named; {_OF_ONE}",
    ("requests-failed", LABEL): f"correct the label in nodepool.yaml; {_OF_ONE}",
    ("requests-failed", IMAGE): f"correct the image and build it again; {_OF_ONE}",
}
"""Cause, owner → the remedy, where it is another one than that of the cause."""


def row_about(
    cause: str,
    where: str,
    told: str | None,
    *,
    age: float | None = None,
    ends_in: float | None = None,
    count: int = 1,
    provider: str = "",
    owner: str | None = None,
    subject: str = "",
    code: str = "",
    pools: Sequence[str] = (),
) -> dict[str, Any]:
    """Return a row.

    :param subject: the image, request or label that the remedy is about.
    :param code: the code of the reason for which requests wait.
    :param pools: what each pool says of the oldest request.
    """
    kind = CAUSES[cause]
    return {
        "cause": cause,
        "level": kind.level,
        "where": where,
        # Failures of launches name their owner themselves.
        "text": (told or UNTOLD).removesuffix(f" [owner: {owner}]") or UNTOLD,
        "age": age,
        "ends_in": ends_in,
        "count": count,
        "provider": provider,
        "owner": owner,
        "subject": subject,
        "code": code,
        "pools": list(pools),
        "remedy": _BY_OWNER.get((cause, owner), kind.remedy),
        "command": shlex.join(_filled(word, provider, subject) for word in kind.command),
        "section": kind.section,
    }


def _filled(word: str, provider: str, subject: str) -> str:
    """Return a word of a command. Options with a name that Ansible would split, such as one with a blank, are JSON."""
    if "=" not in word or _WHOLE.fullmatch(provider):
        return word.format(provider=provider, subject=subject)
    options: dict[str, str | list[str]] = {}
    for option in word.split():
        key, _equals, value = option.partition("=")
        text = value.format(provider=provider, subject=subject)
        options[key] = [text] if key == "providers" else text
    return json.dumps(options)


def ends(row: Mapping[str, Any]) -> str:
    """Return the words before the seconds after which something ends."""
    return CAUSES[row["cause"]].ends


def aside(told: str) -> str:
    """Return *told* in brackets, behind a blank; "" for nothing."""
    return f" ({told})" if told else ""
