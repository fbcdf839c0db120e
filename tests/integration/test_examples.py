# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples of the documentation as ansible-playbook sees them; those that need no cloud run against a full tree."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.ansible_run import command
from tests.support.examples import PREFIX, Example, of_pages, of_plugins
from tests.support.populated_site import PopulatedSite
from tests.support.populated_tree import HELD, READY, WAITING

CLOUDLESS = {
    *("dib_image_info", "image_info", "label_info", "lease_info", "node", "node_info", "nodepool_config_info"),
    *("nodepool_status", "provider_info", "request", "request_info", "throttle"),
}
"""Modules that read or write the tree only."""
OURS = {
    "/etc/nodepool/nodepool.yaml": "nodepool.yaml",
    "cloud1": "west",
    "0000000017": HELD,
    "0000000018": READY,
    "0000000019": HELD,
    "0000000020": READY,
    "100-0000000042": WAITING,
}
"""What the examples name → what the tree has."""


def playbook(example: Example, folder: Path, number: int) -> Path:
    """The example as a file that ansible-playbook takes."""
    plays = example.plays or [{"name": "Example", "hosts": "localhost", "gather_facts": False, "tasks": example.tasks}]
    path = folder / f"{number}-{Path(example.where).stem}.yml"
    path.write_text(json.dumps(plays), "utf-8")
    return path


def test_every_playbook_of_the_documentation_passes_the_syntax_check(tmp_path):
    examples = [example for example in (*of_plugins(), *of_pages()) if example.plays or example.tasks]
    # Collections of others are not here.
    examples = [
        one for one in examples if "infra.aap" not in str(one.content) and PREFIX + "awx" not in str(one.content)
    ]
    paths = [playbook(example, tmp_path, number) for number, example in enumerate(examples)]
    assert len(paths) > 25
    done = command("ansible-playbook", "--syntax-check", *paths, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_examples_of_modules_that_need_no_cloud_work_in_a_full_tree(zk_chroot, zk_client, tmp_path):
    site = PopulatedSite(tmp_path, zk_chroot, zk_client)
    site.fill()
    (tmp_path / "nodepool.yaml").write_text(json.dumps(site.document), "utf-8")
    before = site.tree()
    paths, tried = [], set()
    for number, example in enumerate(of_plugins()):
        name = Path(example.where).stem
        if name not in CLOUDLESS:
            continue
        text = json.dumps(example.content)
        for theirs, ours in OURS.items():
            text = text.replace(theirs, ours)
        tasks = [task for task in json.loads(text) if "watch" not in str(task)]
        play = {
            "name": name,
            "hosts": "localhost",
            "gather_facts": False,
            "module_defaults": {"group/stackci.nodepool.all": {"config": "nodepool.yaml"}},
            "tasks": tasks,
        }
        path = tmp_path / f"{number}.yml"
        path.write_text(json.dumps([play]), "utf-8")
        paths.append(path)
        tried.add(name)
    assert tried == CLOUDLESS
    done = command("ansible-playbook", "--check", *paths, folder=tmp_path, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert site.tree() == before
