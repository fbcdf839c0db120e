# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Renews the pictures of the page in the documentation: ``python -m tools.page_captures``.

It needs ``PYTHONPATH=playbooks/collections``. A web service over the tree of tests/support/busy_tree.py, with five
hours of history, is opened in Chromium.
"""

from __future__ import annotations

from contextlib import ExitStack

from tests.integration.web.test_browser import record, site_of, what_changed
from tests.support.ansible_run import ROOT
from tests.support.browser import browser, visit
from tests.support.zookeeper_server import ZooKeeperServer

SHOTS = (("page-light.png", 1280, 1400, False), ("page-dark-phone.png", 400, 820, True))
"""File in docs, width and height in pixels, dark."""


def main() -> None:
    """Take the pictures."""
    with ExitStack() as stack:
        site = site_of(stack.enter_context(ZooKeeperServer()), stack)
        record(site)
        what_changed(site)
        started = stack.enter_context(browser())
        for name, width, height, dark in SHOTS:
            with visit(started, site.address, width=width, dark=dark) as visited:
                clip = {"x": 0, "y": 0, "width": width, "height": height}
                visited.page.screenshot(path=ROOT / "docs" / name, clip=clip, full_page=True)


if __name__ == "__main__":
    main()
