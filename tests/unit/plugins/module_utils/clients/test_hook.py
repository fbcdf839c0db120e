# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs of the operator's."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.hook import run_hook
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import HookError


def test_it_gets_its_arguments_as_they_are(tmp_path) -> None:
    said = tmp_path / "said"
    run_hook(["/bin/sh", "-c", f'printf "%s|" "$@" >{said}', "x", "a b", "$HOME", ";"], 10)
    assert said.read_text() == "a b|$HOME|;|"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo first; echo last >&2; exit 3", "the hook /bin/sh exited with code 3: last"),
        ("exit 4", "the hook /bin/sh exited with code 4"),
        ("kill -9 $$", "the hook /bin/sh was killed by signal 9"),
        ("yes long | head -c 5000000; echo; echo end; exit 1", "the hook /bin/sh exited with code 1: end"),
    ],
)
def test_its_failures(script, said) -> None:
    with pytest.raises(HookError) as caught:
        run_hook(["/bin/sh", "-c", script], 10)
    assert str(caught.value) == said


def test_what_cannot_be_run() -> None:
    with pytest.raises(HookError, match="post-upload-hook /nowhere cannot be run: No such file or directory"):
        run_hook(["/nowhere"], 1, name="post-upload-hook")


@pytest.mark.parametrize("why", ["time", "wish"])
def test_it_ends_with_all_that_it_started(tmp_path, why) -> None:
    file = tmp_path / "child"
    script = f"sleep 60 & echo $! >{file}.new; mv {file}.new {file}; wait"
    timeout, wanted = (0.5, lambda: True) if why == "time" else (60, lambda: not file.exists())
    with pytest.raises(
        HookError, match="did not end within 0.5 s" if why == "time" else "was stopped when the cycle ended"
    ):
        run_hook(["/bin/sh", "-c", script], timeout, wanted=wanted)
    assert is_gone(int(file.read_text()))


def is_gone(pid: int) -> bool:
    """True as soon as the process is no more than a zombie that nobody waits for."""
    end = time.monotonic() + 5
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (ProcessLookupError, FileNotFoundError):
            return True
        if state == "Z":
            return True
    return False
