# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finding the module's result in what ansible-playbook says."""

from __future__ import annotations

import json

import pytest

from tests.bench.launcher import BenchError, result_of

OTHER = 'ok: [localhost] => {"msg": "2 requests fulfilled"}'


@pytest.mark.parametrize("outcome", ["ok", "changed"])
def test_the_result_is_found_among_other_lines(outcome):
    result = {"ended": "deadline", "nodes": {"timings": {"0000000001": {"ready": 2.5}}}}
    shown = f"PLAY [x] ***\n[node_launch] working\n{outcome}: [localhost] => {json.dumps(result)}\n{OTHER}\n"
    assert result_of(shown) == result


def test_without_a_result_the_end_of_the_output_is_told():
    with pytest.raises(BenchError, match="Module failed: no clouds"):
        result_of(f"PLAY [x]\n{OTHER}\nfatal: [localhost]: FAILED! => Module failed: no clouds\n")
