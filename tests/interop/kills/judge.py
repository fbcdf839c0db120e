# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must never be, told by others than the collection: the clouds' journals, ZooKeeper's log and the guests.

A build counts as tested from the moment at which the playbook has ended well on one of its canaries. The guest writes
that down with the name of its server; the cloud's journal has the image of that server, and the checksum of the image
is that of the build's file.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.chaos.history import DELETE, Change
from tests.interop.kills.decisions import Span
from tests.interop.kills.people import Given
from tests.interop.kills.site import TESTING

NEVER = float("inf")
GRACE = 5.0
"""Seconds after which no launch is under way any more that was decided upon before a build was revoked."""
KEPT = 2
"""Builds that stay at a provider."""


@dataclass(frozen=True)
class Evidence:
    """What was seen.

    :param journals: provider → what its cloud has ever had.
    :param tested: lines of the guests: kind, provider, server and time.
    :param checksums: build → checksum, in the order in which they were built.
    :param revoked: what persons have revoked.
    """

    journals: Mapping[str, Mapping[str, Any]]
    tested: Sequence[str]
    checksums: Mapping[str, str]
    changes: Sequence[Change]
    revoked: Sequence[Span] = ()

    def checksum(self, provider: str, image: str) -> str:
        """The checksum of an image of a cloud; "" if nobody has uploaded it."""
        return str(self.journals[provider]["images"].get(image, {}).get("md5", ""))

    def passed(self) -> dict[str, float]:
        """Checksum → when the playbook has ended well first on a canary of such an image."""
        found: dict[str, float] = {}
        for line in self.tested:
            kind, provider, name, at = line.split()
            servers = [one for one in self.journals[provider]["servers"] if one["name"] == name]
            servers = [one for one in servers if one["created"] <= float(at)]
            if kind == "canary" and servers:
                image = max(servers, key=lambda one: float(one["created"]))["image"]
                checksum = self.checksum(provider, image)
                found[checksum] = min(found.get(checksum, NEVER), float(at))
        return found


class Judge:
    """Judges a run."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._passed = evidence.passed()
        self._image_of = {checksum: build for build, checksum in evidence.checksums.items()}

    def tested_from(self, checksum: str) -> float:
        """From when uploads of a build may be ready, and nodes of requests may be made of them."""
        return self._passed.get(checksum, NEVER)

    def violations(self, given: Iterable[Given]) -> list[str]:
        """What must never be, in words."""
        received = list(given)
        found = [*self._of_requests(received), *self._of_servers(), *self._of_uploads(), *self._of_images()]
        return [*found, *self._of_revoked(received)]

    def _of_requests(self, given: Iterable[Given]) -> list[str]:
        """No node of a request was made from a build that was not tested before."""
        wrong = []
        for one in given:
            servers = {row["id"]: row for row in self._evidence.journals[one.provider]["servers"]}
            server = servers.get(one.server)
            if server is None:
                wrong.append(f"the cloud has never had server {one.server} of {one}")
                continue
            checksum = self._evidence.checksum(one.provider, server["image"])
            if self.tested_from(checksum) > server["created"]:
                wrong.append(f"{one} was made from an untested build: {server}, {self._image_of.get(checksum)}")
        return wrong

    def _of_servers(self) -> list[str]:
        """Servers of untested images are canaries, and nothing else, whether somebody was given them or not."""
        labels: dict[str, set[str]] = defaultdict(set)
        for change in self._evidence.changes:
            parts = change.path.split("/")
            if len(parts) == 4 and parts[1:3] == ["nodepool", "nodes"] and (node := _document(change)):
                labels[f"np{parts[3]}"] |= set(node.get("type") or ())
        wrong = []
        for provider, journal in self._evidence.journals.items():
            for server in journal["servers"]:
                checksum = self._evidence.checksum(provider, server["image"])
                of = labels[server["name"]]
                canary_of = {image for image in TESTING if of == {f"stackci-canary-{image}"}}
                images = [image for image in TESTING if any(image in one for one in of)]
                if not images:
                    wrong.append(f"provider {provider}: {server} is of no node: {of}")
                elif not canary_of and self.tested_from(checksum) > server["created"]:
                    wrong.append(f"provider {provider}: {server} of {of} was made from an untested build")
        return wrong

    def _of_revoked(self, given: Sequence[Given]) -> list[str]:
        """Nobody is given a node of a build that is revoked."""
        wrong = []
        for span in self._evidence.revoked:
            for one in given:
                if one.record.split("/")[5:6] == [span.build] and span.begin + GRACE < one.at < span.until:
                    wrong.append(f"{one} is of a build that was revoked: {span}")
        return wrong

    def _of_uploads(self) -> list[str]:
        """No upload was ready before its test, and no good one went before two newer ones were there."""
        # What was revoked makes room for a newer one, and is uploaded again when it is restored.
        spared = {span.build for span in self._evidence.revoked}
        order = {build: place for place, build in enumerate(self._evidence.checksums)}
        ready: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        wrong = []
        for change in self._evidence.changes:
            found = upload_of(change.path)
            if found is None:
                continue
            image, build, provider = found
            there = ready[image, provider]
            if change.kind != DELETE and _document(change).get("state") == "ready":
                there[change.path] = build
                if self.tested_from(self._evidence.checksums[build]) > change.at + 0.001:
                    wrong.append(f"{change.path} was ready at {change.at} without a test")
            elif there.pop(change.path, None) is not None:
                newer = {one for one in there.values() if order[one] > order[build]}
                if build not in {*there.values(), *spared} and len(newer) < KEPT:
                    wrong.append(f"{change.path} was lost at {change.at}, with {len(newer)} newer ones")
        return wrong

    def _of_images(self) -> list[str]:
        """The image of an upload that is ready is in the cloud for as long as the upload is ready."""
        left: dict[tuple[str, str], float] = {}
        for change in self._evidence.changes:
            found = upload_of(change.path)
            record = _document(change) if found is not None else {}
            if found is None:
                continue
            if record.get("state") == "ready":
                left[found[2], change.path] = NEVER
            elif left.get((found[2], change.path)) == NEVER:
                left[found[2], change.path] = change.at
        named = self._named()
        wrong = []
        for (provider, path), until in left.items():
            image = self._evidence.journals[provider]["images"].get(named[path])
            if image is None or (image["deleted"] or NEVER) < until - 0.01:
                wrong.append(f"the image of {path} was deleted while it was ready: {image}, until {until}")
        return wrong

    def _named(self) -> dict[str, str]:
        """Path of an upload → its image in the cloud."""
        found = {}
        for change in self._evidence.changes:
            if upload_of(change.path) is not None and (external := _document(change).get("external_id")):
                found[change.path] = str(external)
        return found


def upload_of(path: str) -> tuple[str, str, str] | None:
    """Image, build and provider of an upload's record; None for another path."""
    parts = path.split("/")
    if len(parts) != 10 or parts[2] != "images" or parts[8] != "images" or not parts[9].isdigit():
        return None
    return parts[3], parts[5], parts[7]


def _document(change: Change) -> dict[str, Any]:
    try:
        found = json.loads(change.data) if change.data else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
