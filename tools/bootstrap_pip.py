# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gives a virtual environment its pip, from what Python itself brings along.

Stands in for the script that ansible-test would download for this; it is called with pip's own arguments (options and
the wanted version) by the Python of the new environment.
"""

from __future__ import annotations

import subprocess
import sys

# Two switches that only the downloaded script knows.
NOT_FOR_PIP = {"--no-setuptools", "--no-wheel"}

wanted = [argument for argument in sys.argv[1:] if argument not in NOT_FOR_PIP]
subprocess.run([sys.executable, "-m", "ensurepip", "--upgrade"], check=True, timeout=300)
subprocess.run([sys.executable, "-m", "pip", "install", "--upgrade", *wanted], check=True, timeout=300)
