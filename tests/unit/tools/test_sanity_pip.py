# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""tools/sanity_pip.py: what ansible-test asks pip for is done by uv, or else by pip; pip itself is removed."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tools import sanity_pip

OPTION = "--disable-pip-version-check"


@pytest.fixture
def pip(tmp_path, monkeypatch):
    """Asks for something; its exit status, and the words and a variable with which uv and pip were called."""
    monkeypatch.setenv("HOME", str(tmp_path))
    called = []

    def call(*words, uv=0, pip=0):
        def run(command, env, **_more):
            called.append((command, env["INDEX"]))
            return subprocess.CompletedProcess(command, uv if command[0] == "uv" else pip)

        monkeypatch.setattr("tools.sanity_pip.subprocess.run", run)
        how = {"uv": ["uv", "install"], "pip": ["pip"], "variables": {"INDEX": "here"}}
        (tmp_path / "sanity_pip.json").write_text(json.dumps(how), "utf-8")
        return sanity_pip.main(list(words)), called

    return call


UV = (["uv", "install", "--python", sys.executable, "-r", "some.txt"], "here")
PIP = (["pip", "--python", sys.executable, "install", OPTION, "-r", "some.txt"], "here")


def test_uv_installs(pip):
    assert pip("install", OPTION, "-r", "some.txt") == (0, [UV])


@pytest.mark.parametrize("status", [0, 1])
def test_pip_installs_where_uv_cannot(pip, status):
    assert pip("install", OPTION, "-r", "some.txt", uv=2, pip=status) == (status, [UV, PIP])


def test_pip_does_everything_else(pip):
    assert pip("-V") == (0, [(["pip", "--python", sys.executable, "-V"], "here")])


def test_it_removes_itself(pip, tmp_path, monkeypatch):
    package = tmp_path / "pip"
    package.mkdir()
    (package / "__main__.py").touch()
    monkeypatch.setattr(sanity_pip, "__file__", str(package / "__main__.py"))
    assert pip("uninstall", "-y", OPTION, "pip") == (0, [])
    assert not package.exists()
