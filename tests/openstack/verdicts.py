# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdicts of the rows on each cloud, kept from run to run, and what differs between two clouds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from tests.openstack.control_plane import ROOT

FOLDER = ROOT / ".build" / "openstack"
FIGURES = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f-]{27})?\b|\d+(\.\d+)?")

Verdicts = Mapping[str, Mapping[str, Any]]
"""Row → its ``verdict``, what was ``seen`` and ``seconds``."""


def read(cloud: str) -> dict[str, dict[str, Any]]:
    """What is known of a cloud."""
    path = FOLDER / f"{cloud}.json"
    found: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def keep(cloud: str, fresh: Verdicts) -> None:
    """Put the verdicts of a run beside those of rows that were run earlier."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**read(cloud), **fresh}, indent=1, ensure_ascii=False)
    (FOLDER / f"{cloud}.json").write_text(text + "\n", encoding="utf-8")


def differences(real: Verdicts, simulated: Verdicts, none: str) -> Iterable[str]:
    """Lines for each row that both clouds have and that did not go the same way.

    :param none: the verdict of a row that could not be tried on a cloud.
    """
    for name in [name for name in real if name in simulated]:
        theirs, ours = real[name], simulated[name]
        if none in (theirs["verdict"], ours["verdict"]):
            continue
        if theirs["verdict"] != ours["verdict"] or _words(theirs["seen"]) != _words(ours["seen"]):
            yield f"{name}:"
            yield from (f"  {title:10} {one['verdict']:6} {_short(one['seen'])}"
                        for title, one in (("real", theirs), ("simulated", ours)))  # fmt: skip


def _words(seen: str) -> str:
    """What was seen, without figures and ids."""
    return FIGURES.sub("#", seen)


def _short(seen: str) -> str:
    return " ".join(seen.split())[:300]
