# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each document that cannot be used is told once."""

from __future__ import annotations

import threading

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.unusable_documents import (
    MOST,
    UnusableDocuments,
)

PATH = "/nodepool/nodes/0000000007"


def test_a_document_is_told_once_whatever_is_wrong_with_it_later():
    documents = UnusableDocuments()
    documents.add(PATH, "it is not JSON")
    documents.add(PATH, "it is empty")
    (sentence,) = documents.drain()
    assert sentence.startswith(f"{PATH} is ignored and not changed: it is not JSON: ")
    documents.add(PATH, "it is not JSON")
    assert documents.drain() == []


def test_other_sentences_are_told_once_too():
    documents = UnusableDocuments()
    documents.tell("the watch is missing")
    documents.tell("the watch is missing")
    assert documents.drain() == ["the watch is missing"]


def test_a_tree_full_of_them_does_not_fill_a_log():
    documents = UnusableDocuments()
    for number in range(MOST + 10):
        documents.add(f"/nodepool/nodes/{number}", "it is not JSON")
    documents.tell("one more")
    assert len(documents.drain()) == MOST


def test_threads_that_find_the_same_tell_it_once():
    documents = UnusableDocuments()

    def find() -> None:
        for number in range(200):
            documents.add(f"/nodepool/nodes/{number}", "it is not JSON")

    threads = [threading.Thread(target=find) for _thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sentences = documents.drain()
    assert len(sentences) == len(set(sentences)) == 200
