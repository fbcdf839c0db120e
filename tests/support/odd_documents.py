# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One document of every kind that is kept in ZooKeeper, and random damage to it."""

from __future__ import annotations

import json
import random
from typing import Any

BUILD = "0" * 31 + "1"
NODE, GONE = "0000000900", "0000000800"
REQUEST = "100-0000000900"
OWN = "/nodepool/stackci"


def documents(now: float, pool_id: str) -> dict[str, dict[str, Any]]:
    """By path. The provider is ``east``, the image ``fedora``; what is named exists."""
    launch = {
        "node_id": NODE,
        "provider": "east",
        "pool": "main",
        "label": "small",
        "phase": "booting",
        "since": now - 5,
        "started": now - 6,
        "mark": f"{NODE}-1-abc",
        "server_id": "s-1",
        "superseded": ["x"],
    }
    sighting = {"first": now - 700, "tries": 4, "tried": now - 300, "answer": "no"}
    node = {"state": "ready", "state_time": now, "type": ["small"], "provider": "east", "pool": "main", "az": "nova"}
    upload = f"/nodepool/images/fedora/builds/{BUILD}/providers/east/images/0000000001"
    return {
        f"/nodepool/nodes/{NODE}": {
            **node,
            "resources": {"instances": 1, "cores": 2, "ram": 2048},
            "allocated_to": REQUEST,
            "tenant_name": "t1",
            "hold_expiration": 7,
        },
        "/nodepool/nodes/0000000901": {**node, "state": "building", "node_properties": {}, "external_id": "s-2"},
        "/nodepool/nodes/0000000902": {**node, "state": "hold", "hold_expiration": 10**6, "hold_job": "lease x"},
        f"/nodepool/requests/{REQUEST}": {
            "state": "pending",
            "node_types": ["small"],
            "nodes": [NODE],
            "declined_by": ["a"],
            "requestor": "stackci.nodepool",
            "requestor_data": {"lease": "x", "nonce": "n", "set": 0, "expires_at": now + 100},
            "provider": "east",
            "relative_priority": 1,
            "tenant_name": "t1",
        },
        f"/nodepool/images/fedora/builds/{BUILD}": {"state": "ready", "state_time": now, "formats": "qcow2"},
        upload: {"state": "ready", "state_time": now, "external_id": "i-1", "external_name": "fedora-1"},
        "/nodepool/components/pool/other0000000001": {
            "id": "other",
            "provider_name": "north",
            "name": "main",
            "supported_labels": ["large"],
            "priority": 150,
            "paused": False,
            "state": "running",
            "model_api": 0,
        },
        f"{OWN}/pools/{pool_id}": {
            "provider_name": "east",
            "name": "main",
            "supported_labels": ["small"],
            "priority": 100,
            "config": "host:nodepool.yaml",
            "last_seen": now,
        },
        f"{OWN}/pools/another": {"provider_name": "x", "name": "y", "supported_labels": [], "last_seen": now - 1e5},
        f"{OWN}/breakers/east": {"debian/small": {"failures": 7, "until": now + 20, "text": "broken"}},
        f"{OWN}/freezes/{pool_id}": {
            "instances": {
                "resource": "instances",
                "until": now + 20,
                "refusals": [now - 5],
                "evidence": {"bound": 5, "others": 1, "ours": 2},
                "text": "quota",
            }
        },
        f"{OWN}/providers/east": {
            "provider": "east",
            "cloud": "east",
            "region": None,
            "place": {"auth_url": "", "project": "", "region": ""},
            "config": "host:nodepool.yaml",
            "boot_seconds": [1.5, 2],
        },
        f"{OWN}/drain/west": {"provider": "west", "cloud": "east", "region": None, "place": {}, "since": now},
        f"{OWN}/launches/{NODE}": launch,
        f"{OWN}/launches/0000000901": {**launch, "node_id": "0000000901"},
        f"{OWN}/launches/{GONE}": {**launch, "node_id": GONE},
        f"{OWN}/leases/x": {
            "name": "x",
            "labels": ["small"],
            "nonce": "n",
            "created_time": now,
            "expires": 10,
            "expires_at": now - 5,
            "sets": [{"request": REQUEST, "nodes": [NODE]}],
        },
        f"{OWN}/waits/{REQUEST}": {"code": "no-room", "text": "no room", "since": now},
        f"{OWN}/declines/{REQUEST}": {"reasons": [{"code": "x", "text": "y"}]},
        f"{OWN}/stuck/s-1": {"provider": "east", "server": "s-1", "node": NODE, "since": now, "tries": 4, "tried": now},
        f"{OWN}/tombstones/east/{GONE}": {"node_id": GONE, "buried": now, "servers": ["s-9"], "marks": ["m"]},
        f"{OWN}/sightings/east": {"seen": {"server/s-9": sighting}, "looked": {"server": now - 900}},
        f"{OWN}/tree-sightings": {"seen": {"document/leases/x": sighting}, "looked": {"tree": now - 9000}},
        f"{OWN}/image-builds/fedora": {"failures": 2, "not_before": now + 5, "sizes": {"qcow2": 5}, "seconds": 8},
        f"{OWN}/image-uploads/east/fedora": {"failures": 2, "not_before": now + 5, "error": "no", "build": BUILD},
        f"{OWN}/image-builders/b1": {"builder_id": "b1", "host": "h", "images_dir": "/i", "since": now, "seen": now},
    }


def deep(levels: int) -> Any:
    """Lists in lists."""
    value: Any = []
    for _unused in range(levels):
        value = [value]
    return value


class Spoiler:
    """Damages documents.

    :param seed: the same damage each time.
    """

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def odd(self) -> Any:
        """A value that belongs nowhere."""
        return self.chance.choice(
            [
                None,
                True,
                -1,
                0,
                10**400,
                -(10**18),
                1e308,
                -1e308,
                float("inf"),
                float("nan"),
                "",
                "x",
                "\ud800",
                "a/b\0",
                [],
                [[]],
                ["small", None, {"a": 1}],
                {},
                {"small": {"until": "x"}},
                deep(90),
                deep(400),
            ]
        )

    def spoilt(self, document: Any) -> Any:
        """*document* with one value of it, at any depth, lost or made odd."""
        if isinstance(document, dict) and document and self.chance.random() < 0.9:
            key = self.chance.choice(sorted(document))
            fate = self.chance.random()
            rest = {name: value for name, value in document.items() if name != key}
            if fate < 0.2:
                return rest
            return {**rest, key: self.spoilt(document[key]) if fate < 0.6 else self.odd()}
        if isinstance(document, list) and document and self.chance.random() < 0.7:
            place = self.chance.randrange(len(document))
            return [*document[:place], self.spoilt(document[place]), *document[place + 1 :]]
        return self.odd()

    def data(self, document: Any) -> bytes:
        """As somebody may have stored it."""
        fate = self.chance.random()
        if fate < 0.1:
            return self.chance.choice(
                [b"null", b"[]", b"7", b'"x"', b"{", b"\xff", b"[" * 100_000, b'{"a":' * 2000 + b"1" + b"}" * 2000]
            )
        for _unused in range(self.chance.choice([1, 1, 2, 4])):
            document = self.spoilt(document)
        return json.dumps(document).replace("Infinity", self.chance.choice(["1e400", "Infinity"])).encode()
