# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a child is kept apart, by what the machine permits."""

from __future__ import annotations

import shutil

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.commands import (
    CommandResult,
    run,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.isolation import (
    FULL,
    MOUNTS,
    NONE,
    find_isolation,
)


class Machine:
    """Permits commands in which none of the forbidden words occurs."""

    def __init__(self, *forbidden):
        self.forbidden = forbidden
        self.ran = []

    def __call__(self, argv):
        self.ran.append(list(argv))
        refused = next((word for word in self.forbidden if word in argv), None)
        return CommandResult(1, f"{refused}: Operation not permitted") if refused else CommandResult(0)


@pytest.mark.parametrize(
    ("forbidden", "level", "why"),
    [
        ((), FULL, ""),
        (("--pid",), MOUNTS, "--pid: Operation not permitted"),
        (("--mount",), NONE, "--mount: Operation not permitted"),
        (("setpriv", "--mount"), NONE, "setpriv: Operation not permitted"),
    ],
)
def test_the_best_that_is_permitted(forbidden, level, why):
    machine = Machine(*forbidden)
    found = find_isolation(machine, lambda name: f"/usr/bin/{name}")
    assert (found.level, found.why_not) == (level, why)
    assert not set(forbidden) & set(found.prefix)
    assert all(argv[-1] == "true" for argv in machine.ran)


def test_without_setpriv():
    found = find_isolation(Machine("--mount"), lambda name: None)
    assert found.prefix == ()
    assert find_isolation(Machine(), lambda name: None).prefix[0] == "unshare"


@pytest.mark.parametrize(("allowed", "level"), [(FULL, FULL), (MOUNTS, MOUNTS), (NONE, NONE)])
def test_no_more_than_is_allowed(allowed, level):
    assert find_isolation(Machine(), lambda name: None, allowed).level == level


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv of util-linux")
def test_a_child_whose_parent_died_before_it_could_ask_to_die_with_it_does_nothing(tmp_path):
    prefix = find_isolation(allowed=NONE).prefix
    did = tmp_path / "did"
    assert run([*prefix, "touch", str(did)]).ok
    did.unlink()
    # Another process is its parent, as it is for whoever was orphaned.
    assert run(["sh", "-c", '"$@"; exit $?', "sh", *prefix, "touch", str(did)]).code == 137
    assert not did.exists()
