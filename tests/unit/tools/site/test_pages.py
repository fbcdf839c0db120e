# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Markdown becomes the reStructuredText of the documentation site, and no page of the repository has a dead link."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import roles
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tools.site.pages import ROOT, DeadLinks, Site, page_names, slug, write

GALAXY = "repository: https://example.org/us\n"
ELSEWHERE = {"README.md", "designs"}
"""What of docs/ is no page of the site: antsibull-docs makes the index, and designs are for readers of the code."""


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "docs" / "docsite").mkdir(parents=True)
    (tmp_path / "galaxy.yml").write_text(GALAXY)
    (tmp_path / "docs" / "docsite" / "extra-docs.yml").write_text(
        "sections: [{title: All, toctree: [one, ci/two]}]", encoding="utf-8"
    )
    (tmp_path / "docs" / "ci").mkdir()
    (tmp_path / "docs" / "README.md").write_text("# Index\n")
    (tmp_path / "docs" / "one.md").write_text("# One\n")
    (tmp_path / "docs" / "ci" / "two.md").write_text("# Two\n\n## A `part`, too\n\n## A part, too\n")
    return tmp_path


def one(repository, text):
    (repository / "docs" / "one.md").write_text(f"# One\n\n{text}\n", encoding="utf-8")
    site = Site(repository)
    return site.page("one").partition("===\n\n")[2].rstrip("\n"), site.dead


def understood(text):
    """What docutils makes of it; anything it complains of is an error."""
    roles.register_local_role("ref", lambda _role, raw, _text, *_rest: ([nodes.reference(raw, raw)], []))
    settings = {"report_level": 1, "halt_level": 2, "warning_stream": io.StringIO()}
    return publish_doctree(text, settings_overrides=settings)


def test_links_become_references_or_addresses(repository):
    said, dead = one(
        repository,
        "[two](ci/two.md), [part](ci/two.md#a-part-too-1), [here](#one), [all](README.md), [file](../galaxy.yml), "
        "[folder](ci), [web](https://example.com/a_b)",
    )
    prefix = "ansible_collections.stackci.nodepool.docsite"
    assert said.split(", ") == [
        f":ref:`two <{prefix}.ci.two>`\\ ",
        f":ref:`part <{prefix}.ci.two.a-part-too-1>`\\ ",
        f":ref:`here <{prefix}.one.one>`\\ ",
        ":ref:`all <plugins_in_stackci.nodepool>`\\ ",
        "`file <https://example.org/us/blob/main/galaxy.yml>`__\\ ",
        "`folder <https://example.org/us/tree/main/docs/ci>`__\\ ",
        "`web <https://example.com/a_b>`__",
    ]
    assert dead == []


def test_each_dead_link_is_told(repository):
    _said, dead = one(repository, "[a](no.md), [b](ci/two.md#no), [c](#no)\n\n![d](no.png)")
    assert dead == [
        "docs/one.md: no.md is not there",
        "docs/one.md: ci/two.md#no has no such title",
        "docs/one.md: #no has no such title",
        "docs/one.md: no.png is not there",
    ]
    with pytest.raises(DeadLinks, match=r"no\.md is not there"):
        write(repository / "out", Site(repository))


def test_pictures_stay_on_the_web_or_lie_beside_the_pages(repository):
    (repository / "docs" / "ci" / "a.png").write_bytes(b"a picture")
    (repository / "docs" / "ci" / "two.md").write_text("# Two\n\n![What is to be seen](a.png)\n", encoding="utf-8")
    write(repository / "web", Site(repository))
    page = (repository / "web" / "ci" / "two.rst").read_text("utf-8")
    assert ".. image:: https://example.org/us/raw/main/docs/ci/a.png\n   :alt: What is to be seen\n" in page
    write(repository / "here", Site(repository, pictures_here=True))
    assert ".. image:: a.png\n" in (repository / "here" / "ci" / "two.rst").read_text("utf-8")
    assert (repository / "here" / "ci" / "a.png").read_bytes() == b"a picture"


def test_tables_lists_and_code(repository):
    said, _dead = one(
        repository,
        "| a | `b` |\n|---|---|\n| | x \\| y |\n\n1. first\n\n   ```yaml\n   a: 1\n   ```\n2. second\n   - inner\n\n"
        "<!-- a remark -->\n\n> said",
    )
    tree = understood(said)
    assert [row.astext() for row in tree.findall(nodes.row)] == ["a\n\nb", "\n\nx | y"]
    assert len(list(tree.findall(nodes.thead))) == 1
    assert [item.astext() for item in tree.findall(nodes.list_item)] == ["first\n\na: 1", "second\n\ninner", "inner"]
    assert [quote.astext() for quote in tree.findall(nodes.block_quote)] == ["said"]
    assert "remark" not in said


@example(["\\", "`x`", " ", "`x`"])
@given(
    st.lists(st.sampled_from(["word", "a_", "*", "`x`", "`y_z`", "**b**", "*e*", "|", "::", "\\", " ", "http:", ", "]))
)
def test_what_a_line_says_stays_the_same(tmp_path_factory, words):
    text = "".join(words)
    folder = tmp_path_factory.mktemp("site")
    (folder / "docs" / "docsite").mkdir(parents=True)
    (folder / "galaxy.yml").write_text(GALAXY)
    (folder / "docs" / "docsite" / "extra-docs.yml").write_text("sections: [{title: All, toctree: [one]}]")
    # A letter first, so that the line is a paragraph.
    (folder / "docs" / "one.md").write_text(f"# One\n\nA {text} z\n", encoding="utf-8")
    page = Site(folder)
    said = page.page("one").partition("===\n\n")[2]
    shown = "".join(
        part.content for token in MarkdownIt("commonmark").parse(f"A {text} z") for part in token.children or []
    )
    assert understood(said).astext().split() == shown.split()


def test_the_anchors_are_those_of_github():
    assert slug("Whose fault is `it`, then?") == "whose-fault-is-it-then"
    assert slug("nodepool.yaml – and more_words") == "nodepoolyaml--and-more_words"


def test_every_page_of_the_repository_is_on_the_site():
    there = [path.relative_to(ROOT / "docs") for path in sorted((ROOT / "docs").rglob("*.md"))]
    pages = {path.with_suffix("").as_posix() for path in there if path.parts[0] not in ELSEWHERE}
    assert sorted(page_names()) == sorted(pages)


def test_no_page_of_the_repository_has_a_dead_link():
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "--", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True, timeout=60
    ).stdout.split("\0")
    site = Site()
    for name in filter(None, tracked):
        if Path(ROOT / name).is_file():
            site.judge(name)
    assert site.dead == []
