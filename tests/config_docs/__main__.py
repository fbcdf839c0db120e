# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the files, each as :mod:`tests.config_docs.rendering` renders it."""

from __future__ import annotations

from conftest import ROOT
from tests.config_docs.rendering import rendered_files

if __name__ == "__main__":
    for path, text in rendered_files().items():
        path.write_text(text, encoding="utf-8")
        print(f"{path.relative_to(ROOT)} written")
