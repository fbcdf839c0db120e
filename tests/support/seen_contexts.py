# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that the classifier may know besides an answer: made from its fields, so a new one is drawn as well."""

from __future__ import annotations

from dataclasses import fields

from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.classifier import Seen

FLAGS = tuple(field.name for field in fields(Seen) if field.default is False)
CONTEXTS = st.builds(
    Seen,
    from_request=st.sampled_from([(), ("tenant",), ("team", "uuid", "networks", "availability_zone")]),
    **{name: st.booleans() for name in FLAGS},
)
