# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All places name the same version, no plugin claims to be older than the first release; a release changes all."""

from __future__ import annotations

import re
import subprocess

import pytest
import yaml

from tools.version import ROOT, main, places, version, write

OLD, NEW = "0.9.0", "7.8.9"
ADDED = re.compile(r"""version_added: *["']?([\d.]+)""")


def numbers(text):
    return tuple(int(part) for part in text.split("."))


def test_every_place_names_the_version_of_the_collection():
    found = list(places())
    named = {str(path.relative_to(ROOT)) for path, _line, _version in found}
    assert {"README.md", "docs/awx.md", "execution_environments/builder/execution-environment.yml"} <= named
    assert [f"{path.relative_to(ROOT)}:{line}" for path, line, there in found if there != version()] == []


def test_what_was_added_was_added_by_a_release_or_will_be_by_the_next_one():
    released = set(yaml.safe_load((ROOT / "changelogs" / "changelog.yaml").read_text("utf-8"))["releases"])
    newest = max([*released, version()], key=numbers)
    wrong = []
    for folder in ("plugins", "roles", "extensions"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".py", ".yml"):
                continue
            for added in ADDED.findall(path.read_text("utf-8")):
                if added not in released and numbers(added) < numbers(newest):
                    wrong.append(f"{path.relative_to(ROOT)}: no release {added} was made; the next one is {newest}")
    assert wrong == []


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "galaxy.yml").write_text(f"version: {OLD}\n")
    (tmp_path / "a.md").write_text(
        f"x stackci-nodepool-{OLD}.tar.gz, nodepool-builder:{OLD}, nodepool {OLD}, kazoo {OLD}\n"
    )
    (tmp_path / "CHANGELOG.md").write_text(f"stackci-nodepool-{OLD}.tar.gz\n")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\xff")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True, timeout=60)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True, timeout=60)
    return tmp_path


def test_a_new_version_is_written_to_all_places_and_to_nothing_else(repository):
    write(NEW, repository)
    assert version(repository) == NEW
    assert (repository / "a.md").read_text() == (
        f"x stackci-nodepool-{NEW}.tar.gz, nodepool-builder:{NEW}, nodepool {OLD}, kazoo {OLD}\n"
    )
    assert OLD in (repository / "CHANGELOG.md").read_text()
    assert {there for _path, _line, there in places(repository)} == {NEW}


def test_what_is_no_version_is_refused(capsys):
    assert main(["1.0"]) == 1
    assert "no version" in capsys.readouterr().out
