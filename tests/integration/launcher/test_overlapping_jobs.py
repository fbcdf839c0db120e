# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs of a schedule that overlap, as AWX starts them: the later one stands by, says so and ends well."""

from __future__ import annotations

import subprocess

from tests.support.ansible_run import command
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site
from tests.support.launcher_process import PLAYBOOK, START_SECONDS, LauncherProcess


def run_job(site: Site, duration: float) -> subprocess.CompletedProcess[str]:
    """A whole job with the variables of the job template."""
    variables = site.variables(launcher_duration=duration, launcher_until="deadline", nodepool_progress=False)
    return command("ansible-playbook", PLAYBOOK, "-e", variables, folder=site.folder)


def words(done: subprocess.CompletedProcess[str]) -> str:
    """The output without line breaks."""
    return " ".join(done.stdout.split())


def test_a_job_that_only_stood_by_ends_well_and_says_so(site: Site):
    site.configure()
    with site.stay() as first:
        eventually(first.acts)
        done = run_job(site, 1.0)
        assert first.end()["stood_by_for"] == []
    assert done.returncode == 0, done.stdout + done.stderr
    assert "served no provider, stood by for one, served by another launcher" in words(done)
    assert "changed=0" in done.stdout


def test_a_job_that_acted_says_so(site: Site):
    site.configure()
    done = run_job(site, 1.0)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "served one" in words(done)
    assert "stood by" not in words(done)


def test_the_later_job_takes_over_when_the_earlier_one_is_killed(site: Site):
    site.configure()
    with LauncherProcess(site, launcher_duration=60, launcher_until="deadline") as earlier:
        site.requestor.wait_for(site.requestor.ask("small"), seconds=START_SECONDS)
        with LauncherProcess(site, launcher_duration=60, launcher_until="deadline") as later:
            eventually(later.modules, START_SECONDS)
            earlier.kill_module()
            request = site.requestor.ask("medium")
            site.requestor.wait_for(request, seconds=START_SECONDS)
