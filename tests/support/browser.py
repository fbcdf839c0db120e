# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Debian's Chromium, headless, driven by Playwright; and what its pages are judged by."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from tests.support.pace import allowed

PROGRAMS = ("chromium-headless-shell", "chromium")
SHOTS = Path(__file__).resolve().parents[2] / ".build" / "screenshots"
PATIENCE = 30.0
"""Seconds for which a page is waited for, on a machine at rest."""
STANDING_OUT = """
() => [...document.querySelectorAll('body *')].filter((each) => {
  const box = each.getBoundingClientRect();
  const room = each.parentElement.closest('section, .tile, body').getBoundingClientRect();
  const hidden = each.closest('.visually-hidden, .skip, thead') !== null;
  return !hidden && box.width > 0 && box.right > room.right + 1;
}).map((each) => each.outerHTML.slice(0, 120))
"""

OVERLAPS = """
() => [...document.querySelectorAll('details.cloud summary')].filter((line) => {
  line.querySelectorAll('.counts b').forEach((each) => { each.textContent = '1,234'; });
  line.querySelector('.figures').textContent = '1,234 of 2,000';
  const parts = [...line.children, ...line.querySelectorAll('.counts > span')];
  return parts.some((each) => each.scrollWidth > each.clientWidth + 1);
}).map((line) => line.textContent.replace(/\\s+/g, ' '))
"""
"""Lines of clouds in which a part is wider than its place, with numbers of a large site."""


def program() -> str:
    """The browser's path; skips the test when there is none."""
    found = next((path for name in PROGRAMS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"none of {', '.join(PROGRAMS)} is installed: tools/setup browser installs it")
    return found


@contextmanager
def browser() -> Iterator[Browser]:
    """A running browser."""
    path = program()
    with sync_playwright() as playwright:
        # The sandbox wants a user that is not root; only pages of our own are opened.
        started = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-lcd-text"], timeout=patience()
        )
        try:
            yield started
        finally:
            started.close()


def patience() -> float:
    """Milliseconds for which something is waited for on this machine now."""
    return 1000.0 * allowed(PATIENCE)


@dataclass
class Visit:
    """A page, and what the browser said against it."""

    page: Page
    complaints: list[str] = field(default_factory=list)


@contextmanager
def visit(
    chromium: Browser, address: str, *, width: int = 1280, dark: bool = False, script: bool = True
) -> Iterator[Visit]:
    """An opened page. It must not have met with an error when it is left."""
    context = chromium.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if dark else "light",
        java_script_enabled=script,
        locale="en-GB",
    )
    context.set_default_timeout(patience())
    page = context.new_page()
    visited = Visit(page)
    page.on("console", lambda message: visited.complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: visited.complaints.append(str(error)))
    try:
        page.goto(address)
        yield visited
        assert visited.complaints == []
    finally:
        context.close()


def shoot(page: Page, name: str) -> None:
    """Leave a picture of the whole page in the output of the tests."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / f"{name}.png", full_page=True)


def too_wide(page: Page) -> list[str]:
    """The elements that stand out of their part of the page to the right, or that it has to be scrolled sideways."""
    width: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    found: list[str] = page.evaluate(STANDING_OUT)
    return [*found, *([f"{width} px"] if width > 0 else [])]


def barriers(page: Page) -> list[str]:
    """What axe-core finds that keeps people out: rule, sentence and the first element of each."""
    answer: dict[str, Any] = Axe().run(page).response
    return [f"{item['id']}: {item['help']}: {item['nodes'][0]['html'][:160]}" for item in answer["violations"]]
