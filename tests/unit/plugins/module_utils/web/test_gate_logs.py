# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The log of a test of a new image over HTTP: linked from the page, plain text, and no other file."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.kept_log import MOST
from tests.support import busy_tree
from tests.support.tree_reading import NOW
from tests.support.web_case import WebCase

FOUND = busy_tree.documents(NOW, requests=0)
BUILD = next(path for path in FOUND if path.startswith("/nodepool/images/debian-12/builds/")).split("/")[5]
NAME = f"debian-12-{BUILD}-cloud-fra-0000000001-1.log"
PATH = "/gate-logs/cloud-fra/debian-12/1"


def case(base: Path, **gate: Any) -> WebCase:
    failed = {"kind": "canary", "passed": False, "reason": "no DNS", "at": NOW - 60, "log": f"/etc/passwd/{NAME}"}
    record = {"build": BUILD, "upload": "0000000001", "since": NOW - 300, "outcome": "rejected", "results": [failed]}
    documents = {**FOUND, "/nodepool/stackci/image-gates/cloud-fra/debian-12": {**record, **gate}}
    config = replace(parse_config(busy_tree.config(10)), build_log_dir=str(base))
    return WebCase(documents, busy_tree.locks(), config=config)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "logs" / "gates").mkdir(parents=True)
    (tmp_path / "logs" / "gates" / NAME).write_text("TASK [DNS]\n<script>fatal</script>\n", encoding="utf-8")
    (tmp_path / "logs" / "gates" / "secret-1.log").write_text("secret", encoding="utf-8")
    (tmp_path / "secret-1.log").write_text("secret", encoding="utf-8")
    return tmp_path / "logs"


def test_the_page_links_the_log_of_a_canary_that_failed(base: Path) -> None:
    web = case(base)
    page = web.get("/images").get_data(as_text=True)
    (link,) = re.findall(r'href="([^"]*gate-logs[^"]*)"', page)
    assert link == f".{PATH}"
    answer = web.get(PATH)
    assert (answer.status_code, answer.mimetype) == (200, "text/plain")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.get_data(as_text=True) == "TASK [DNS]\n<script>fatal</script>\n"


def test_a_long_log_is_cut(base: Path) -> None:
    (base / "gates" / NAME).write_bytes(b"x" * (3 * MOST))
    assert len(case(base).get(PATH).get_data()) == MOST


def test_where_the_log_is_not_the_answer_says_where_it_is(base: Path) -> None:
    (base / "gates" / NAME).unlink()
    answer = case(base).get(PATH)
    assert (answer.status_code, answer.mimetype) == (404, "text/plain") and NAME in answer.get_data(as_text=True)


@pytest.mark.parametrize(
    "path",
    [
        "/gate-logs/cloud-fra/debian-12/2",
        "/gate-logs/cloud-fra/debian-12/0",
        "/gate-logs/cloud-fra/debian-12/-1",
        "/gate-logs/cloud-fra/debian-12/%D9%A1",
        "/gate-logs/cloud-fra/debian-12/99999999999999999999",
        "/gate-logs/cloud-fra/secret/1",
        "/gate-logs/other/debian-12/1",
        "/gate-logs/cloud-fra/..%2Fsecret/1",
        "/gate-logs/cloud-fra/debian-12/..%2f..%2fsecret-1.log",
        "/gate-logs/..%2f../debian-12/1",
    ],
)
def test_no_other_file_can_be_named(base: Path, path: str) -> None:
    answer = case(base).get(path)
    assert answer.status_code == 404 and "secret" not in answer.get_data(as_text=True).replace(path, "")


@pytest.mark.parametrize("gate", [{"upload": "../../secret"}, {"build": "../../secret"}, {"upload": 5}])
def test_no_record_can_name_another_file(base: Path, gate: dict[str, Any]) -> None:
    assert case(base, **gate).get(PATH).status_code == 404
