# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m ansible_collections.stackci.nodepool.plugins.plugin_utils.nodepoolctl``: the command ``nodepoolctl``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from .parser import COMPLETE, parse


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == [COMPLETE]:
        from .completion import candidates

        print("\n".join(candidates(words[1:])))
        return 0
    given = parse(words)
    if given.verb == "completion":
        from .completion import script

        print(script(given.shell))
        return 0
    if find_spec("ansible") is None:
        print(f"nodepoolctl: ansible-core is not installed for {sys.executable}", file=sys.stderr)
        return 1
    from .verbs import run

    try:
        code = run(given)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads the output has seen enough; Python would complain when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


if __name__ == "__main__":
    sys.exit(main())
