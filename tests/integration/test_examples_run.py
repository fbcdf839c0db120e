# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples of every module run to their end, in a world that has what they name."""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.ansible_run import SHORT_PATHS, command
from tests.support.example_world import ExampleWorld, settled
from tests.support.examples import PREFIX, Example, of_plugins
from tests.support.zookeeper_server import ZooKeeperServer

EXAMPLES = {Path(one.where).stem: one for one in of_plugins() if one.where.startswith("plugins/modules")}

PREPARED: dict[str, list[Callable[[ExampleWorld], object]]] = {
    "dib_build": [lambda world: world.build("debian-bookworm")],
    "dib_image": [lambda world: world.build("debian-12", uploaded=True)],
    "dib_image_info": [lambda world: world.build("debian"), lambda world: world.build("debian-bookworm")],
    "image_info": [lambda world: world.build("debian", uploaded=True)],
    "image_upload": [lambda world: world.build("debian", uploaded=True)],
    "label_info": [ExampleWorld.register],
    "lease_info": [ExampleWorld.register],
    "node": [lambda world: world.nodes(17, 18, 19, 20)],
    "node_info": [ExampleWorld.register, lambda world: world.nodes(17)],
    "nodepool_request": [ExampleWorld.launcher],
    "nodepool_status": [ExampleWorld.register, lambda world: world.request("100-0000000011")],
    "provider": [lambda world: world.forget("cloud1")],
    "provider_info": [ExampleWorld.launcher],
    "request": [ExampleWorld.register, lambda world: world.request("100-0000000042")],
    "request_info": [ExampleWorld.register, lambda world: world.request("100-0000000011")],
    "throttle": [ExampleWorld.register],
    "usage_info": [ExampleWorld.register],
}
"""Module → what there is before its examples run."""

SHORTER: dict[str, dict[str, Any]] = {
    "Build images that become due within an hour": {"duration": 2},
    "Serve requests for ten minutes": {"duration": 2},
    "Serve on the address of nodepool.yaml until Ctrl-C": {"duration": 1},
    "Serve on a free port for ten minutes": {"duration": 1},
    "Delete leaked resources in one run": {"wait": 1},
    "Delete servers that Nodepool left behind, once after the migration": {"wait": 1},
    "Delete the resources of a trial whose chroot was deleted": {"wait": 1},
    "Keep the node of a running job as soon as the job is done": {"timeout": 10},
}
"""Name of a task → options with which it takes less time."""

ADDED: dict[str, dict[str, Any]] = {
    "Prepare a first node": {"ssh_port": "mycloud"},
}
"""Name of a task → options that this machine needs: all nodes are on it, so ssh has another port."""

SKIPPED = {
    "Test the build in use": "it needs servers of a build of their own; see tests/integration/gate/test_validate.py",
    "Show everything every five seconds": "it runs until Ctrl-C; see tests/unit/plugins/action/test_nodepool_status.py",
}
"""Name of a task → why it does not run."""


@functools.cache
def options_of(module: str) -> frozenset[str]:
    """The names of a module's options."""
    face, given = importlib.import_module(f"ansible_collections.stackci.nodepool.plugins.modules.{module}"), {}

    def keep(_work: object, spec: dict[str, Any], **_more: object) -> None:
        given.update(spec)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(face, "run_module", keep)
        face.main()
    return frozenset(given)


def play_of(example: Example, world: ExampleWorld) -> str:
    """The tasks as a playbook. Each task may leave out the options that are the same for a whole site."""
    tasks = json.loads(json.dumps([task for task in example.tasks if task["name"] not in SKIPPED]))
    for task in tasks:
        for key in [key for key in task if key.startswith(PREFIX)]:
            known, options = options_of(key.removeprefix(PREFIX)), task[key] or {}
            site = {"config": str(world.config), "clouds_config": str(world.home / "clouds.yaml")}
            given = {**{name: value for name, value in site.items() if name in known}, **options}
            if given.get("config") == "nodepool.yaml":
                given["config"] = str(world.config)
            task[key] = {**given, **SHORTER.get(task["name"], {}), **_added(task["name"], world)}
    play = {
        "name": "Examples",
        "hosts": "localhost",
        "gather_facts": False,
        # ssh looks for the person's key in the home of the account, not in HOME; and an sshd that does not run as root
        # cannot always give a terminal away.
        "vars": {
            "build_number": 42,
            "tested": {"passed": True, "reason": ""},
            "ansible_ssh_private_key_file": str(world.key),
            "ansible_ssh_use_tty": False,
        },
        "tasks": tasks,
    }
    text = json.dumps([play])
    for before, after in settled(world).items():
        text = text.replace(before, after)
    return text


def _added(name: str, world: ExampleWorld) -> dict[str, Any]:
    return {option: world.cloud.ssh_port(cloud) for option, cloud in ADDED.get(name, {}).items()}


@pytest.mark.parametrize("module", EXAMPLES)
def test_the_examples_of_a_module_run_to_their_end(module: str, tmp_path: Path, zookeeper: ZooKeeperServer) -> None:
    with ExampleWorld(tmp_path, zookeeper) as world:
        for prepare in PREPARED.get(module, ()):
            prepare(world)
        playbook = tmp_path / "examples.yml"
        playbook.write_text(play_of(EXAMPLES[module], world), "utf-8")
        ran = command("ansible-playbook", "--diff", playbook, folder=tmp_path, timeout=180, **SHORT_PATHS)
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
    assert "ignored=0" in ran.stdout


def test_the_tables_name_tasks_and_modules_that_exist() -> None:
    names = {task["name"] for example in EXAMPLES.values() for task in example.tasks}
    assert {*SHORTER, *ADDED, *SKIPPED} <= names
    assert set(PREPARED) <= set(EXAMPLES)
