# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The launcher's job in AWX: what its output says without ``-v``, and with no line for each thing that happens."""

from __future__ import annotations

from tests.support.ansible_run import ROOT, command
from tests.support.launcher_case import Site, label, pool, provider


def test_the_output_of_the_job_says_what_waits_and_what_failed_and_why(site: Site):
    site.configure(provider("one", pool("main", label("small"), max_servers=1)))
    served, waiting, failed = (
        site.requestor.ask("small"),
        site.requestor.ask("small"),
        site.requestor.ask("gigantic"),
    )
    # The playbook of the site's project, as the template has it; only that this one ends when nothing is left to do.
    given = site.variables(nodepool_progress=False, launcher_duration=240, launcher_until="settled")
    done = command(
        "ansible-playbook", ROOT / "examples" / "awx" / "launcher.yml", "-e", given, folder=site.folder, timeout=280
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert site.requestor.state(served) == "fulfilled"
    lines = done.stdout.splitlines()
    assert any(waiting in line and "one/main" in line for line in lines), done.stdout
    assert any(failed in line and "gigantic" in line for line in lines), done.stdout
