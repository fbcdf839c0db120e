# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress lines of a module."""

from __future__ import annotations

import json
import os
from pathlib import Path

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.progress import Progress


def written(path: Path) -> list[str]:
    return [json.loads(line)["line"] for line in path.read_text().splitlines()]


def test_how_things_are_is_written_when_it_changes(tmp_path):
    path = tmp_path / "lines"
    progress = Progress(str(path), clock=lambda: 7.0)
    for text in ("waits", "waits", "ready"):
        progress.state(text)
    progress.line("between")
    progress.state("ready")
    progress.state("waits")
    assert written(path) == ["waits", "ready", "between", "waits"]
    assert json.loads(path.read_text().splitlines()[0])["time"] == 7.0


def test_a_pipe_is_written_to_while_somebody_reads_and_never_waited_for(tmp_path):
    pipe = tmp_path / "lines"
    os.mkfifo(pipe)
    Progress(str(pipe)).line("nobody reads")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    progress = Progress(str(pipe))
    progress.line("one")
    assert b'"one"' in os.read(reader, 65536)
    for _line in range(100):
        progress.line("x" * 4000)
    os.close(reader)


def test_a_file_that_cannot_be_written_does_not_disturb(tmp_path):
    progress = Progress(str(tmp_path / "absent" / "lines"))
    progress.line("one")
    (tmp_path / "absent").mkdir()
    progress.line("two")
    assert not (tmp_path / "absent" / "lines").exists()
    Progress(None).line("nowhere")
