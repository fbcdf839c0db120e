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

INTERRUPTED = 128 + 2
BROKEN_PIPE = 128 + 13
"""As a shell says it of a program that SIGPIPE has ended."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _open_closed()
    try:
        try:
            return _run(words)
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:  # while the verb is still being loaded; later the verb itself takes the signal
        return INTERRUPTED
    except BrokenPipeError:  # whoever reads the output has seen enough; Python would complain when it ends
        _forget_output()
        return BROKEN_PIPE
    except OSError as problem:  # the disk is full
        _forget_output()
        print(f"nodepoolctl: {problem}", file=sys.stderr)
        return 1


def _run(words: list[str]) -> int:
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

    return run(given)


def _open_closed() -> None:
    """Open what the caller has closed (``>&-``): otherwise a connection to ZooKeeper would get its number."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115


def _forget_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
