# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A test that is cut off on the builder's host counts neither for nor against the build."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.playbook_run import PlaybookEnd
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads import gate_run
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.gate_run import Gate
from tests.support.build_case import build_id
from tests.support.gate_world import VirtualBuilder, document, gated, new_build, playbook_of
from tests.support.world import World


def test_runners_that_are_killed_reject_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with World(document("east"), lag=0.02) as world:
        world.config = gated("east")
        new_build(world, world.store, 1, "ready")
        world.start()
        builder = VirtualBuilder(world, tmp_path, set())
        passes, kills = builder.play, [9, 9, 9]

        def play(kind: str, upload: Any) -> PlaybookEnd:
            if kills:
                return PlaybookEnd(False, f"killed (signal {kills.pop()})", ours=True)
            return passes(kind, upload)

        monkeypatch.setattr(builder, "play", play)
        monkeypatch.setattr(gate_run, "playbook_for", playbook_of(lambda: builder))
        monkeypatch.setattr(Gate, "_is_tested", lambda gate: False)
        assert world.run(300, until=lambda: len(kills) < 3)
        world.run(5)
        record = world.store.gates.read("east", "built")
        assert record is not None and not record.results and "killed (signal 9)" in record.note
        assert world.run(3000, until=lambda: bool(builder.passed))
        world.run(60)
        assert {build: one.state for build, one in world.store.verdicts.of_image("built").items()} == {
            next(iter(builder.passed)): "approved"
        }
        assert build_id(1) not in builder.passed and not kills
