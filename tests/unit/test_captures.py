# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The captures in the documentation are what the playbooks show now, apart from times."""

from __future__ import annotations

import json
import re

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.explain import explanation
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.request_rows import request_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.status import request_lines, status_lines
from tests.support import populated_tree
from tests.support.tree_reading import NOW, reading_of
from tools.looking_captures import CAPTURE, CONFIG, LEFT_OUT, PAGES

TIME = re.compile(r"\d\d(:\d\d){3}|\d+ (s|min|h|d)\b( \d+ (s|min|h|d)\b)*")
CAPTURES = [(page.name, *found.groups()[1:4]) for page in PAGES for found in CAPTURE.finditer(page.read_text("utf-8"))]


def timeless(lines):
    """Words only: what is broken into lines depends on the times."""
    return TIME.sub("…", " ".join(" ".join(lines).split()))


@pytest.mark.parametrize(("page", "playbook", "argument", "shown"), CAPTURES)
def test_a_capture_is_what_is_shown_now(page, playbook, argument, shown):
    config = parse_config(json.dumps({"zookeeper-servers": [{"host": "localhost"}], **CONFIG}))
    documents = {
        path: document for path, document in populated_tree.documents(NOW).items() if not path.endswith(LEFT_OUT)
    }
    reading = reading_of(documents, populated_tree.locks())
    if playbook == "explain":
        now = request_lines(explanation(reading, request_rows(reading, NOW), argument, NOW), 80)
    else:
        now = status_lines(config, reading, NOW, int(argument))
    assert timeless(shown.splitlines()) == timeless(now), "run: python -m tools.looking_captures"


def test_there_are_captures_of_both_widths():
    assert {argument for page, _playbook, argument, _shown in CAPTURES if page == "looking.md"} >= {"80", "200"}
