# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a cycle begins with while nodepool.yaml cannot be used."""

from __future__ import annotations

import json
import os
from functools import partial

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients import kept_config
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import read_files
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame import config_source
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.config_source import (
    ConfigSource,
    config_by_hand,
    told,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.cycle_options import ConfigOptions
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.context.launcher_options import (
    LauncherOptions,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError
from tests.support.config_texts import valid_document


@pytest.fixture(autouse=True)
def _no_services(monkeypatch, tmp_path):
    monkeypatch.setattr(kept_config, "SERVICES", str(tmp_path / "services" / "*"))


class Files:
    """nodepool.yaml, a folder for what is kept, and the lines that were told."""

    def __init__(self, folder):
        self.path = folder / "nodepool.yaml"
        self.state = str(folder / "state")
        self.lines = []
        self.write(valid_document())

    def write(self, document, at=1_000_000_000):
        text = document if isinstance(document, str) else json.dumps(document)
        self.path.write_text(text, encoding="utf-8")
        os.utime(self.path, (at, at))

    def source(self, kind=ConfigOptions, folder=None, **more):
        options = kind(config=str(self.path), **more)
        return ConfigSource(options, self.state if folder is None else folder, self.lines.append)


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path)


def test_valid_files_are_used_and_nothing_is_told(files):
    source = files.source()
    assert "zookeeper" in vars(source.begin())
    assert (source.problems, files.lines) == ([], [])


@pytest.mark.parametrize("mistake", ["labels: [", "", "labels: 1\n", "a: b: c\n"])
def test_while_they_are_invalid_the_last_valid_ones_are_used_and_it_is_told(files, mistake):
    good = files.source().begin()
    files.write(mistake, at=1_000_000_060)
    source = files.source()
    config = source.begin()
    assert config.providers == good.providers
    assert source.problems
    (line,) = files.lines
    assert f"{files.path} of 2001-09-09T01:47:40Z cannot be used" in line
    assert "the version of 2001-09-09T01:46:40Z stays in use" in line
    assert config.warnings[0] in line


def test_a_file_that_is_gone_is_a_mistake_too(files, monkeypatch):
    files.source().begin()
    files.path.unlink()
    monkeypatch.setattr(config_source, "read_files", partial(read_files, sleep=lambda seconds: None))
    source = files.source()
    source.begin()
    assert "does not exist" in source.problems[0]


def test_what_was_read_while_a_cycle_ran_is_kept(files):
    source = files.source()
    source.begin()
    later = valid_document()
    later["labels"] = [*later["labels"], {"name": "added"}]
    files.write(later, at=1_000_000_030)
    source.reload()
    files.write("[", at=1_000_000_060)
    with pytest.raises(ConfigError):
        source.reload()
    assert "added" in files.source().begin().labels


def test_without_a_former_one_all_problems_are_raised(files):
    files.write("labels: [")
    with pytest.raises(ConfigError, match=r"nodepool\.yaml"):
        files.source().begin()


def test_no_folder_keeps_and_uses_nothing(files):
    files.source(folder="").begin()
    assert not os.path.exists(files.state)
    files.source().begin()
    files.write("[")
    with pytest.raises(ConfigError):
        files.source(folder="").begin()


def test_a_wrong_name_in_another_option_is_not_covered_up(files):
    files.source().begin()
    with pytest.raises(ConfigError, match="'nowhere' is not a provider"):
        files.source(LauncherOptions, providers=("nowhere",)).begin()


def test_a_provider_that_left_the_file_and_is_still_chosen_keeps_working(files):
    name = next(iter(files.source().begin().providers))
    files.write({**valid_document(), "providers": []})
    source = files.source(LauncherOptions, providers=(name,))
    assert name in source.begin().providers
    assert f"{name!r} is not a provider" in source.problems[0]


def test_a_folder_that_cannot_be_used_is_told_and_does_not_stop_anything(files):
    os.mkdir(files.state)
    os.chmod(files.state, 0o777)
    files.source().begin()
    assert "cannot be saved" in files.lines[0]


def test_many_problems_are_counted():
    sentence = told("n", 0.0, ["a", "b", "c", "d", "e"], 0.0)
    assert sentence == (
        "n of an unknown time cannot be used: a; b; c; and 2 more; the version of an unknown time stays in use"
    )


def test_what_is_no_cycle_uses_the_last_valid_ones_of_the_hosts_cycles_but_not_in_check_mode(files, monkeypatch):
    monkeypatch.setattr(config_source, "default_folder", lambda: files.state)
    good = files.source().begin()
    files.write("labels: [")
    by_hand = ConfigOptions(config=str(files.path))
    found = config_by_hand(by_hand)
    assert found.labels == good.labels
    assert "cannot be used" in found.warnings[0] and "stays in use" in found.warnings[0]
    with pytest.raises(ConfigError):
        config_by_hand(by_hand, check=True)

    assert config_by_hand(LauncherOptions(config=str(files.path), state_dir=files.state)).labels == good.labels
    with pytest.raises(ConfigError):
        config_by_hand(LauncherOptions(config=str(files.path), state_dir=""))


def test_what_is_no_cycle_keeps_nothing(files, monkeypatch):
    monkeypatch.setattr(config_source, "default_folder", lambda: files.state)
    config_by_hand(ConfigOptions(config=str(files.path)))
    assert not os.path.exists(files.state)


GATED = {"diskimages": [{"name": "{}", "gate": {"playbook": "smoke.yml"}}]}
LOST = "it had options, the gate of {} among them: restore it, or write {{}} into it to end them all"


class Settings(Files):
    """The same with a nodepool-settings.yaml that has a gate."""

    def __init__(self, folder):
        super().__init__(folder)
        self.own = folder / "nodepool-settings.yaml"
        self.image = "debian"
        text = json.dumps(GATED).replace("{}", self.image)
        self.own.write_text(text, encoding="utf-8")

    def lose(self, how):
        """Let the file be without options although nobody has said so."""
        if how is None:
            self.own.unlink()
        else:
            self.own.write_text(how, encoding="utf-8")

    def gate(self, config):
        return config.diskimages[self.image].gate


@pytest.fixture
def settings(tmp_path):
    return Settings(tmp_path)


@pytest.mark.parametrize("how", [None, "", "\n", "# nothing\n", "---\n"])
def test_a_settings_file_that_is_gone_or_empty_ends_no_gate(settings, how):
    settings.source().begin()
    settings.lose(how)
    source = settings.source()
    assert settings.gate(source.begin()) is not None
    assert LOST.format(settings.image) in source.problems[0] and LOST.format(settings.image) in settings.lines[0]
    with pytest.raises(ConfigError, match="to end them all"):
        config_by_hand(LauncherOptions(config=str(settings.path), state_dir=settings.state), check=True)
    settings.source().begin()
    assert len(settings.lines) == 2, "each cycle says so until somebody decides"


@pytest.mark.parametrize("how", [None, ""])
def test_nor_does_it_while_a_cycle_runs(settings, how):
    source = settings.source(folder="")
    source.begin()
    settings.lose(how)
    with pytest.raises(ConfigError, match="to end them all"):
        source.reload()


@pytest.mark.parametrize("said", ["{}", "labels: []\n"])
def test_a_settings_file_that_sets_nothing_ends_them(settings, said):
    settings.source().begin()
    settings.own.write_text(said, encoding="utf-8")
    source = settings.source()
    assert settings.gate(source.begin()) is None and source.problems == settings.lines == []
    settings.lose(None)
    source = settings.source()
    assert settings.gate(source.begin()) is None and source.problems == []


def test_the_copy_of_the_own_folder_counts_before_that_of_a_service_that_is_gone(settings, monkeypatch, tmp_path):
    former = tmp_path / "services" / "former"
    former.parent.mkdir()
    settings.source(folder=str(former)).begin()
    settings.own.write_text("{}", encoding="utf-8")
    settings.source().begin()
    settings.lose(None)
    assert settings.source().begin() and settings.lines == []


def test_an_empty_file_that_never_had_options_is_no_mistake(settings):
    settings.lose("# later\n")
    source = settings.source()
    assert settings.gate(source.begin()) is None and source.problems == settings.lines == []
