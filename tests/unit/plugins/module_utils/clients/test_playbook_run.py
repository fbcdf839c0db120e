# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ends a playbook on this host says nothing about the node; what it writes is bounded."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients import playbook_run
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.playbook_run import (
    LONGEST_LOG,
    PlaybookEnd,
    PlaybookRun,
)


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> PlaybookEnd:
    """Run a playbook with a program that does what *script* says."""
    program = folder / playbook_run.PROGRAM
    program.write_text(f"#!/bin/sh\nmkdir -p artifacts/play\n{script}\n", encoding="utf-8")
    program.chmod(0o700)
    monkeypatch.setattr(playbook_run, "_programs", lambda: f"{folder}:/usr/bin:/bin")
    (folder / "smoke.yml").touch()
    log = str(folder / "play.log")
    return PlaybookRun(str(folder / "smoke.yml"), "true", lambda where: {}, (), {}, log, 60.0).run()


@pytest.mark.parametrize("signal", [9, 15])
def test_a_runner_that_is_killed_is_not_the_fault_of_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, signal: int
) -> None:
    end = run(tmp_path, monkeypatch, f"kill -{signal} $$")
    assert end.ours and not end.passed and f"killed on this host (signal {signal})" in end.reason


def test_a_playbook_that_fails_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    end = run(tmp_path, monkeypatch, "echo 'ERROR! no DNS' > artifacts/play/stdout; exit 2")
    assert end == PlaybookEnd(False, "ERROR! no DNS")


def test_of_a_long_output_the_beginning_and_the_end_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = 3 * LONGEST_LOG
    script = f"(echo first; head -c {size} /dev/zero; echo last) > artifacts/play/stdout"
    assert run(tmp_path, monkeypatch, script).passed
    log = (tmp_path / "play.log").read_bytes()
    assert log.startswith(b"first\n") and log.endswith(b"last\n") and b"bytes are left out here" in log
    assert len(log) < LONGEST_LOG + 100
