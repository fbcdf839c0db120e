# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where modules start and end: errors become failures, progress never disturbs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import (
    CloudUnavailable,
    ConfigError,
    DeadlineExceeded,
    MissingLibraryError,
    StoreError,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime import module
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import LIBRARY_PAGES, failure
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.progress import Progress


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (StoreError("gone"), {"msg": "gone", "error_kind": "StoreError"}),
        (ConfigError(["one", "two"]), {"msg": "one\ntwo", "error_kind": "ConfigError", "problems": ["one", "two"]}),
        (
            DeadlineExceeded("late", {"state": "pending"}),
            {"msg": "late", "error_kind": "DeadlineExceeded", "last_state": {"state": "pending"}},
        ),
        (
            CloudUnavailable("503", provider="east", call="GET /limits", status=503),
            {
                "msg": "503",
                "error_kind": "CloudUnavailable",
                "provider": "east",
                "call": "GET /limits",
                "status": 503,
            },
        ),
    ],
)
def test_an_error_becomes_a_failure_with_what_it_carries(error, expected):
    assert failure(error) == expected
    json.dumps(failure(error))


def test_warnings_of_a_configuration_are_shown_beside_its_errors(monkeypatch):
    said: list[str] = []

    class Failed(Exception):
        pass

    class FakeModule:
        def __init__(self, **options):
            self.warn = said.append

        def fail_json(self, **details):
            raise Failed(details["msg"])

    def work(unused):
        raise ConfigError(["lacks a flavor"], ["did you mean flavor-name?"])

    monkeypatch.setattr(module, "AnsibleModule", FakeModule)
    monkeypatch.setattr(module, "set_malloc_options", lambda: None)
    with pytest.raises(Failed, match="lacks a flavor"):
        module.run_module(work, {})
    assert said == ["did you mean flavor-name?"]


@pytest.mark.parametrize("library", sorted(LIBRARY_PAGES))
def test_a_missing_library_is_said_as_ansible_says_it(library):
    details = failure(MissingLibraryError(library, "Traceback: no module"))
    assert library in details["msg"] and LIBRARY_PAGES[library] in details["msg"]
    assert details["exception"] == "Traceback: no module"
    assert "exception" not in failure(MissingLibraryError(library))


def test_progress_lines_are_json_with_their_time(tmp_path: Path):
    path = tmp_path / "progress"
    progress = Progress(str(path), clock=lambda: 12.5)
    progress.line("node 7: ready")
    progress.line('with "quotes" and ü')
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert lines == [
        {"time": 12.5, "line": "node 7: ready", "priority": 6},
        {"time": 12.5, "line": 'with "quotes" and ü', "priority": 6},
    ]


def test_progress_without_a_file_or_with_one_that_cannot_be_written_does_nothing(tmp_path: Path):
    Progress(None).line("x")
    progress = Progress(str(tmp_path / "missing" / "file"))
    progress.line("x")
    (tmp_path / "missing").mkdir()
    progress.line("y")
    assert list((tmp_path / "missing").iterdir()) == [], "after the first failure it is not tried again"
