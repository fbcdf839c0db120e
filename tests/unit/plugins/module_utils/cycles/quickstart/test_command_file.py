# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The script is run by a real shell, from a folder with a blank in its name."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.quickstart.command_file import (
    COMMAND,
    SOURCE,
    shell_word,
    write_command,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.quickstart.folder_notes import Notes
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.quickstart.wish import QuickstartWish

SAYS = """\
import os, sys
names = ("NODEPOOL_CONFIG", "NODEPOOL_SSH_KEY", "OS_CLIENT_CONFIG_FILE")
print(*(os.environ.get(name) for name in names), sys.argv[1:])
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed collection whose command says what it was given."""
    plugins = tmp_path / "a root" / "ansible_collections" / "stackci" / "nodepool" / "plugins"
    package = plugins / "plugin_utils" / "nodepoolctl"
    package.mkdir(parents=True)
    (package / "__main__.py").write_text(SAYS, encoding="utf-8")
    monkeypatch.setenv(SOURCE, str(plugins))
    return tmp_path / "quick start"


def ran(folder: Path, **variables: str) -> str:
    given = {"PATH": os.environ["PATH"], **variables}
    command = [str(folder / COMMAND), "ssh", "my node"]
    return subprocess.run(command, env=given, capture_output=True, text=True, check=True, timeout=60).stdout


def test_the_script_knows_configuration_key_and_clouds(folder: Path) -> None:
    notes = Notes(str(folder), private_key="/keys/my key")
    word = write_command(QuickstartWish(cloud="c", folder=str(folder), clouds_config="/etc/my clouds.yaml"), notes)
    assert word == f"'{folder}/nodepoolctl'"
    assert ran(folder) == f"{folder}/nodepool.yaml /keys/my key /etc/my clouds.yaml ['ssh', 'my node']\n"
    assert ran(folder, NODEPOOL_CONFIG="other").startswith("other ")
    assert notes.files[COMMAND], "so state=absent removes it"


def test_the_script_knows_the_files_of_the_folder_in_which_the_playbook_was_started(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODEPOOL_HERE", str(tmp_path))
    monkeypatch.delenv("OS_CLIENT_CONFIG_FILE", raising=False)
    notes = Notes(str(folder), private_key="/k")
    for name in ("clouds.yaml", "secure.yaml"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    write_command(QuickstartWish(cloud="c", folder=str(folder)), notes)
    assert ran(folder) == f"{folder}/nodepool.yaml /k {tmp_path}/clouds.yaml ['ssh', 'my node']\n"
    assert f"OS_CLIENT_SECURE_FILE={tmp_path}/secure.yaml" in (folder / COMMAND).read_text("utf-8")


def test_a_changed_script_stays_and_an_old_one_is_renewed(folder: Path) -> None:
    wish, notes = QuickstartWish(cloud="c", folder=str(folder)), Notes(str(folder), private_key="/one")
    write_command(wish, notes)
    notes.private_key = "/two"
    write_command(wish, notes)
    assert "/two None" in ran(folder)
    with (folder / COMMAND).open("a", encoding="utf-8") as file:
        file.write("# mine\n")
    notes.private_key = "/three"
    write_command(wish, notes)
    assert "/two None" in ran(folder)


@pytest.mark.parametrize("source", ["", "/nowhere/ansible_collections/stackci/nodepool/plugins", "/tmp"])
def test_without_an_installed_collection_there_is_no_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    monkeypatch.setenv(SOURCE, source)
    assert write_command(QuickstartWish(cloud="c", folder=str(tmp_path)), Notes(str(tmp_path))) == ""
    assert not list(tmp_path.iterdir())


def test_below_the_home_directory_it_is_shorter() -> None:
    assert shell_word("/folder/a b/quick/nodepoolctl", "/folder/a b") == "~/quick/nodepoolctl"
    assert shell_word("/folder/a/my quick/nodepoolctl", "/folder/a") == "~/'my quick/nodepoolctl'"
    assert shell_word("/srv/nodepoolctl", "/folder/a") == "/srv/nodepoolctl" == shell_word("/srv/nodepoolctl", "/")
