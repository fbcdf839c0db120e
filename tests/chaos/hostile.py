# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents that other clients write: near ZooKeeper's limit of one request, and with values of odd types."""

from __future__ import annotations

import json
import random
from typing import Any

from tests.chaos.history import NODES, REQUESTS

LIMIT = 1_048_575
"""Bytes of the largest request that ZooKeeper takes; it ends the connection for a larger one."""
SIZES = (1_040_000, 900_001, 900_000, 899_000, 0)
"""Bytes of a document: too large for a lock in the same request, around what the collection uses, and as it is."""
ODD: tuple[Any, ...] = (
    None,
    True,
    7,
    -1e15,
    1e300,
    "",
    "x" * 300,
    "\x1b[31m\n<6>forged",
    [],
    [["deep"]],
    {},
    {"a": {}},
)
NODE_STATES = ("used", "hold", "in-use", "deleting", "building", "init", "failed", "unheard-of")
REQUEST_STATES = ("requested", "pending", "unheard-of")
BROKEN = (b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"a":' * 300 + b"1" + b"}" * 300)


def node(chance: random.Random, provider: str, now: float) -> bytes:
    """A node record of *provider* that no launcher has made."""
    document = {
        "state": chance.choice(NODE_STATES),
        "state_time": now,
        "created_time": now,
        "provider": provider,
        "pool": "main",
        "type": ["small"],
        "launcher": "somebody",
        "external_id": None,
        "hold_expiration": chance.choice([None, 5, 0]),
    }
    return _spoilt(chance, document, "comment")


def request(chance: random.Random, now: float) -> bytes:
    """A request of a requestor that knows no bounds."""
    document = {
        "state": chance.choice(REQUEST_STATES),
        "state_time": now,
        "node_types": chance.choice([["small"], ["unheard-of"], ["small"] * 3]),
        "requestor": "stranger",
        "requestor_data": {},
        "nodes": [],
        "declined_by": [],
        "provider": None,
        "relative_priority": 0,
        "event_id": "e" * 32,
        "created_time": now,
        "tenant_name": None,
        "reuse": True,
    }
    return _spoilt(chance, document, "padding")


def folder_of(kind: str) -> str:
    """The path that a document of that kind is created with, as a sequence."""
    return f"{NODES}/" if kind == "node" else f"{REQUESTS}/200-"


def made(chance: random.Random, kind: str, provider: str, now: float) -> bytes:
    """A document of that kind, ``node`` or ``request``."""
    if chance.random() < 0.1:
        return chance.choice(BROKEN)
    return node(chance, provider, now) if kind == "node" else request(chance, now)


def _spoilt(chance: random.Random, document: dict[str, Any], filler: str) -> bytes:
    for key in chance.sample(sorted(document), chance.choice([0, 0, 1, 1, 2])):
        document[key] = chance.choice(ODD)
    size = chance.choice(SIZES)
    document[filler] = ""
    document[filler] = "x" * max(0, size - len(json.dumps(document)))
    return json.dumps(document).encode()
