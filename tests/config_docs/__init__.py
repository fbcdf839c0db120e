# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is written from the declarations of the options: ``docs/nodepool.schema.json`` and tables of the manual.

``.venv/bin/python -m tests.config_docs`` writes them; a test compares them with the declarations.
"""

from __future__ import annotations

import conftest  # noqa: F401 - makes the collection importable from a plain checkout
