# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every message of the collection keeps :mod:`tests.support.message_rules`, and each rule notices a breach."""

from __future__ import annotations

import pytest

from tests.support.message_rules import STILTED, faults
from tools.messages import ERROR, KINDS, LINE, PROBLEM, SCREEN, TEXT, Message, catalogue


@pytest.fixture(scope="module")
def messages() -> tuple[Message, ...]:
    return catalogue()


def test_every_message_keeps_the_rules(messages):
    found = [
        f"{message.file}:{message.function}: {message.text!r}: {fault}"
        for message in messages
        for fault in faults(message)
    ]
    assert found == [], "python -m tools.messages shows the catalogue"


def test_the_catalogue_has_messages_of_every_kind_and_room(messages):
    assert {message.kind for message in messages} == set(KINDS)
    rooms = {message.file.split("/")[2] for message in messages if message.file.startswith("plugins/module_utils/")}
    assert rooms == {"clients", "cycles", "imaging", "launching", "model", "reporting", "runtime", "sweeping", "web"}
    assert {message.file.split("/")[0] for message in messages} == {"playbooks", "plugins", "roles"}


STILTED_EXAMPLES = [
    "node 1 does not exist any more",
    "the server was made all the same",
    "the upload begins anew",
    "mend the file",
    "server 7 turned up late",
    "no floating IP is to be had",
    "nothing comes of server 7",
    "3 nodes are worth a look",
    "the cloud offers none at all",
    "this has to be a table",
    "it cannot be told",
    "see whether the cloud is up",
    "is no text",
    "the answer has a body, which that of a deletion has not",
    "what it tells of",
    "no boot was seen lately",
    "it never fires, and AWX would search for ever",
    "the settings stay in force",
    "3 launches are under way",
    "the former one stays",
    "the file is left alone",
    "an upload of which ZooKeeper knows nothing",
    "it is handed over at any moment",
    "See that both launchers run",
    "Most seconds to wait",
    "names the provider west, which has not both images",
    "server 7 has leaked {span(age)} ago",
    "other users may read this key: type chmod 600 {path}",
    "the playbook failed without a word",
    "a node of one's own",
    "Zuul heeds the quota of the cloud",
    "its gate cannot be gone on with",
    "Made of nodepool.yaml",
    "node 7 was made from another image than requested",
]


@pytest.mark.parametrize("text", STILTED_EXAMPLES)
def test_a_stilted_phrase_is_noticed(text):
    assert list(faults(Message(text, "plugins/x.py", "f", TEXT)))


def test_every_stilted_phrase_has_an_example():
    assert len(STILTED_EXAMPLES) >= len(STILTED)
    remedies = [fault.partition(": ")[2] for text in STILTED_EXAMPLES for fault in faults(_text(text))]
    assert set(STILTED.values()) <= set(remedies)


@pytest.mark.parametrize(
    ("text", "kind", "fault"),
    [
        ("{len(labels)} labels are checked", TEXT, "write numbers with"),
        ("{count} node{'s' if count > 1 else ''} launched", TEXT, "write numbers with"),
        ("{', '.join(names)} has no launcher", TEXT, "write lists with"),
        ("{ready} of {len(labels)} nodes are ready", SCREEN, "write a part of"),
        ("{missing} of {row['min_ready']} ready nodes are missing", SCREEN, "write a part of"),
        ("provider east:  no answer", LINE, "two spaces"),
        ("word " * 80, TEXT, "characters"),
        ("has a wrong value", PROBLEM, "name the remedy"),
        ("The node was deleted", ERROR, "begin with a small letter"),
        ("the node was deleted.", LINE, "end without a full stop"),
        ("the server does not answer; is it up?", ERROR, "say what to check"),
    ],
)
def test_a_breach_is_noticed(text, kind, fault):
    assert any(fault in found for found in faults(Message(text, "plugins/x.py", "f", kind)))


@pytest.mark.parametrize(
    "text",
    [
        "{{ row.failures }} builds in a row failed: {{ row.last_error }}",
        "and {{ period.count - period.rows|length }} more tenants: nodepoolctl usage shows them",
        "{{ idle_labels|number }} labels have no nodes and no requests.",
    ],
)
def test_a_lone_count_on_a_page_is_noticed(text):
    assert any("the filter amount" in found for found in faults(Message(text, "plugins/x.html", "", SCREEN)))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("provider east: no answer within 30 s: check that the cloud is up", LINE),
        ("is not a known key here and is ignored: did you mean min-ready?", PROBLEM),
        ("the name has {len(name)} characters, but nova allows 255: shorten it", PROBLEM),
        ("{amount(len(labels), 'label')} checked", TEXT),
        ("{part_of(missing, row['min_ready'], 'ready node')} missing", SCREEN),
        ("{{ row.failures|amount('build') }} failed", SCREEN),
        ("ZooKeeper did not answer in time to: {verb} {path}", ERROR),
        ("there is no lease of this name", ERROR),
        ("Nodes to keep ready; 0 or less for none.", SCREEN),
    ],
)
def test_a_good_message_passes(text, kind):
    assert list(faults(Message(text, "plugins/x.py", "f", kind))) == []


def _text(text: str) -> Message:
    return Message(text, "plugins/x.py", "f", TEXT)
