# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which values of a configuration are secret."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.known_secrets import known_secrets
from tests.support.config_texts import ZOOKEEPER

CONFIG = """
labels: [{name: small}]
diskimages: [{name: debian, elements: [vm], env-vars: {MIRROR_TOKEN: mirror-1234, DIB_RELEASE: bookworm}}]
providers:
  - name: east
    cloud: east
    diskimages: [{name: debian}]
    pools:
      - name: main
        labels:
          - name: small
            diskimage: debian
            flavor-name: small
            instance-properties: {join-secret: join-1234, role: builder}
            userdata: |
              #cloud-config
              password: user-data-1234
              package_update: true
"""


def test_the_configuration_knows_secrets_by_their_names() -> None:
    secure = "zookeeper-auth: {username: us, password: zk-1234}\n"
    config = parse_config(ZOOKEEPER + CONFIG, secure_text=secure)
    found = known_secrets(config, config.providers["east"])
    assert set(found) - {""} == {"zk-1234", "mirror-1234", "join-1234", "user-data-1234"}
    assert set(known_secrets(config, None)) - {""} == {"zk-1234", "mirror-1234"}
