# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes docs/demo.svg, the picture of README.md, from what a run of the demo prints.

.venv/bin/python -m tests.demo | .venv/bin/python tools/demo_svg.py docs/demo.svg
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 118
STEPS = {3: 5, 4: 14, 5: 8, 6: 10}
"""Number of a step → how many of its lines the picture shows: enough to tell the story, short enough for one screen."""


def steps(text: str) -> dict[int, list[str]]:
    """Number → lines of each step of the demo, heading first; 0: what follows the last."""
    found: dict[int, list[str]] = {}
    number = 0
    for line in text.splitlines():
        heading = re.match(r"(\d+)\. ", line)
        if heading:
            number = int(heading[1])
        elif line and not line.startswith(" "):
            number = 0
        if line.strip():
            found.setdefault(number, []).append(line)
    return found


def shown(text: str) -> list[str]:
    """The lines of the picture."""
    found = steps(text)
    lines: list[str] = []
    for number, most in STEPS.items():
        here = found.get(number, [])
        lines += here[:most]
        if len(here) > most:
            lines += ["    …", here[-1]]
        lines.append("")
    return [*lines, *found.get(0, [])[-1:]]


def main(target: Path) -> None:
    """Draw what comes on standard input."""
    console = Console(width=WIDTH, record=True, file=io.StringIO(), force_terminal=True, highlight=False)
    console.print(Text("$ make demo", style="bold"))
    for line in shown(sys.stdin.read()):
        console.print(Text(line[:WIDTH], style="bold cyan" if re.match(r"\d+\. ", line) else ""))
    svg = console.export_svg(title="make demo")
    target.write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
