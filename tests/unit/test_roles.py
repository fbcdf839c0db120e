# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The roles: what they document is what they have, what they pin is what was tested, what they pack is enough."""

from __future__ import annotations

import io
import runpy
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml

from tools.packages import canonical
from tools.role_requirements import FILES, texts

ROOT = Path(__file__).resolve().parents[2]
ROLES = sorted(path.name for path in (ROOT / "roles").iterdir() if path.is_dir())
PUBLIC = ("launcher", "builder", "webapp", "zookeeper")


def load(path):
    return yaml.safe_load((ROOT / "roles" / path).read_text("utf-8")) or {}


READABLE = load("_runner_loop/vars/main.yml")["_runner_loop_readable"]


def pack(root):
    """What the role's script packs; run_path leaves no byte code beside it, which has no licence."""
    return runpy.run_path(str(FILES / "pack.py"))["pack"](root)


@pytest.mark.parametrize("role", ROLES)
def test_defaults_are_those_of_the_documentation(role):
    specs = load(f"{role}/meta/argument_specs.yml")["argument_specs"]
    defaults = load(f"{role}/defaults/main.yml")
    fixed = {name: value for name, value in defaults.items() if "{{" not in str(value)}
    documented = {
        name: spec["default"]
        for entry in specs.values()
        for name, spec in entry["options"].items()
        if "default" in spec
    }
    assert fixed == documented
    assert [name for name in defaults if not any(name in entry["options"] for entry in specs.values())] == []


@pytest.mark.parametrize("role", PUBLIC)
def test_every_variable_is_explained_where_users_look(role):
    readme = (ROOT / "roles" / role / "README.md").read_text("utf-8")
    options = load(f"{role}/meta/argument_specs.yml")["argument_specs"]["main"]["options"]
    assert [name for name in options if f"`{name}`" not in readme] == []


def test_the_libraries_are_those_that_the_checks_were_run_with():
    for name, content in texts().items():
        assert (FILES / name).read_text("utf-8") == content, "run python -m tools.role_requirements"


def test_everything_that_the_collection_requires_is_installed():
    wanted = [line.partition(">")[0] for line in (ROOT / "requirements.txt").read_text("utf-8").splitlines()]
    installed = {
        canonical(line.partition("==")[0])
        for name in ("requirements.txt", "webapp.txt")
        for line in texts()[name].splitlines()
    }
    assert {canonical(name) for name in wanted if name and not name.startswith("#")} <= installed


def test_a_pack_is_the_same_whenever_its_content_is(tmp_path):
    assert pack(ROOT) == pack(ROOT)


def test_a_pack_runs_by_itself(tmp_path):
    with tarfile.open(fileobj=io.BytesIO(pack(ROOT))) as tar:
        names = [member.name for member in tar if member.isfile()]
        if hasattr(tarfile, "data_filter"):  # Debian 12's Python is older than the first 3.11 that has it
            tar.extraction_filter = tarfile.data_filter
        tar.extractall(tmp_path)
    assert all(name.startswith("ansible_collections/stackci/nodepool/") for name in names)
    assert not [name for name in names if "/tests/" in name or "__pycache__" in name or "/collections/" in name]
    loop = "ansible_collections.stackci.nodepool.plugins.plugin_utils.loop"
    for arguments in (["--help"], [str(tmp_path / "nothing.toml")]):
        done = subprocess.run(
            [sys.executable, "-m", loop, *arguments],
            env={"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == (0 if arguments == ["--help"] else 78), done.stderr


def shut_out(folder):
    """What in the folder is closed to other users."""
    return [str(path) for path in folder.rglob("*") if path.stat().st_mode & 0o444 != 0o444]


def test_services_can_read_what_a_root_with_a_strict_umask_installs(tmp_path):
    """Hardened hosts have the umask 027 or 077 for root, and the services run as another user."""
    shut = {"umask": 0o077, "cwd": tmp_path}
    words = ["tar", "--extract", "--gzip", "--preserve-permissions"]
    subprocess.run(words, input=pack(ROOT), check=True, **shut)
    assert (tmp_path / "ansible_collections" / "stackci" / "nodepool" / "plugins").is_dir()
    one_folder = "ansible_collections/stackci/nodepool/plugins/filter"
    subprocess.run([*READABLE, sys.executable, "-m", "compileall", "-q", one_folder], check=True, **shut)
    assert (tmp_path / one_folder / "__pycache__").is_dir()
    assert shut_out(tmp_path) == []


@pytest.mark.parametrize("tasks", ["venv.yml", "collection.yml"])
def test_each_command_that_makes_files_makes_them_readable(tasks):
    flat = [one for task in load(f"_runner_loop/tasks/{tasks}") for one in task.get("block", [task])]
    made = [task for task in flat if "creates" in task.get("ansible.builtin.command", {})]
    assert made
    for task in made:
        assert "{{ _runner_loop_readable +" in " ".join(task["ansible.builtin.command"]["argv"].split()), task["name"]
