# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ansible-runner leaves of each cycle, as people have reported it: files that vanish, pile up, or say nothing."""

from __future__ import annotations

import shutil

import pytest

from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, pool, provider
from tests.support.loop_process import UP_SECONDS, LoopProcess

pytestmark = pytest.mark.timeout(240)


def loop_of(site: Site, **changes: object) -> LoopProcess:
    """The launcher's loop on a test's site; what its processes are is for other tests."""
    known = {"nodepool_config": str(site.config), "nodepool_clouds_config": str(site.clouds_yaml)}
    return LoopProcess(
        site.folder, {"playbook": "stackci.nodepool.launcher", "duration": 600, **changes}, known, forked=True
    )


def test_artifacts_that_somebody_removes_do_not_stop_the_loop(site: Site):
    """ansible-runner 374: a folder that was gone already failed everything that came after it."""
    site.configure()
    with loop_of(site, duration=4) as loop:
        first = loop.wait_serving()
        for folder in loop.state.glob("cycles/*/artifacts"):
            shutil.rmtree(folder, ignore_errors=True)
        site.requestor.wait_for(site.requestor.ask("small"), seconds=UP_SECONDS)
        second = loop.wait_serving(after=first)
        # A cycle that has ended may be removed with all that it has left, as by tmpwatch.
        eventually(lambda: [line for line in loop.lines() if line.startswith(f"cycle {first} ")], UP_SECONDS)
        for folder in loop.state.glob("cycles/*"):
            if int(folder.name) < second:
                shutil.rmtree(folder, ignore_errors=True)
        loop.wait_serving(after=second)
        site.requestor.wait_for(site.requestor.ask("small"), seconds=UP_SECONDS)
        assert loop.end() == 0
    assert not [line for line in loop.lines() if "Traceback" in line]


def test_ended_cycles_are_removed_while_the_loop_runs(site: Site):
    """ansible-operator-plugins 47: artifacts stayed until the disk had no inodes."""
    site.configure()
    with loop_of(site, duration=1, pause=0, keep_cycles=2) as loop:
        number = 0
        for _unused in range(5):
            number = loop.wait_serving(after=number)
        assert number >= 5
        # Beside those that are kept: the one that serves, its successor, and one that is just ending.
        eventually(lambda: len(list(loop.state.glob("cycles/*"))) <= 5, 30.0)
        assert not (loop.state / "cycles" / "000001").exists()
        assert loop.end() == 0


def test_hundreds_that_wait_make_neither_many_events_nor_long_lines(site: Site):
    """ansible-runner 724 and 998: events that were written twice, and outputs that stopped the reader."""
    site.configure(provider("one", pool("main", max_servers=2)))
    with loop_of(site) as loop:
        number = loop.wait_serving()
        waiting = [site.requestor.ask("small") for _unused in range(300)]
        eventually(lambda: sum(site.requestor.state(one) == "fulfilled" for one in waiting) == 2, UP_SECONDS)
        late = site.requestor.ask("medium")
        site.requestor.wait_until_waiting(late, "no-room", seconds=UP_SECONDS)
        events = list(loop.state.glob(f"cycles/{number:06}/artifacts/**/job_events/*"))
        assert 0 < len(events) < 60
        assert loop.serving() == number
        assert loop.end() == 0
    assert max(len(line) for line in loop.lines()) < 4096
    assert len(loop.lines()) < 1000


def test_a_cycle_that_ends_before_its_first_event_says_why(site: Site):
    """ansible-runner 273."""
    site.configure()
    broken = site.folder / "broken.yml"
    broken.write_text("- hosts: localhost\n  tasks: [\n", encoding="utf-8")
    with loop_of(site, playbook=str(broken), first_pause=1, longest_pause=1) as loop:
        lines = eventually(lambda: [line for line in loop.lines() if "cycle 1 failed" in line], UP_SECONDS)
        loop.end()
    said = "\n".join(loop.lines())
    assert "YAML" in said or "yaml" in said or "yntax" in said, said
    assert lines
