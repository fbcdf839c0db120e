# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The worked examples of docs/inventory.md: their files and commands, as they stand there."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator

import pytest

from tests.support.ansible_run import ROOT, command
from tests.support.inventory_site import Site, made

PAGE = (ROOT / "docs" / "inventory.md").read_text("utf-8")
LOCAL = f"ansible_connection: local\nansible_python_interpreter: {sys.executable}\n"
"""The nodes of the simulated cloud do not answer on ssh here; everything else is as in life."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with made(tmp_path_factory.mktemp("examples")) as site:
        site.put_record(1, state="ready", hold_job=None)
        site.put_record(2, hold_job="lease acceptance-42", requestor="stackci.nodepool", hold_expiration=7200)
        site.put_record(4, provider="west", hold_job="example.org check unit", comment="why does it fail?")
        yield site


def example(site: Site, heading: str) -> list[str]:
    """Write the files of an example; its commands."""
    section = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    for text in re.findall(r"```yaml\n(.*?)```", section, re.S):
        name = text.splitlines()[0].removeprefix("# ")
        places = {"/etc/nodepool/nodepool.yaml": str(site.folder / "nodepool.yaml"), "~/.cache/": f"{site.folder}/"}
        for old, new in places.items():
            text = text.replace(old, new)
        if name.endswith(".nodepool.yml"):
            text += f"clouds_config: {site.clouds.clouds_yaml}\n"
        (site.folder / name).write_text(text, encoding="utf-8")
    return [line for text in re.findall(r"```shell\n(.*?)```", section, re.S) for line in text.splitlines()]


def run(site: Site, line: str) -> str:
    """Run a command of an example, with the nodes on this machine; its output."""
    variables = site.folder / "local.yml"
    variables.write_text(LOCAL, encoding="utf-8")
    program, *arguments = shlex.split(line)
    local = [] if program == "ansible-inventory" else ["-e", f"@{variables}"]
    config = str(ROOT / "examples" / "ansible.cfg")
    done = command(program, *arguments, *local, folder=site.folder, ANSIBLE_CONFIG=config)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_all_nodes_of_a_label(site: Site) -> None:
    (line,) = example(site, "All nodes of a label")
    said = run(site, line)
    assert re.search(r"^np0000000001 +: ok=2 ", said, re.M)
    assert "np0000000002" not in said and "np0000000004" not in said


def test_only_my_lease(site: Site) -> None:
    (line,) = example(site, "Only my lease")
    said = run(site, line)
    assert "small-0002 is node 0000000002 of east" in said
    assert said.count(": ok=") == 1
    assert (site.folder / "nodepool_lease_known_hosts").exists()


def test_debugging_held_nodes(site: Site) -> None:
    graph, shown, ran = (run(site, line) for line in example(site, "Debugging held nodes"))
    assert "@job_example_org_check_unit:" in graph and "@job_lease_acceptance_42:" in graph
    assert "np0000000001" not in graph + shown + ran
    assert "example.org check unit:why does it fail?:no limit" in shown
    assert re.search(r"lease acceptance-42:\S*.*:\d{4}-\d\d-\d\d \d\d:\d\d", shown)
    assert ran.count("rc=0") == 2
