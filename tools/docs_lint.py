# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""antsibull-docs with temporary folders whose names never end with an underscore.

It writes the folder's name into reStructuredText, where a word with an underscore at its end is a reference: one run in
forty failed with "Unknown target name".
"""

from __future__ import annotations

import string
import sys
import tempfile

from antsibull_docs.cli.antsibull_docs import main

if __name__ == "__main__":
    tempfile._RandomNameSequence.characters = string.ascii_lowercase + string.digits  # type: ignore[attr-defined]
    sys.exit(main())
