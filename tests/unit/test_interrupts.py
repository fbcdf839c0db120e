# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""tests/support/interrupts.py: signals for what tests start in the background or under nohup."""

from __future__ import annotations

import signal

import pytest

from tests.support.interrupts import heed_interrupts, heeded


@pytest.fixture
def usual():
    """What Ctrl-C does in the process of the tests; it does that again after the test."""
    handler = signal.getsignal(signal.SIGINT)
    yield handler
    signal.signal(signal.SIGINT, handler)


def test_what_is_ignored_in_the_background_is_heeded_again(usual):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    heed_interrupts()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_stays(usual):
    heed_interrupts()
    assert signal.getsignal(signal.SIGINT) is usual


def test_the_tests_of_this_project_heed_it(usual):
    assert usual is not signal.SIG_IGN


def test_a_signal_is_heeded_for_a_while_only(usual):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with heeded(signal.SIGINT):
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_what_handles_a_signal_handles_it_still(usual):
    with heeded(signal.SIGINT):
        assert signal.getsignal(signal.SIGINT) is usual
