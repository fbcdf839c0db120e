# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""By Ansible itself: a module that works on the controller is not packed, and answers as if it were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.ansible_run import command, keeping

PACKED = b"zip_data="


def play(folder: Path, **more: Any) -> tuple[dict[str, Any], list[bytes]]:
    """What leak_cleanup returns for a file that is not there, and the programs that Ansible sent."""
    task = {"name": "Sweep", "stackci.nodepool.leak_cleanup": {"config": str(folder / "none.yaml")}, **more}
    document = {"name": "One", "hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": [task]}
    (folder / "play.yml").write_text(json.dumps([document]))
    answer = folder / "answer.json"
    done = command(
        *("ansible-playbook", "play.yml"),
        folder=folder,
        timeout=90,
        ANSIBLE_KEEP_REMOTE_FILES="1",
        # Ansible takes "~" for what the system says, and not for HOME.
        ANSIBLE_REMOTE_TMP=str(folder / "sent"),
        ANSIBLE_ASYNC_DIR=str(folder / "jobs"),
        **keeping(answer),
    )
    assert done.returncode == 2, done.stdout + done.stderr
    sent = [path.read_bytes() for path in (folder / "sent").rglob("AnsiballZ_leak_cleanup.py")]
    return json.loads(answer.read_text()), sent


@pytest.mark.parametrize("more", [{}, {"async": 60, "poll": 1}], ids=["plain", "async"])
def test_nothing_is_packed_and_the_answer_is_the_same(tmp_path: Path, more: dict[str, Any]) -> None:
    said = []
    for in_place in (True, False):
        folder = tmp_path / str(in_place)
        folder.mkdir()
        answer, sent = play(folder, vars={"nodepool_in_place": in_place}, **more)
        assert len(sent) == 1
        assert (PACKED in sent[0]) is not in_place
        said.append({key: str(answer.get(key)).replace(str(folder), "F") for key in ("failed", "msg", "problems")})
    assert said[0] == said[1]
    assert "F/none.yaml: does not exist: check the path" in said[0]["msg"]
