# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the pages of the documentation site from docs/*.md, as reStructuredText.

    python -m tools.site.pages TARGET [--pictures-here]

antsibull-docs, and with it docs.ansible.com, takes reStructuredText from docs/docsite/rst only, while the repository is
read as Markdown. docs/docsite/extra-docs.yml names the pages. A link between two of them becomes a reference, a link to
another file of the repository leads to its web page, and a link to something that does not exist is an error.
Pictures stay on that web page, too, because antsibull-docs copies none, unless they are wanted beside the pages.
"""

from __future__ import annotations

import argparse
import posixpath
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[2]
INDEX = "plugins_in_stackci.nodepool"
"""The label of the page that antsibull-docs makes for the collection."""
PREFIX = "ansible_collections.stackci.nodepool.docsite."
"""How each label has to begin."""
SPECIAL = re.compile(r"[\\<>_*`|:\-]")
LINES = ("=", "-", "~", "^", '"', "'")
"""What underlines the titles of each level."""
BRANCH = "main"
ELSEWHERE = re.compile(r"[a-z]+:")
"""How an address on the web begins."""


class DeadLinks(Exception):
    """Pages link to what is not there; a line for each link."""


def page_names(root: Path = ROOT) -> list[str]:
    """The pages of extra-docs.yml, in order, as paths below docs/ without their ending."""
    index = yaml.safe_load((root / "docs" / "docsite" / "extra-docs.yml").read_text("utf-8"))
    return [name for section in index["sections"] for name in section["toctree"]]


def slug(title: str) -> str:
    """The anchor that GitHub gives to a title, without the numbers that make repeated ones differ."""
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")


def parse(text: str) -> list[Token]:
    """The tokens of a page."""
    return MarkdownIt("commonmark").enable("table").parse(text)


def anchors(tokens: Sequence[Token]) -> list[str]:
    """The anchors of the titles, in order."""
    found: list[str] = []
    seen: dict[str, int] = {}
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            base = slug(plain(tokens[at + 1].children or ()))
            number = seen.get(base, 0)
            seen[base] = number + 1
            found.append(f"{base}-{number}" if number else base)
    return found


def plain(tokens: Iterable[Token]) -> str:
    """What inline tokens say, without markup."""
    return "".join(
        " " if token.type in ("softbreak", "hardbreak") else token.content
        for token in tokens
        if token.type in ("text", "code_inline", "softbreak", "hardbreak")
    )


def escaped(text: str) -> str:
    """Text in which reStructuredText finds no markup."""
    return SPECIAL.sub(lambda found: f"\\{found[0]}", text)


def literal(code: str) -> str:
    """Code between the marks of reStructuredText, inside of which no space may stand at an end."""
    words = code.strip()
    before, after = code[: len(code) - len(code.lstrip())], code[len(code.rstrip()) :]
    return f"{before}\\ ``{words}``\\ {after}" if words else code


class Site:
    """All pages, so that links between them can be judged.

    :param root: the repository.
    :param pictures_here: pictures lie beside the pages.
    """

    def __init__(self, root: Path = ROOT, pictures_here: bool = False) -> None:
        self.root = root
        self.pictures_here = pictures_here
        self.pictures: set[PurePosixPath] = set()
        self.dead: list[str] = []
        self.repository: str = yaml.safe_load((root / "galaxy.yml").read_text("utf-8"))["repository"]
        self.names = page_names(root)
        self._anchors: dict[str, list[str]] = {}

    def page(self, name: str) -> str:
        """A page as reStructuredText; what it links to and is not there is told in *dead*."""
        return _Page(self, name).text()

    def judge(self, path: str) -> None:
        """Look whether the links and pictures of a Markdown file of the repository lead anywhere; see *dead*."""
        for token in parse((self.root / path).read_text("utf-8")):
            for part in token.children or ():
                target = part.attrs.get("href") or part.attrs.get("src")
                if target:
                    self._find(path, str(target))

    def anchors_of(self, path: str) -> list[str]:
        """The anchors of a Markdown file of the repository."""
        if path not in self._anchors:
            self._anchors[path] = anchors(parse((self.root / path).read_text("utf-8")))
        return self._anchors[path]

    def link(self, name: str, target: str) -> tuple[str, bool]:
        """Where a link of a page leads to: a label (true), or an address (false)."""
        if ELSEWHERE.match(target):
            return target, False
        path, anchor = self._find(f"docs/{name}.md", target)
        page = path.removeprefix("docs/").removesuffix(".md")
        if path == "docs/README.md":
            return INDEX, True
        if path.startswith("docs/") and page in self.names:
            return label(page, anchor), True
        kind = "tree" if (self.root / path).is_dir() else "blob"
        return f"{self.repository}/{kind}/{BRANCH}/{path}" + (f"#{anchor}" if anchor else ""), False

    def _find(self, here: str, target: str) -> tuple[str, str]:
        """The file and the anchor that a link within the repository means."""
        file, _mark, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(here), file)) if file else here
        if ELSEWHERE.match(target):
            pass
        elif not (self.root / path).exists():
            self.dead.append(f"{here}: {target} is not there")
        elif anchor and path.endswith(".md") and anchor not in self.anchors_of(path):
            self.dead.append(f"{here}: {target} has no such title")
        return path, anchor

    def picture(self, name: str, source: str) -> str:
        """Where a picture of a page is to be had."""
        path = PurePosixPath(self._find(f"docs/{name}.md", source)[0])
        if (self.root / path).is_file():
            self.pictures.add(path)
        return source if self.pictures_here else f"{self.repository}/raw/{BRANCH}/{path}"


def label(page: str, anchor: str = "") -> str:
    """The label of a page, or of one of its titles."""
    return PREFIX + page.replace("/", ".") + (f".{anchor}" if anchor else "")


class _Page:
    """One page while it is turned into reStructuredText."""

    def __init__(self, site: Site, name: str) -> None:
        self.site = site
        self.name = name
        self.tokens = parse((site.root / "docs" / f"{name}.md").read_text("utf-8"))
        self.anchors = iter(anchors(self.tokens))

    def text(self) -> str:
        # REUSE-IgnoreStart
        head = [
            "..",
            f"  Made from docs/{self.name}.md by tools/site/pages.py; a change belongs there.",
            "  SPDX-FileCopyrightText: 2026 The stackci.nodepool contributors",
            "  SPDX-License-Identifier: GPL-3.0-or-later",
            # REUSE-IgnoreEnd
            "",
            f".. _{label(self.name)}:",
            "",
        ]
        return "\n".join([*head, *self.blocks(0, len(self.tokens))]).rstrip() + "\n"

    def blocks(self, first: int, end: int) -> list[str]:
        """The lines of the tokens from *first* to before *end*."""
        lines: list[str] = []
        at = first
        while at < end:
            token, close = self.tokens[at], self.close(at)
            if token.type == "heading_open":
                lines += self.heading(int(token.tag[1:]), self.tokens[at + 1].children or [])
            elif token.type == "paragraph_open":
                lines += [*self.paragraph(self.tokens[at + 1].children or []), ""]
            elif token.type in ("bullet_list_open", "ordered_list_open"):
                lines += self.items(at + 1, close, token)
            elif token.type == "blockquote_open":
                lines += [*_indented(self.blocks(at + 1, close), "  "), ""]
            elif token.type == "table_open":
                lines += self.table(at + 1, close)
            elif token.type in ("fence", "code_block"):
                lines += self.code(token)
            elif token.type == "html_block" and token.content.lstrip().startswith("<!--"):
                # A remark for those who write.
                pass
            else:
                raise ValueError(f"docs/{self.name}.md: {token.type} in line {token.map} is not known here")
            at = close + 1
        return lines

    def close(self, at: int) -> int:
        """Where what begins at this token ends."""
        depth = 0
        for later in range(at, len(self.tokens)):
            depth += self.tokens[later].nesting
            if not depth:
                return later
        raise ValueError(f"docs/{self.name}.md: {self.tokens[at].type} does not end")

    def heading(self, level: int, inline: list[Token]) -> list[str]:
        title, anchor = self.inline(inline), next(self.anchors)
        return [f".. _{label(self.name, anchor)}:", "", title, LINES[level - 1] * max(len(title), 3), ""]

    def paragraph(self, inline: list[Token]) -> list[str]:
        if [token.type for token in inline] == ["image"]:
            source = self.site.picture(self.name, str(inline[0].attrs["src"]))
            return [f".. image:: {source}", f"   :alt: {inline[0].content}"]
        return [self.inline(inline)]

    def items(self, at: int, end: int, parent: Token) -> list[str]:
        lines: list[str] = []
        number = int(parent.attrs.get("start", 1))
        while at < end:
            close = self.close(at)
            mark = "- " if parent.type == "bullet_list_open" else f"{number}. "
            content = _indented(self.blocks(at + 1, close), " " * len(mark))
            content[0] = mark + content[0].lstrip()
            lines += content
            number, at = number + 1, close + 1
        return [*lines, ""]

    def table(self, at: int, end: int) -> list[str]:
        rows: list[list[str]] = []
        for token, following in zip(self.tokens[at:end], self.tokens[at + 1 : end + 1], strict=True):
            if token.type == "tr_open":
                rows.append([])
            elif token.type in ("th_open", "td_open"):
                rows[-1].append(self.inline(following.children or []))
        lines = [".. list-table::"]
        if any(rows[0]):
            lines.append("   :header-rows: 1")
        else:
            rows = rows[1:]
        for row in rows:
            lines.append("")
            lines += [f"   {'* -' if not column else '  -'} {cell}".rstrip() for column, cell in enumerate(row)]
        return [*lines, ""]

    def code(self, token: Token) -> list[str]:
        language = token.info.strip() or "text"
        return [f".. code-block:: {language}", "", *_indented(token.content.rstrip("\n").split("\n"), "   "), ""]

    def inline(self, tokens: list[Token]) -> str:
        """Text with its markup, in one line. Marked words may touch others: ``\\ `` separates without a space."""
        out: list[str] = []
        at = 0
        while at < len(tokens):
            token = tokens[at]
            if token.type == "text":
                out.append(escaped(token.content))
            elif token.type in ("softbreak", "hardbreak"):
                out.append(" ")
            elif token.type == "code_inline":
                out.append(literal(token.content))
            elif token.type in ("strong_open", "em_open", "link_open"):
                close = next(later for later in range(at, len(tokens)) if _closes(tokens[later], token))
                out.append(f"\\ {self.marked(token, tokens[at + 1 : close])}\\ ")
                at = close
            else:
                raise ValueError(f"docs/{self.name}.md: {token.type} is not known here")
            at += 1
        # Where there is a space anyway, the separator would only be in the way.
        line = re.sub(r"(^|(?<= ))\\ (?=[`*:])", "", "".join(out))
        return re.sub(r"(?<=[`*_])\\ (?= |$)", "", line)

    def marked(self, token: Token, inner: list[Token]) -> str:
        # Markup cannot be nested: the outermost counts, except that words beside a link keep theirs.
        if token.type != "link_open" and any(part.type == "link_open" for part in inner):
            return self.inline(inner)
        text = escaped(plain(inner))
        if token.type != "link_open":
            if [part.type for part in inner] == ["code_inline"]:
                return self.inline(inner)
            return f"**{text}**" if token.type == "strong_open" else f"*{text}*"
        target, is_label = self.site.link(self.name, str(token.attrs["href"]))
        return f":ref:`{text} <{target}>`" if is_label else f"`{text} <{target}>`__"


def _closes(token: Token, opening: Token) -> bool:
    return token.level == opening.level and token.type == opening.type.replace("_open", "_close")


def _indented(lines: Iterable[str], by: str) -> list[str]:
    return [f"{by}{line}" if line else "" for line in lines]


def write(target: Path, site: Site) -> None:
    """Write all pages, and the pictures where they are wanted, into an empty folder *target*.

    :raises DeadLinks: they link to what is not there.
    """
    shutil.rmtree(target, ignore_errors=True)
    for name in site.names:
        path = target / f"{name}.rst"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(site.page(name), encoding="utf-8")
    for picture in site.pictures if site.pictures_here else ():
        shutil.copyfile(site.root / picture, target / picture.relative_to("docs"))
    if site.dead:
        raise DeadLinks("\n".join(site.dead))


def main() -> int:
    """1 when a page links to something that is not there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", type=Path)
    parser.add_argument("--pictures-here", action="store_true")
    options = parser.parse_args()
    try:
        write(options.target, Site(pictures_here=options.pictures_here))
    except DeadLinks as problem:
        print(problem)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
