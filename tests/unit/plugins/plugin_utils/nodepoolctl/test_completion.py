# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Candidates for the word that is being typed."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.plugin_utils.nodepoolctl.completion import candidates, script
from ansible_collections.stackci.nodepool.plugins.plugin_utils.nodepoolctl.parser import SHELLS

NAMES = {"node": ["0000000001", "0000000002"], "lease": ["web", "worker"], "image": ["debian-12"]}


def names(kind, _connection):
    return NAMES[kind]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("", None),
        ("le", ["lease", "leases"]),
        ("-c x.yaml rel", ["release"]),
        ("completion ", ["bash", "zsh", "fish"]),
        ("hold ", ["0000000001", "0000000002"]),
        ("hold 0000000001 ", ["0000000002"]),
        ("hold --comment why 0000000001 ", ["0000000002"]),
        ("release w", ["web", "worker"]),
        ("release web ", []),
        ("lease web ", []),
        ("ssh -n 2 wo", ["worker"]),
        ("build ", ["debian-12"]),
        ("lease web small --exp", ["--expires"]),
        ("status --w", ["--width", "--watch"]),
        ("list -o ", ["table", "json", "id"]),
        ("-o j", ["json"]),
        ("-c ", []),
        ("list --provider ", []),
        ("hold --comment ", []),
        ("hold --comment --comment 00", ["0000000001", "0000000002"]),
    ],
)
def test_candidates(line, found):
    given = candidates(line.split(" "), names)
    if found is None:
        assert "lease" in given and "completion" in given
    else:
        assert given == found


def test_the_tree_of_the_command_line_is_asked():
    asked: list[object] = []

    def noting(*asked_for):
        asked.extend(asked_for)
        return []

    candidates(["-c", "other.yaml", "release", ""], noting)
    assert asked == ["lease", {"config": "other.yaml"}]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_calls_the_command(shell):
    assert "__complete" in script(shell) and "nodepoolctl" in script(shell)


def test_nodepools_names_are_completed_where_no_other_fits():
    assert candidates(["dib-image-"]) == ["dib-image-list", "dib-image-delete"]
    assert "image-list" not in candidates([""]) and candidates(["nonsense"]) == []
