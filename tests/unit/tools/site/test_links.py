# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Dead links of the built site are found, and pages that its search does not know."""

from __future__ import annotations

import pytest

from tools.site.links import dead_links, main, unsearched

US = "https://example.org/us"


@pytest.fixture
def site(tmp_path):
    (tmp_path / "galaxy.yml").write_text(f"repository: {US}\n")
    built = tmp_path / "html"
    (built / "sub").mkdir(parents=True)
    (built / "a.png").touch()
    (built / "search.html").write_text("<p>search</p>")
    (built / "sub" / "b.html").write_text('<h1 id="t">b</h1><a href="../index.html#top">up</a>')
    return built


def index(site, body):
    (site / "index.html").write_text(f'<a name="top"></a>{body}', encoding="utf-8")
    return dead_links(site, site.parent)


@pytest.mark.parametrize(
    "target",
    [
        *("sub/b.html", "sub/b.html#t", "#top", "a.png", "https://elsewhere.example/no"),
        *(f"{US}/blob/main/galaxy.yml", f"{US}/tree/main/html#readme", f"{US}/issues"),
    ],
)
def test_what_is_there_is_no_dead_link(site, target):
    assert index(site, f'<a href="{target}">x</a>') == []


@pytest.mark.parametrize(
    "target", ["no.html", "sub/b.html#no", "#no", f"{US}/blob/main/no.md", f"{US}/raw/main/no.png"]
)
def test_what_is_not_there_is_a_dead_link(site, target):
    assert index(site, f'<a href="{target}">x</a><a href="{target}">again</a>') == [f"index.html: {target}"]


def test_a_picture_and_a_script_may_be_missing_as_well(site):
    assert index(site, '<img src="no.png"><script src="no.js"></script><link href="no.css">') == [
        f"index.html: no.{ending}" for ending in ("png", "js", "css")
    ]


def test_a_page_that_the_search_does_not_know_is_told(site, capsys):
    index(site, "")
    (site / "searchindex.js").write_text('Search.setIndex({"docnames":["index"]})')
    assert unsearched(site) == ["sub/b"]
    assert main(site) == 1
    assert capsys.readouterr().out == "the search does not know sub/b\n"
