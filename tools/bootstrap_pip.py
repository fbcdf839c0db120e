# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gives a virtual environment of ansible-test what it calls as pip: ``tools/sanity_pip.py``.

Stands in for the script that ansible-test would download for this; it is called by the Python of the new environment.
"""

from __future__ import annotations

import shutil
import sysconfig
from pathlib import Path

package = Path(sysconfig.get_path("purelib")) / "pip"
package.mkdir(exist_ok=True)
(package / "__init__.py").touch()
shutil.copyfile(Path.home() / "sanity_pip.py", package / "__main__.py")
