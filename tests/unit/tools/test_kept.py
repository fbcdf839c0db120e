# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""tools/kept.py: a success counts for what it has read only; failures and skipped checks are never kept."""

from __future__ import annotations

import os
import subprocess

import pytest

from tools import kept
from tools.stage import listed

PLAY = "playbooks/one.yml"


@pytest.fixture
def stage(tmp_path):
    """A copy of a small collection."""
    folder = tmp_path / "stage"
    (folder / "playbooks").mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True, timeout=60)
    (folder / PLAY).write_text("- hosts: all\n")
    (folder / "ansible.cfg").write_text("[defaults]\n")
    return folder


@pytest.fixture
def installed(tmp_path):
    """A folder like that of a virtual environment."""
    folder = tmp_path / "venv"
    (folder / "lib" / "__pycache__").mkdir(parents=True)
    (folder / "lib" / "judge.py").write_text("version = 1\n")
    return folder


@pytest.fixture
def digest(stage, installed):
    """The digest of a check, with one thing different."""

    def make(words=("judge", "."), variables=None, day="2026-11-26"):
        return kept.digest(words, stage, [installed], {"HOME": "/root", **(variables or {})}, day)

    return make


def changes(stage, installed):
    """What somebody may do between two runs."""
    library = installed / "lib" / "judge.py"
    play = stage / PLAY
    times = play.stat()

    def quietly():
        play.write_text("- hosts: one\n")
        os.utime(play, ns=(times.st_atime_ns, times.st_mtime_ns))

    yield "a file has another content of the same size and time", quietly
    yield "a file is new", lambda: (stage / "roles.yml").write_text("")
    yield "a file was renamed", lambda: play.rename(stage / "playbooks" / "two.yml")
    yield "a file may be executed", lambda: (stage / "ansible.cfg").chmod(0o755)
    yield "a file is gone", (stage / "ansible.cfg").unlink
    yield "a tool was renewed", lambda: library.write_text("version = 22\n")
    yield "a tool was renewed within a second", lambda: os.utime(library, ns=(1, 1))
    yield "a package was added", lambda: (installed / "lib" / "other.py").write_text("")
    yield "all tools are gone", lambda: installed.rename(installed.with_name("away"))


def test_the_digest_changes_with_each_file(stage, installed, digest):
    before = digest()
    assert digest() == before
    for what, change in changes(stage, installed):
        change()
        now = digest()
        assert now != before, what
        before = now


def test_the_digest_changes_with_words_environment_and_day(digest):
    before = digest()
    others = [
        digest(words=("judge", "--lenient", ".")),
        digest(words=("judge .",)),
        digest(variables={"ANSIBLE_CONFIG": "other.cfg"}),
        digest(variables={"PATH": "/usr/local/bin"}),
        digest(day="2026-11-27"),
    ]
    assert len({before, *others}) == 1 + len(others)


def test_byte_code_and_what_make_passes_on_do_not_count(installed, digest):
    before = digest()
    (installed / "lib" / "__pycache__" / "judge.pyc").write_text("code")
    assert digest(variables={"MAKELEVEL": "1", "KEEP_GOING": "1", "TERM": "dumb"}) == before


@pytest.fixture
def check(tmp_path, stage, monkeypatch):
    """Runs a check that counts its runs; the status, and how often it has run."""
    monkeypatch.setattr(kept, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(kept, "INSTALLED", ())
    monkeypatch.delenv("FORCE", raising=False)
    runs = tmp_path / "runs"

    def call(text="true", name="judge"):
        status = kept.main(name, stage, ["sh", "-c", f"echo run >>{runs}; {text}"])
        return status, len(runs.read_text().split())

    return call


def test_a_check_runs_again_only_after_a_change(check, stage, capfd):
    assert check("echo 3 tests, 0 findings") == (0, 1)
    assert capfd.readouterr().out == "3 tests, 0 findings\n"
    assert check("echo 3 tests, 0 findings") == (0, 1)
    told = capfd.readouterr().out
    assert told.startswith("unchanged since ")
    assert told.endswith(": 3 tests, 0 findings\n")
    (stage / PLAY).write_text("- hosts: two\n")
    assert check("echo 3 tests, 0 findings") == (0, 2)


def test_force_runs_it_and_what_it_finds_then_counts(check, monkeypatch):
    assert check() == (0, 1)
    monkeypatch.setenv("FORCE", "1")
    assert check() == (0, 2)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        pytest.param("exit 3", 3, id="failed"),
        pytest.param("echo 'skipped: there is no judge'", 0, id="skipped"),
        pytest.param("kill -9 $$", -9, id="killed"),
    ],
)
def test_what_is_no_success_is_never_kept(check, text, status):
    assert check(text) == (status, 1)
    assert check(text) == (status, 2)


def test_a_failure_takes_the_success_before_away(check, tmp_path, monkeypatch):
    text = f"test ! -e {tmp_path}/broken"
    assert check(text) == (0, 1)
    (tmp_path / "broken").touch()
    monkeypatch.setenv("FORCE", "1")
    assert check(text) == (1, 2)
    monkeypatch.delenv("FORCE")
    assert check(text) == (1, 3)


def test_a_file_that_changes_during_the_run_makes_the_result_worthless(check, stage):
    text = f"echo '# more' >>{stage}/{PLAY}"
    assert check(text) == (0, 1)
    assert check(text) == (0, 2)


def test_a_file_that_cannot_be_read_as_a_result_counts_as_none(check, tmp_path):
    assert check() == (0, 1)
    (tmp_path / "kept" / "judge.json").write_text('{"digest": ')
    assert check() == (0, 2)
    assert check() == (0, 2)


def test_all_files_of_the_checkout_are_in_what_is_compared(stage):
    said = "\n".join(kept.contents(stage, ()))
    assert all(str(name) in said for name in listed(stage))


def test_a_check_on_virtual_time_runs_again_only_after_a_change_of_what_it_reads(check, stage):
    test = stage / "tests" / "unit" / "test_one.py"
    test.parent.mkdir(parents=True)
    test.write_text("import one")
    (stage / "tests" / "united.py").write_text("import one")
    assert check(name="chaos") == (0, 1)
    assert check() == (0, 2)
    test.write_text("import two")
    assert check(name="chaos") == (0, 2)
    assert check() == (0, 3)
    (stage / "tests" / "united.py").write_text("import two")
    assert check(name="chaos") == (0, 4)


def test_its_random_cases_run_each_time(check, tmp_path, monkeypatch, capfd):
    random = f"echo random >>{tmp_path}/random; test ! -e {tmp_path}/broken && echo 3 passed"
    monkeypatch.setattr(kept, "RANDOM_PART", {"simulation": ("sh", "-c", random)})
    assert check("echo 9 passed", "simulation") == (0, 1)
    assert not (tmp_path / "random").exists()
    assert check("echo 9 passed", "simulation") == (0, 1)
    assert (tmp_path / "random").exists()
    assert capfd.readouterr().out.endswith(": 9 passed; its random cases anew: 3 passed\n")
    (tmp_path / "broken").touch()
    assert check("echo 9 passed", "simulation") == (1, 1)
    assert check("echo 9 passed", "simulation") == (0, 2)
