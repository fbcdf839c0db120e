# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The C library counts its arenas; in a process of its own, because the choice is one for a whole process."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.malloc_arenas import ARENAS

PROGRAM = """
import ctypes, sys, threading
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.malloc_arenas import share_arenas

if sys.argv[1] == "shared":
    share_arenas()
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.fopen.restype = ctypes.c_void_p
together = threading.Barrier(8)

def work():
    together.wait(30)
    libc.malloc(1000)
    together.wait(30)

threads = [threading.Thread(target=work) for _unused in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(30)
out = ctypes.c_void_p(libc.fopen(b"/dev/stdout", b"w"))
libc.malloc_info(0, out)
libc.fflush(out)
"""


def arenas(how: str) -> int:
    # pytest has found the collection by a path of its own.
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environ.pop("MALLOC_ARENA_MAX", None)
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM, how], env=environ, capture_output=True, text=True, timeout=60, check=True
    )
    return len(re.findall(r"<heap nr=", told.stdout))


@pytest.mark.skipif(os.confstr("CS_GNU_LIBC_VERSION") is None, reason="another C library than glibc")
def test_threads_share_two_arenas() -> None:
    assert arenas("own") > ARENAS
    assert arenas("shared") == ARENAS
