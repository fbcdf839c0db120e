# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The execution environments, as far as they can be made without a container registry."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.support.examples import blocks

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
DEFINITIONS = ROOT / "execution_environments"
PAGE = ROOT / "docs" / "awx.md"
VERSION = yaml.safe_load((ROOT / "galaxy.yml").read_text("utf-8"))["version"]
NAMES = ["builder", "launcher"]


def run(*words: str | Path, cwd: Path) -> str:
    """What a command printed; it has to end well."""
    program = [str(BIN / str(words[0])), *map(str, words[1:])]
    done = subprocess.run(program, cwd=cwd, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory, tarball):
    """What ansible-builder needs of a checkout after "make build"."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(DEFINITIONS, folder / "execution_environments")
    (folder / ".build" / "dist").mkdir(parents=True)
    shutil.copy(tarball, folder / ".build" / "dist")
    return folder


def test_there_is_nothing_else():
    assert sorted(path.name for path in DEFINITIONS.iterdir()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_context_is_made_and_its_collection_installs(checkout, tmp_path, name):
    definition = checkout / "execution_environments" / name / "execution-environment.yml"
    # It also checks the definition against ansible-builder's schema.
    context = tmp_path / "context"
    run(
        "ansible-builder", "create", "-f", definition, "-c", context, "--output-filename", "Containerfile", cwd=tmp_path
    )
    assert "ansible-galaxy collection install" in (context / "Containerfile").read_text("utf-8")
    inside = context / "_build"
    installed = tmp_path / "installed"
    run(
        *("ansible-galaxy", "collection", "install", "--offline"),
        *("-r", "requirements.yml", "-p", installed / "ansible_collections"),
        cwd=inside,
    )
    # What the builder stage asks of what was installed, with what the definition itself wants.
    files = [("--user-pip", "requirements.txt"), ("--user-bindep", "bindep.txt")]
    wanted = [word for option, file in files if (inside / file).exists() for word in (option, inside / file)]
    found = yaml.safe_load(run("ansible-builder", "introspect", *wanted, installed, cwd=tmp_path))
    python = " ".join(found["python"])
    assert all(library in python for library in ("openstacksdk", "kazoo", "asyncssh", "jsonschema"))
    assert any("openssh-client" in line for line in found["system"])
    assert ("diskimage-builder" in python) is (name == "builder")
    assert any(line.startswith("qemu-") for line in found["system"]) is (name == "builder")


def test_the_platforms_definition_of_the_page_makes_a_context_without_a_core_of_its_own(checkout, tmp_path):
    (text,) = [block for block in blocks(PAGE, "yaml") if "base_image" in block]
    definition = checkout / "execution_environments" / "launcher" / "platform.yml"
    definition.write_text(text, "utf-8")
    context = tmp_path / "context"
    run(
        "ansible-builder", "create", "-f", definition, "-c", context, "--output-filename", "Containerfile", cwd=tmp_path
    )
    made = (context / "Containerfile").read_text("utf-8")
    assert 'ARG PKGMGR="/usr/bin/microdnf"' in made and 'ARG PYCMD="/usr/bin/python3.12"' in made
    assert "ANSIBLE_INSTALL_REFS" not in made and "PYPKG" not in made.split("RUN")[0]
    ours = yaml.safe_load((DEFINITIONS / "launcher" / "execution-environment.yml").read_text("utf-8"))
    theirs = yaml.safe_load(text)
    same = {"additional_build_files", "version"}
    assert {key: theirs[key] for key in same} == {key: ours[key] for key in same}
    assert theirs["dependencies"]["galaxy"] == ours["dependencies"]["galaxy"]


@pytest.mark.parametrize("name", NAMES)
def test_the_version_is_ours(name):
    text = (DEFINITIONS / name / "execution-environment.yml").read_text("utf-8")
    assert text.count(f"stackci-nodepool-{VERSION}.tar.gz") == 2
    assert text.count(f"nodepool-{name}:{VERSION}") == 2
