# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection is found and complete in both of its forms: a plain checkout and a built and installed tarball."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tools.site.pages import page_names

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
PLUGINS = [("module", "node_launch"), ("module", "nodepool_request"), ("inventory", "nodepool")]


def run(*command: str | Path, cwd: Path, collections: Path | None = None) -> str:
    """The command's output. Nothing of the user's own Ansible settings is used."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
    environment |= {"HOME": str(cwd), "PATH": f"{BIN}:{os.environ['PATH']}"}
    if collections:
        environment["ANSIBLE_COLLECTIONS_PATH"] = str(collections)
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def tarball(tmp_path_factory):
    """The built tarball, made as "make build" makes it."""
    folder = tmp_path_factory.mktemp("dist")
    stage = folder / "ansible_collections" / "stackci" / "nodepool"
    run(sys.executable, ROOT / "tools" / "stage.py", stage, cwd=ROOT)
    run(sys.executable, "-m", "tools.site.pages", stage / "docs" / "docsite" / "rst", cwd=ROOT)
    run(BIN / "ansible-galaxy", "collection", "build", stage, "--output-path", folder, cwd=folder)
    return next(folder.glob("stackci-nodepool-*.tar.gz"))


@pytest.fixture(scope="module")
def installed(tarball, tmp_path_factory):
    """A collections path that holds nothing but the installed tarball."""
    path = tmp_path_factory.mktemp("collections")
    run(BIN / "ansible-galaxy", "collection", "install", tarball, "--offline", "-p", path, cwd=path)
    return path


def test_the_tarball_holds_what_users_need_and_nothing_else(tarball):
    with tarfile.open(tarball) as archive:
        files = [member.name for member in archive.getmembers() if member.isfile()]
    tops = {name.split("/")[0] for name in files}
    assert tops <= {
        "CHANGELOG.md", "CHANGELOG.rst", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "COPYING", "FILES.json", "LICENSES",
        "MAINTAINERS.md", "SECURITY.md",
        "MANIFEST.json", "README.md", "REUSE.toml", "TESTING.md", "bindep.txt", "changelogs", "docs", "examples",
        "execution_environments", "extensions", "meta", "playbooks", "plugins", "requirements.txt", "roles", "tests",
    }  # fmt: skip
    # A hub runs ansible-test on the tarball, which asks this file for which Pythons modules are.
    assert [name for name in files if name.startswith("tests/")] == ["tests/config.yml"]
    assert {"README.md", "COPYING", "meta/runtime.yml", "meta/ee-requirements.txt", "requirements.txt"} <= set(files)
    assert {"plugins/modules/node_launch.py", "playbooks/launcher.yml"} <= set(files)
    assert {"docs/monitoring.md", "docs/monitoring/alerts.yml", "docs/monitoring/dashboard.json"} <= set(files)
    pages = {f"docs/docsite/rst/{name}.rst" for name in page_names()}
    assert pages == {name for name in files if name.startswith("docs/docsite/rst/")} != set()
    page = "plugins/module_utils/web/page"
    assert {f"{page}/templates/overview.html", f"{page}/static/page.css", f"{page}/static/page.js"} <= set(files)
    assert [name for name in files if "/." in name or "__pycache__" in name or "ansible_collections" in name] == []


@pytest.mark.parametrize(("kind", "name"), PLUGINS)
def test_an_installed_plugin_is_found_from_anywhere(installed, tmp_path, kind, name):
    command = (BIN / "ansible-doc", "--json", "-t", kind, f"stackci.nodepool.{name}")
    shown = json.loads(run(*command, cwd=tmp_path, collections=installed))
    documented = shown[f"stackci.nodepool.{name}"]["doc"]
    assert documented["collection"] == "stackci.nodepool"
    assert Path(documented["filename"]).is_relative_to(installed)


@pytest.mark.parametrize(("kind", "name"), PLUGINS)
def test_a_plugin_is_found_in_a_plain_checkout_from_anywhere(tmp_path, kind, name):
    playbooks = ROOT / "playbooks"
    command = (BIN / "ansible-doc", "--json", "--playbook-dir", playbooks, "-t", kind, f"stackci.nodepool.{name}")
    shown = json.loads(run(*command, cwd=tmp_path))
    assert Path(shown[f"stackci.nodepool.{name}"]["doc"]["filename"]).resolve().is_relative_to(ROOT / "plugins")


def test_the_playbook_is_found_in_both_forms(installed, tmp_path):
    playbook = BIN / "ansible-playbook"
    run(playbook, "--syntax-check", "stackci.nodepool.launcher", cwd=tmp_path, collections=installed)
    run(playbook, "--syntax-check", ROOT / "playbooks" / "launcher.yml", cwd=tmp_path)


def test_module_utilities_of_the_installed_form_import_each_other(installed, tmp_path):
    check = (
        "import sys; sys.path.insert(0, sys.argv[1]); "
        "from ansible_collections.stackci.nodepool.plugins.module_utils.runtime import module; print(module.__file__)"
    )
    shown = run(sys.executable, "-c", check, installed, cwd=tmp_path)
    assert Path(shown.strip()).is_relative_to(installed)


def test_the_command_is_a_part_of_the_installed_collection(installed, tmp_path):
    program = "ansible_collections.stackci.nodepool.plugins.plugin_utils.nodepoolctl"
    done = subprocess.run(
        [sys.executable, "-m", program, "lease", "--help"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "nodepoolctl lease acceptance-42" in done.stdout
