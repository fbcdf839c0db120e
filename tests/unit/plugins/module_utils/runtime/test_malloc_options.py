# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The C library tells of its memory; in a process of its own, because the options are those of a whole process."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.malloc_options import ARENAS

THREADS = """
import ctypes, sys, threading
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.malloc_options import set_malloc_options

if sys.argv[1] == "set":
    set_malloc_options()
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


LARGE_BLOCKS = """
import ctypes, sys
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.malloc_options import set_malloc_options

if sys.argv[1] == "set":
    set_malloc_options()
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.fopen.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
libc.free(libc.malloc(8 << 20))
libc.malloc(4 << 20)
out = ctypes.c_void_p(libc.fopen(b"/dev/stdout", b"w"))
libc.malloc_info(0, out)
libc.fflush(out)
"""
GLIBC = pytest.mark.skipif(os.confstr("CS_GNU_LIBC_VERSION") is None, reason="another C library than glibc")


def run(program: str, how: str) -> str:
    """What malloc_info(3) tells at the end of *program*."""
    # pytest has found the collection by a path of its own.
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for name in ("MALLOC_ARENA_MAX", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"):
        environ.pop(name, None)
    return subprocess.run(
        [sys.executable, "-c", program, how], env=environ, capture_output=True, text=True, timeout=60, check=True
    ).stdout


def arenas(how: str) -> int:
    return len(re.findall(r"<heap nr=", run(THREADS, how)))


def mapped(how: str) -> int:
    """Bytes of blocks that go back to the system when they are freed."""
    found = re.findall(r'<total type="mmap" count="\d+" size="(\d+)"', run(LARGE_BLOCKS, how))
    assert len(found) == 1
    return int(found[0])


@GLIBC
def test_threads_share_two_arenas() -> None:
    assert arenas("own") > ARENAS
    assert arenas("set") == ARENAS


@GLIBC
def test_a_large_block_after_a_larger_one_goes_back_to_the_system() -> None:
    assert mapped("own") < 4 << 20
    assert mapped("set") >= 4 << 20
