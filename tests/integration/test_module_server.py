# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""tests/support/module_server.py: it tells each client how its module has ended, however many end at once."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.support.ansible_run import ModuleProcess

ROUNDS = 20


def test_modules_that_end_at_once_are_told_one_by_one(tmp_path: Path) -> None:
    options = {"config": str(tmp_path / "none.yaml")}
    for _unused in range(ROUNDS):
        running = [ModuleProcess("nodepool_config_info", options, tmp_path, name) for name in ("one", "two")]
        for process in running:
            os.kill(process.pid, signal.SIGKILL)
        assert [process.wait(60) for process in running] == [-signal.SIGKILL] * 2
    assert ModuleProcess("nodepool_config_info", options, tmp_path).result(60)["failed"]
