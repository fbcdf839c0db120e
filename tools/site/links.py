# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks for dead links in the built documentation site, and for pages that its search does not find.

    python -m tools.site.links HTML

A link inside the site must lead to a file, and to an id in it. A link into the repository's web pages must lead to a
file that is there. Other hosts are not asked.
"""

from __future__ import annotations

import json
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {"a": "href", "link": "href", "img": "src", "script": "src"}
UNSEARCHED = {"genindex", "search"}
"""Pages that Sphinx makes itself and that have no text of their own."""


class Links(HTMLParser):
    """The ids of a page, and what it links to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.targets: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called for each element."""
        found = dict(attrs)
        self.ids |= {value for value in (found.get("id"), found.get("name")) if value}
        target = found.get(SOURCES.get(tag, ""))
        if target:
            self.targets.append(target)


def dead_links(site: Path, root: Path = ROOT) -> list[str]:
    """A line for each dead link of the pages below *site*.

    :param root: the repository whose web pages are known.
    """
    repository: str = yaml.safe_load((root / "galaxy.yml").read_text("utf-8"))["repository"]
    pages = {path: Links(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}
    dead = []
    for page, links in pages.items():
        for target in dict.fromkeys(links.targets):
            if _is_dead(page, target, pages, root, repository):
                dead.append(f"{page.relative_to(site)}: {target}")
    return dead


def _is_dead(page: Path, target: str, pages: dict[Path, Links], root: Path, repository: str) -> bool:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        kind, _main, path = target.removeprefix(f"{repository}/").partition("/main/")
        ours = target.startswith(f"{repository}/") and kind in ("blob", "tree", "raw")
        return ours and not (root / path.partition("#")[0]).exists()
    file = (page.parent / unquote(parts.path)).resolve() if parts.path else page.resolve()
    if not file.is_file():
        return True
    known = next((links for path, links in pages.items() if path.resolve() == file), None)
    return bool(parts.fragment) and known is not None and unquote(parts.fragment) not in known.ids


def unsearched(site: Path) -> list[str]:
    """The pages that are not in the index of the search."""
    text = (site / "searchindex.js").read_text("utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").rstrip().removesuffix(")"))
    found = set(index["docnames"])
    pages = {path.relative_to(site).with_suffix("").as_posix() for path in site.rglob("*.html")}
    return sorted(pages - found - UNSEARCHED)


def main(site: Path) -> int:
    """1 when something was found."""
    problems = [*(f"dead link: {line}" for line in dead_links(site))]
    problems += [f"the search does not know {page}" for page in unsearched(site)]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
