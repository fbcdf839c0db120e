# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodepool's own builder, which looks at what to clean up every few seconds instead of once a minute.

Run by Nodepool's Python: ``python quick_cleaner.py SECONDS TEXT -c FILE …``. It logs TEXT before each look.
"""

from __future__ import annotations

import sys
from typing import Any

import nodepool.builder  # type: ignore[import-not-found]
import nodepool.cmd.builder  # type: ignore[import-not-found]


def hurry(seconds: float, text: str) -> None:
    """Have the janitor look every so many seconds, and log *text* then."""
    janitor = nodepool.builder.CleanupWorker
    begin, clean = janitor.__init__, janitor._cleanup

    def begin_quick(self: Any, *arguments: Any) -> None:
        begin(self, *arguments)
        self._interval = seconds

    def clean_and_tell(self: Any) -> None:
        self.log.debug(text)
        clean(self)

    janitor.__init__, janitor._cleanup = begin_quick, clean_and_tell


if __name__ == "__main__":
    hurry(float(sys.argv.pop(1)), sys.argv.pop(1))
    sys.exit(nodepool.cmd.builder.main())
