# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The catalogue finds the messages in code, pages and playbooks, and nothing else."""

from __future__ import annotations

import pytest

from tools.messages import (
    ERROR,
    LINE,
    PROBLEM,
    SCREEN,
    TASK,
    TEXT,
    WARNING,
    is_message,
    main,
    of_page,
    of_python,
    of_tasks,
)

SOURCE = '''
"""A docstring is not a message."""
DOCUMENTATION = "the documentation of a module"
PATTERN = re.compile(r"no such thing")

class Things:
    """Another docstring."""

    def work(self, name, count):
        self.say(Line(f"node {name}: launched" " and ready"))
        module.warn("the cache of " + name + " is old")
        raise StoreError(f"{name!r} has {count:d} bytes")

def check(path):
    yield Problem(path, "is empty: write a text")
    return "a part of a sentence" if path else "x-y"
'''


def test_messages_are_found_with_place_and_kind():
    found = {message.text: (message.function, message.kind) for message in of_python(SOURCE, "plugins/x.py")}
    assert found == {
        "node {name}: launched and ready": ("Things.work", LINE),
        "the cache of {name} is old": ("Things.work", WARNING),
        "{name} has {count} bytes": ("Things.work", ERROR),
        "is empty: write a text": ("check", PROBLEM),
        "a part of a sentence": ("check", TEXT),
    }


def test_texts_of_a_page_are_found():
    source = '<p title="Search nodes">No <b>node</b> matches.</p>{# a comment #}<script>var a b</script>{{ value }}'
    found = of_page(source, "x.html")
    assert [message.text for message in found] == ["No node matches.", "Search nodes"]
    assert {message.kind for message in found} == {SCREEN}


def test_messages_of_tasks_are_found():
    source = """
    - name: Refuse an old system
      ansible.builtin.fail:
        msg: >-
          This role needs
          {{ version }}
    - name: Show the end
      ansible.builtin.debug: {msg: "all nodes are gone"}
    - ansible.builtin.user: {name: a user of nodes}
    """
    found = [(message.text, message.kind) for message in of_tasks(source, "x.yml")]
    assert ("Refuse an old system", TASK) in found and ("This role needs {{ version }}", ERROR) in found
    assert ("all nodes are gone", LINE) in found and len(found) == 4


@pytest.mark.parametrize(
    "text", ["name", "a-key", r"(?i)no host (found|known)", "application/json; charset=x", ", ", "{a} {b}"]
)
def test_what_is_not_for_people_is_no_message(text):
    assert not is_message(text)


def test_the_catalogue_is_printed_in_columns(capsys):
    assert main(["--under", "model/reasons.py"]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert lines and {len(columns) for columns in lines} == {3} and {columns[0] for columns in lines} == {"reason"}
    assert main(["--count"]) == 0
    assert "error\t" in capsys.readouterr().out
