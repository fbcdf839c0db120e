# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes ``ansible_collections.stackci.nodepool`` importable from a checkout; tells how to run failed tests again."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
TREE = ROOT / "playbooks" / "collections"
LINK = TREE / "ansible_collections" / "stackci" / "nodepool"

if not LINK.exists():
    LINK.parent.mkdir(parents=True, exist_ok=True)
    LINK.symlink_to(Path("..") / ".." / ".." / "..")
for entry in (str(TREE), str(ROOT)):
    if entry not in sys.path:
        sys.path.insert(0, entry)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the command that runs each failed test again."""
    from tests.support.rerun import rerun_lines  # importable only with the entries above

    reports = [*terminalreporter.stats.get("failed", ()), *terminalreporter.stats.get("error", ())]
    failed = [report.nodeid for report in reports if "::" in report.nodeid]
    for line in rerun_lines(failed, os.environ):
        terminalreporter.write_line(line)
