# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What builders and launchers are doing at a moment, as the tree shows it."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path

from ansible_collections.stackci.nodepool.plugins.module_utils.model.build_verdict import GATE
from ansible_collections.stackci.nodepool.plugins.module_utils.model.gate import CANARY, GateRecord
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Upload, UploadState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node, NodeState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.own_tree import LAUNCHES
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import RequestState
from tests.interop.kills.site import PROVIDERS, TESTING, KillSite

START, IDLE = "start", "nothing under way"
BUILDER_PHASES = (
    START,
    "record of the upload",
    "upload",
    "before the request",
    "canary requested",
    "canary boots",
    "canary fulfilled",
    "play on a canary",
    "canary failed",
    "control node boots",
    "play on a control node",
    "second canary boots",
    "play on the second canary",
    "verdict, not ready",
    "distribution",
    "deletion",
)
LAUNCHER_PHASES = (
    START,
    "gate's request",
    "gate's node queued",
    "gate's node creating",
    "gate's node booting",
    "gate's node reaching",
    "gate's node in use",
    "person's node launching",
    "person's node in use",
    "node deleting",
)
_EARLY = {"creating": "creating", "unclear": "creating", "booting": "booting", "addressing": "booting"}


class Phases:
    """Reads the phases from a cache that ZooKeeper keeps up to date.

    :ivar changed: set at each change of the tree.
    """

    def __init__(self, site: KillSite) -> None:
        self._site, self._store = site, site.store
        self._waiting: list[threading.Event] = []
        self._store.on_change(self._tell)

    def event(self) -> threading.Event:
        """An event that is set at each change of the tree."""
        made = threading.Event()
        self._waiting.append(made)
        return made

    def _tell(self, _path: str) -> None:
        for event in self._waiting:
            event.set()

    # -- the builder ------------------------------------------------------------------------------------------------

    def of_builder(self, _state: Path) -> set[str]:
        """What a builder that holds the locks of its uploads is doing."""
        found: set[str] = set()
        for image, testing in TESTING.items():
            for upload in self._store.images.uploads(image):
                if upload.state == UploadState.DELETING:
                    found.add("deletion")
                held = self._store.images.is_provider_locked(image, upload.build_id, upload.provider)
                if upload.state == UploadState.UPLOADING and held:
                    found.add(self._of_upload(upload, testing))
        return found

    def _of_upload(self, upload: Upload, testing: Sequence[str]) -> str:
        if not upload.external_id:
            return "record of the upload"
        record = self._store.gates.get(upload.provider, upload.image)
        if record is None or not record.is_of(upload):
            return "upload" if upload.provider in testing else "distribution"
        verdict = self._store.verdicts.of_build(upload.image, upload.build_id)
        # The others that test go on after the first one has approved the build.
        if record.outcome or (verdict.by == GATE and upload.provider == testing[0]):
            return "verdict, not ready"
        return self._of_gate(record)

    def _of_gate(self, record: GateRecord) -> str:
        failed = any(result.kind == CANARY for result in record.of_round())
        request = self._store.requests.get(record.request) if record.request else None
        node = self._gate_node(record)
        if node is not None and node.state == NodeState.IN_USE:
            which = ("the second canary" if failed else "a canary") if record.kind == CANARY else "a control node"
            return f"play on {which}"
        if not record.request:
            return "canary failed" if failed else "before the request"
        if record.kind != CANARY:
            return "control node boots"
        if failed:
            return "second canary boots"
        if request is not None and request.state == RequestState.FULFILLED:
            return "canary fulfilled"
        return "canary boots" if request is not None and request.state == RequestState.PENDING else "canary requested"

    def _gate_node(self, record: GateRecord) -> Node | None:
        """The node of the present request, which is gone while the playbook runs."""
        for node in self._store.nodes.list():
            if record.request and node.allocated_to == record.request:
                return node
        return None

    # -- a launcher ---------------------------------------------------------------------------------------------------

    def of_launcher(self, state: Path) -> set[str]:
        """What the launcher with that state directory is doing at the providers for which it acts."""
        mine = {name for name in PROVIDERS if self._acts(state, name)}
        found = {
            "gate's request"
            for request in self._store.requests.list()
            if request.requestor == "stackci-gate" and request.provider in mine and request.state == "requested"
        }
        for node in self._store.nodes.list():
            if node.provider in mine:
                found.add(self._of_node(node))
        return found - {""}

    def _of_node(self, node: Node) -> str:
        whose = "gate's" if str(node.type[:1]).find("stackci-c") >= 0 else "person's"
        if node.state == NodeState.DELETING:
            return "node deleting"
        if node.state == NodeState.IN_USE:
            return f"{whose} node in use"
        launch = self._store.own.get(f"{LAUNCHES}/{node.id}") or {}
        if node.state == NodeState.READY:
            return ""
        if whose == "person's":
            return "person's node launching"
        phase = str(launch.get("phase"))
        return f"gate's node {_EARLY.get(phase, 'reaching' if phase in ('reaching', 'probing') else 'queued')}"

    def _acts(self, state: Path, name: str) -> bool:
        """True if the lock of the provider belongs to the session that the state directory names."""
        own = session_of(state)
        client, path = self._site.site.requestor.client, f"/nodepool/stackci/providers/{name}/lock"
        if own is None or not client.exists(path):
            return False
        # A lock's holder has the smallest number, which is at the end of the name.
        first = min(client.get_children(path), key=lambda name: str(name)[-10:], default=None)
        stat = client.exists(f"{path}/{first}") if first is not None else None
        return stat is not None and stat.ephemeralOwner == own


def session_of(state: Path) -> int | None:
    """The session of the newest process with that state directory; None when it has none yet."""
    found: list[tuple[float, int]] = []
    for path in state.glob("session-*"):
        try:
            found.append((path.stat().st_mtime, int(json.loads(path.read_text("utf-8"))["session_id"])))
        except (OSError, ValueError, KeyError):
            continue  # its process has just begun, or has just ended
    return max(found)[1] if found else None
