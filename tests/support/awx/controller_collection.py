# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``ansible.controller`` out of ``awx.awx``: the replacements that AWX's own build makes (tools/roles/template_galaxy).

Red Hat's collection is behind a subscription; it comes from the same source as awx.awx.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tools import neighbours

OWN, THEIRS = "awx.awx", "ansible.controller"


RENAMED = (("controller_oauthtoken", "aap_token"), ("'oauth_token': 'aap_token'", "'aap_token': 'aap_token'"))
"""What later releases have of what makes and takes tokens: another name for the option, without the former one."""


def make(folder: Path, *, later: bool = False) -> Path:
    """Write the collection below *folder*, which becomes one for ``ANSIBLE_COLLECTIONS_PATH``.

    :param later: as since ansible.controller 4.6.18: tokens by another option, and no module that makes one.
    """
    target = folder / "ansible_collections" / "ansible" / "controller"
    shutil.copytree(neighbours.main() / "ansible_collections" / "awx" / "awx", target)
    replace(
        target / "plugins" / "module_utils" / "controller_api.py",
        '^    _COLLECTION_TYPE = "awx"',
        '    _COLLECTION_TYPE = "controller"',
    )
    replace(target / "meta" / "runtime.yml", re.escape(OWN + "."), THEIRS + ".")
    extends = "extends_documentation_fragment: "
    for kind in ("inventory", "lookup", "modules"):
        for path in (target / "plugins" / kind).glob("*.py"):
            replace(path, rf"^{extends}{re.escape(OWN)}\.auth(\w*)$", rf"{extends}{THEIRS}.auth\1")
    (target / "MANIFEST.json").unlink(missing_ok=True)
    if later:
        _rename(target)
    return folder


def _rename(target: Path) -> None:
    api = target / "plugins" / "module_utils" / "controller_api.py"
    for old, new in RENAMED:
        replace(api, re.escape(old), new)
    fragments = target / "plugins" / "doc_fragments"
    replace(fragments / "auth.py", "^  controller_oauthtoken:", "  aap_token:")
    replace(fragments / "auth_plugin.py", "^  oauth_token:", "  aap_token:")
    for path in (api, fragments / "auth.py"):
        replace(path, r"tower_oauthtoken", "tower_token")
    (target / "plugins" / "modules" / "token.py").unlink()
    replace(target / "meta" / "runtime.yml", "^    - token\n", "")


def replace(path: Path, pattern: str, text: str) -> None:
    """Replace what a pattern finds in a file."""
    path.write_text(re.sub(pattern, text, path.read_text("utf-8"), flags=re.MULTILINE), "utf-8")
