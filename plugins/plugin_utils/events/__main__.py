# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m ansible_collections.stackci.nodepool.plugins.plugin_utils.events``: the events as lines of JSON.

Exit codes: 0 when a signal ended it; 74 when nobody takes its output any more; 78 when the configuration cannot be used
or a library is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import NodepoolError
from ansible_collections.stackci.nodepool.plugins.plugin_utils.events.source import LISTS, NUMBERS, TEXTS, run

CONFIG = 78
OUTPUT = 74


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the events until a signal ends it."""
    parser = argparse.ArgumentParser(
        prog="nodepool-events",
        description="Writes events of a tree as lines of JSON.",
        epilog="@FILE stands for the lines of FILE, each an argument that others may not see, as --webhook-token=…",
        fromfile_prefix_chars="@",
    )
    for name in TEXTS:
        parser.add_argument(f"--{name.replace('_', '-')}", default=argparse.SUPPRESS)
    for name in LISTS:
        parser.add_argument(f"--{name}", nargs="+", default=argparse.SUPPRESS)
    for name in NUMBERS:
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, default=argparse.SUPPRESS)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_words: stop.set())
    try:
        run(vars(parser.parse_args(arguments)), show, stop, lambda line: print(line, file=sys.stderr, flush=True))
    except NodepoolError as problem:
        print(f"nodepool-events: {problem}", file=sys.stderr)
        return CONFIG
    except OSError as problem:
        print(f"nodepool-events: standard output cannot be written: {problem.strerror}", file=sys.stderr)
        # At its end Python would try once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OUTPUT
    return 0


def show(event: dict[str, Any]) -> None:
    """Write an event."""
    print(json.dumps(event, ensure_ascii=False, sort_keys=True), flush=True)


if __name__ == "__main__":
    sys.exit(main())
