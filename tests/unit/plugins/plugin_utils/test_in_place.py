# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a module is run from: where it is installed, or wherever Ansible sends it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.plugin_utils import in_place
from ansible_collections.stackci.nodepool.plugins.plugin_utils.in_place import InPlaceAction, same_python, starter

NAME = "ansible_collections/stackci/nodepool/plugins/modules"
MODULE = """
import json, os, sys
from ansible.module_utils import basic
if __name__ == "__main__":
    print(json.dumps([sys.path[0], __spec__.name, json.loads(basic._ANSIBLE_ARGS)]))
    sys.exit(0)
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A module as if it were ours, in a folder whose name needs quotes."""
    folder = tmp_path / "it's here" / NAME
    folder.mkdir(parents=True)
    path = folder / "show.py"
    path.write_text(MODULE)
    return path


@pytest.mark.parametrize("by_name", [True, False], ids=["a file", "standard input"])
def test_the_module_is_run_where_it_is_with_its_arguments(installed: Path, tmp_path: Path, by_name: bool) -> None:
    arguments = {"word": "ümläut ' \" \\ {root}", "list": [1, None, True], "_ansible_check_mode": True}
    program = starter(str(installed), sys.executable, arguments)
    assert program is not None
    assert program.startswith(f"#!{sys.executable}\n".encode())
    file = tmp_path / "AnsiballZ_show.py"
    file.write_bytes(program)
    # What lies beside the file that is sent must not be mistaken for a library.
    (tmp_path / "json.py").write_text("raise RuntimeError('the wrong json')")
    words = [sys.executable, str(file)] if by_name else [sys.executable]
    done = subprocess.run(words, input=None if by_name else program, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    root = str(tmp_path / "it's here")
    assert json.loads(done.stdout) == [
        root,
        "ansible_collections.stackci.nodepool.plugins.modules.show",
        {"ANSIBLE_MODULE_ARGS": arguments},
    ]


@pytest.mark.parametrize("path", ["", "/usr/lib/ansible/modules/ping.py", f"/x/{NAME}/show.ps1", f"/x/{NAME}/sub/y.py"])
def test_what_is_no_module_of_ours_is_left_to_ansible(path: str) -> None:
    assert starter(path, sys.executable, {}) is None


def test_a_python_by_another_name(tmp_path: Path) -> None:
    first, second = tmp_path / "one", tmp_path / "two"
    for folder in (first, second):
        folder.mkdir()
        for name in ("python", "python3"):
            (folder / name).symlink_to(sys.executable)
    assert same_python(str(first / "python"), str(first / "python3"))
    # Both lead to one program, but each is the Python of another virtual environment.
    assert not same_python(str(first / "python"), str(second / "python"))
    assert not same_python("auto", str(first / "python"))


class Scene(InPlaceAction):
    """An action with a connection and a task that are just what is asked for."""

    def __init__(self, transport: str = "local", become: object = None, delegate_to: str | None = None) -> None:
        self._connection = SimpleNamespace(transport=transport, become=become)
        self._task = SimpleNamespace(delegate_to=delegate_to)
        self._templar = SimpleNamespace(template=lambda text: text.replace("{{ here }}", sys.executable))

    def works_here(self, **variables: Any) -> bool:
        return self._works_here(variables)


def test_a_module_works_here_only_on_this_machine_as_this_user_with_this_python() -> None:
    here = {"ansible_python_interpreter": sys.executable}
    assert Scene().works_here(**here)
    assert Scene().works_here(ansible_python_interpreter="{{ here }}")
    assert Scene(delegate_to="x").works_here(ansible_delegated_vars={"x": here})
    assert not Scene(delegate_to="x").works_here(**here, ansible_delegated_vars={"x": {}})
    assert not Scene().works_here(ansible_python_interpreter="/usr/bin/python9")
    assert not Scene().works_here()
    assert not Scene(transport="ssh").works_here(**here)
    assert not Scene(become=object()).works_here(**here)
    assert not Scene().works_here(**here, nodepool_in_place=False)
    assert not Scene().works_here(**here, nodepool_in_place="no")


def test_an_unknown_ansible_core_packs(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_place, "WAY", None)
    assert not Scene().works_here(ansible_python_interpreter=sys.executable)
    assert starter(str(installed), sys.executable, {}) is None


@pytest.mark.parametrize(("transport", "told"), [("local", True), ("ssh", False)])
def test_a_module_on_this_machine_knows_where_the_operator_stands(tmp_path, monkeypatch, transport, told) -> None:
    monkeypatch.chdir(tmp_path)
    shell = SimpleNamespace(env_prefix=lambda **values: " ".join(f"{key}={value}" for key, value in values.items()))
    action = InPlaceAction.__new__(InPlaceAction)
    action._task = SimpleNamespace(environment=[{"A": "1"}])
    action._templar = SimpleNamespace(template=lambda value: value)
    action._connection = SimpleNamespace(transport=transport, _shell=shell)
    raw: dict[str, Any] = {}
    text = action._compute_environment_string(raw)
    here = {"NODEPOOL_HERE": str(tmp_path), "NODEPOOL_SOURCE": str(Path(in_place.__file__).parents[1])}
    assert raw == (here if told else {}) | {"A": "1"}
    assert (f"NODEPOOL_HERE={tmp_path}" in text) is told
