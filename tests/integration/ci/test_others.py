# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook, tmt, and what all examples have in common."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration.ci.conftest import EXAMPLES, Pool
from tests.simcloud.guests.processes import descendants
from tests.support.ansible_run import BIN
from tests.support.fixtures_zookeeper import eventually

SHELL = sorted(
    path for path in EXAMPLES.rglob("*") if path.is_file() and path.read_bytes().startswith(b"#!/usr/bin/env bash")
)
SHELLCHECK = shutil.which("shellcheck")
TMT = shutil.which("tmt") and shutil.which("rsync")


def play(ci: Pool, program: str | Path = "ansible-playbook", **variables: object) -> list[str | Path]:
    given = {"build": 7, "nodepool_config": str(ci.site.config), "lease_labels": ["debian-12"], "ssh_key": str(ci.key)}
    copy = ci.folder / "playbook.yml"
    shutil.copy(EXAMPLES / "playbook.yml", copy)
    return [program, copy, "-e", json.dumps({**given, **variables})]


@pytest.mark.parametrize(("command", "works"), [("tr '\\0' '\\n' </proc/$PPID/cmdline >seen", True), ("false", False)])
def test_a_playbook_gives_its_nodes_back_whatever_happens(command, works, ci: Pool) -> None:
    seen = ci.folder / "seen"
    command = command.replace("seen", str(seen))
    code, out = ci.run(*play(ci, test_command=f"sh -c {shlex.quote(command)}"))
    assert (code == 0) == works, out
    assert "Run the tests on each node" in out and "np0000" in out
    assert ci.leases() == [] and not list(ci.folder.glob("known_hosts*"))
    if works:
        assert seen.read_text().split("\n")[0] != sys.executable, "nodes do not have the Python of ansible-playbook"


def test_a_playbook_that_does_not_reach_a_node_gives_it_back(ci: Pool) -> None:
    code, out = ci.run(*play(ci, ssh_key=str(ci.folder / "no_key")))
    assert code != 0 and "ssh did not reach every node" in out
    assert ci.leases() == [] and not list(ci.folder.glob("known_hosts*"))


def test_a_killed_playbook_loses_its_nodes_when_the_lease_expires(ci: Pool) -> None:
    text = (EXAMPLES / "playbook.yml").read_text().replace("expires: 3600", "expires: 8")
    # Whoever kills it looks for all that it has started.
    words = play(ci, BIN / "ansible-playbook", test_command="sleep 600")
    Path(words[1]).write_text(text)
    with ci.popen(*words) as process:
        ci.until_leased()
        ci.kill(process)
    assert ci.empty()


def tmt(ci: Pool, test: str) -> tuple[list[str | Path], dict[str, Any]]:
    """A folder with one plan with one test, and how its plans are run on a fresh node."""
    tree = ci.folder / "tree"
    (tree / ".fmf").mkdir(parents=True)
    (tree / ".fmf" / "version").write_text("1\n")
    (tree / "plan.fmf").write_text(
        f"discover: {{how: shell, tests: [{{name: one, test: {json.dumps(test)}}}]}}\nexecute: {{how: tmt}}\n"
    )
    # tmt looks every 30 s whether its ssh has connected, unless the path is too long for a shared connection.
    runs = ci.folder / ("runs-" + "x" * 84)
    return [EXAMPLES / "tmt" / "nodepool-tmt", "debian-12"], {
        "cwd": tree,
        "env": {"TMT_WORKDIR_ROOT": str(runs), "TMT_CONNECT_TIMEOUT": "20"},
    }


NEEDS_TMT = pytest.mark.skipif(not TMT, reason="needs tmt (pip install tmt) and rsync")


@NEEDS_TMT
@pytest.mark.parametrize(("test", "works"), [('test -n "$SSH_CONNECTION"', True), ("false", False)])
def test_tmt_runs_its_plans_on_a_fresh_node(test, works, ci: Pool) -> None:
    words, options = tmt(ci, test)
    code, out = ci.run(*words, **options)
    assert (code == 0) == works, out
    assert "summary: 1 test executed" in out, out
    assert ci.leases() == []


@NEEDS_TMT
def test_tmt_does_not_trust_another_host_key(ci: Pool) -> None:
    words, options = tmt(ci, f"touch {ci.folder}/came")
    real = ci.folder / "bin" / "nodepoolctl"
    real.rename(real.with_name("real"))
    key = ci.folder / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True, timeout=60)
    other = key.with_suffix(".pub").read_text().split()[1]
    real.write_text(
        "#!/usr/bin/env bash\n"
        f'"$(dirname "$0")/real" "$@" || exit\n'
        f'while [ $# -gt 0 ]; do [ "$1" != --known-hosts ] || sed -i -E "s,ssh-ed25519 .*,ssh-ed25519 {other}," "$2"\n'
        "shift; done\n"
    )
    real.chmod(0o755)
    code, out = ci.run(*words, **options)
    assert code != 0 and not (ci.folder / "came").exists(), out
    assert ci.leases() == []


@NEEDS_TMT
def test_an_interrupted_tmt_is_gone_before_its_node_is_released(ci: Pool) -> None:
    words, options = tmt(ci, f"touch {ci.folder}/came && sleep 600")
    with ci.popen(*words, **options) as process:
        eventually((ci.folder / "came").exists, 90)
        below = descendants([process.pid])
        process.terminate()
        out, _none = process.communicate(timeout=60)
    assert process.returncode == 143, out
    assert below and not any(Path(f"/proc/{pid}").exists() for pid in below)
    assert ci.leases() == []


def test_there_are_scripts():
    assert len(SHELL) >= 8


@pytest.mark.skipif(SHELLCHECK is None, reason="needs shellcheck")
def test_the_scripts_are_clean():
    done = subprocess.run([str(SHELLCHECK), *map(str, SHELL)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", SHELL, ids=lambda path: str(path.relative_to(EXAMPLES)))
def test_a_script_can_be_started(path):
    assert os.access(path, os.X_OK)
