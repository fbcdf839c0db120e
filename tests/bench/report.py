# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table on the screen and the JSON file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.bench.figures import Figure, Findings

NAME, VALUE, TARGET, MET = 46, 14, 10, 8
PUBLISHED = "Nodepool 11, measured elsewhere"


def heading(title: str, name: str) -> str:
    """The lines above a room's figures."""
    columns = f"  {'':{NAME}}{'measured':>{VALUE}}{'target':>{TARGET}}  {'':{MET}}{PUBLISHED}"
    return f"\n{name}: {title}\n{columns}"


def row(figure: Figure) -> str:
    """One line of the table."""
    value = "not measured" if math.isnan(figure.value) else f"{number(figure.value)} {figure.unit}".strip()
    target = "" if figure.at_most is None else f"≤ {figure.at_most:g}"
    target = target if figure.at_least is None else f"≥ {figure.at_least:g}"
    met = {None: "", True: "met", False: "NOT MET"}[figure.met]
    line = f"  {figure.name:{NAME}}{value:>{VALUE}}{target:>{TARGET}}  {met:{MET}}{figure.published}"
    return line.rstrip()


def number(value: float) -> str:
    """Short, with as many digits as tell something."""
    if (value == int(value) and abs(value) >= 1) or value == 0:
        return f"{value:.0f}"
    return f"{value:.3f}" if abs(value) < 1 else f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}"


def summary(findings: Iterable[Findings], broken: int) -> str:
    """How many targets are met, and how many by far not."""
    judged = [figure for found in findings for figure in found.figures if figure.met is not None]
    far = sum(figure.far_off for figure in judged)
    text = f"\n{sum(figure.met is True for figure in judged)} of {len(judged)} targets met"
    text += f", {far} missed by more than half" if far else ""
    return f"{text}; {broken} scenarios could not be measured" if broken else text


def write(path: Path, document: dict[str, Any]) -> None:
    """The JSON file; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def room_document(title: str, seconds: float, load: list[list[float]], findings: Findings) -> dict[str, Any]:
    """A room in the JSON file."""
    return {
        "title": title,
        "seconds": round(seconds, 1),
        "load_before_and_after": load,
        "figures": [figure.document() for figure in findings.figures],
        "notes": findings.notes,
        "details": findings.details,
    }
