#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Serves the state of a tree over HTTP."""

from __future__ import annotations

DOCUMENTATION = r"""
module: nodepool_webapp
short_description: Serve the state of nodes, requests and images over HTTP
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Runs the web service in the foreground, until it is stopped or O(duration) is over. It has the endpoints of
    Nodepool's own web service (C(/node-list), C(/request-list), C(/image-list), C(/dib-image-list), C(/image-status),
    C(/label-list)), C(/health), C(/ready), C(/metrics) for Prometheus and web pages.
  - The service reads ZooKeeper once and then follows a watch, so HTTP requests cause no reads of ZooKeeper. It writes
    nothing, and accepts only the methods GET and HEAD.
  - While ZooKeeper does not answer, the service shows the last known state and its age. It applies a new
    C(nodepool.yaml) without a restart, except for the sections about ZooKeeper and the web service itself.
  - C(SIGTERM) and C(SIGINT) end it in good order. The role P(stackci.nodepool.webapp#role) runs it as a service of
    systemd.
options:
  listen_address:
    description:
      - Address to listen on, instead of C(listen_address) of the section C(webapp) in C(nodepool.yaml).
      - When neither is set, C(127.0.0.1). The service has no authentication. Use another address only behind a proxy or
        in a network whose users may read everything.
    type: str
  port:
    description:
      - Port to listen on, instead of C(port) of the section C(webapp). 0 takes a free one.
      - When neither is set, 8005.
    type: int
  cross_origin:
    description:
      - Whether pages of other sites may read the answers in a browser, as with Nodepool's own web service. The service
        then sends C(Access-Control-Allow-Origin) with the endpoints that Nodepool has.
    type: bool
    default: false
  allowed_hosts:
    description:
      - Names and addresses by which the service may be called, without ports. It answers other ones with 421. This
        keeps off pages of foreign sites whose names were made to lead to this address.
      - An empty list permits all. Include the name that a proxy or Prometheus uses.
    type: list
    elements: str
    default: []
  path_prefix:
    description:
      - A path, such as V(/nodepool), below which a reverse proxy has the service and which it leaves in the paths of
        its requests. The service then answers below this path, too.
      - All links of the pages are relative. A proxy that takes the path away needs no option.
    type: str
    default: ""
  duration:
    description:
      - Seconds after which the service ends. When unset, it runs until it is stopped.
    type: float
  control_file:
    description:
      - A file that the module reads several times a second. When its first line is C(stop), the service ends. The file
        need not exist.
    type: path
  heartbeat_file:
    description:
      - A file that the module writes, and then touches at least every 10 seconds as long as the service answers.
    type: path
extends_documentation_fragment:
  - stackci.nodepool.tree
  - stackci.nodepool.control.progress
  - stackci.nodepool.attributes
attributes:
  check_mode:
    support: full
    details: Only checks that the configuration can be used and that the libraries are installed.
  diff_mode:
    support: none
  idempotent:
    support: full
requirements:
  - kazoo >= 2.9.0
  - prometheus_client >= 0.20
  - waitress >= 3.0
  - Werkzeug >= 3.0
notes:
  - The web pages need templates, which Ansible does not pack with a module. They work when the module runs on the
    controller with connection C(local), as a user who may read the installed collection. Otherwise the pages answer 503
    with the reason, and the service writes a line about it at the start. The other endpoints always work.
seealso:
  - module: stackci.nodepool.nodepool_status
  - module: stackci.nodepool.node_info
"""

EXAMPLES = r"""
- name: Serve on the address of nodepool.yaml until Ctrl-C
  stackci.nodepool.nodepool_webapp:
    config: /etc/nodepool/nodepool.yaml

- name: Serve on a free port for ten minutes
  stackci.nodepool.nodepool_webapp:
    port: 0
    duration: 600
"""

RETURN = r"""
address:
  description: The URL at which the service listened. Null in check mode.
  returned: success
  type: str
  sample: http://127.0.0.1:8005/
seconds:
  description: Duration in seconds.
  returned: success
  type: float
  sample: 600.0
ended:
  description: Why the service ended, V(stopped), V(controller gone), V(duration) or V(check mode).
  returned: success
  type: str
  sample: stopped
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.webapp import (
    WEBAPP_ARGUMENTS,
    webapp,
)


def main() -> None:
    """Entry point."""
    run_module(webapp, WEBAPP_ARGUMENTS)


if __name__ == "__main__":
    main()
