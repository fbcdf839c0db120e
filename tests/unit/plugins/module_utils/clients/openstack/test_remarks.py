# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.remarks import Remarks


def test_a_remark_stays_until_it_is_no_longer_true():
    remarks = Remarks()
    remarks.put("clock", "an hour behind")
    remarks.put("GET /servers/detail", "1 of 500")
    remarks.put("clock", "two hours behind")
    assert remarks.by_subject() == {"clock": "two hours behind", "GET /servers/detail": "1 of 500"}
    remarks.put("clock", "")
    remarks.put("never put", "")
    assert remarks.by_subject() == {"GET /servers/detail": "1 of 500"}
