# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gives a virtual environment the pip that ``tools/sanity.py`` has unpacked: a copy, with its byte code.

Stands in for the script that ansible-test would download for this; it is called with pip's own arguments, among them
``pip==VERSION``, by the Python of the new environment.
"""

from __future__ import annotations

import shutil
import sys
import sysconfig
from pathlib import Path

(wanted,) = [argument for argument in sys.argv[1:] if argument.startswith("pip==")]
shutil.copytree(Path.home() / wanted, sysconfig.get_path("purelib"), dirs_exist_ok=True)
