#!/usr/bin/python
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prepares a first node in your own cloud."""

from __future__ import annotations

DOCUMENTATION = r"""
module: quickstart
short_description: Prepare a first node in your own cloud
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Reads what a cloud offers, chooses image, user, flavor and network for a first node, writes a small
    C(nodepool.yaml), makes a keypair, and starts a private ZooKeeper. The playbook C(stackci.nodepool.quickstart) uses
    it, and then leases a node.
  - Everything that the module makes is in O(folder), or noted there before it is made. The module never writes or
    removes a file that somebody else has written or changed.
  - The image is the newest of the first distribution that the cloud has, in the order Debian, Ubuntu, Fedora, Rocky
    Linux, AlmaLinux, CentOS, RHEL, openSUSE, Arch Linux, Alpine, CirrOS. The user to log in as is the property
    C(os_admin_user) of the image, or else the usual user of the distribution.
  - The flavor is the smallest one, by memory, cores and disk, on which the image boots and that the quota allows.
  - The network is one whose addresses are reached from outside. When there is none, it is one that a router connects to
    an external network, or any one where the entry of C(clouds.yaml) has C(private=true). It has a subnet, and is the
    project's own or shared. When there are several of the kind that is taken, the module fails and names them.
    A network whose subnets are all of IPv6 comes last, for there are no floating IPs of IPv6. It is taken only where
    this machine has a routed IPv6 address, and its nodes are reached by their own addresses.
  - The keypair is made of the first key of the user in C(~/.ssh) that needs no passphrase or that an agent has, or else
    of a new key in O(folder).
  - When the security group C(default) of the project lets no ssh in, the module uses the only group that does, or makes
    one.
  - A private ZooKeeper is a Java process, when Java and ZooKeeper's files are there (Debian's package C(zookeeper), an
    unpacked release in E(ZOOKEEPER_HOME), C(/opt/zookeeper) or C(/usr/share/zookeeper)), or else a container of podman
    or docker. It listens on a free port of the loopback interface, where each user of the machine reaches it, and keeps
    running. After a reboot, O(state=started) starts it again.
options:
  cloud:
    description:
      - Entry of C(clouds.yaml).
    type: str
    required: true
  state:
    description:
      - V(present) prepares everything and starts the private ZooKeeper.
      - V(started) and V(stopped) start and end the private ZooKeeper. Its data stay.
      - V(absent) gives all nodes of the private ZooKeeper's tree back, deletes their servers, and removes keypair,
        security group, ZooKeeper and the files that nobody has changed. Nodes in a ZooKeeper that O(zookeeper) names
        stay.
    type: str
    choices: [present, started, stopped, absent]
    default: present
  folder:
    description:
      - Folder of C(nodepool.yaml) and everything else.
    type: path
    default: ~/nodepool-quickstart
  region:
    description:
      - Region, for an entry of C(clouds.yaml) with several.
    type: str
    default: ""
  clouds_config:
    description:
      - Path of C(clouds.yaml). When unset, openstacksdk searches for it (E(OS_CLIENT_CONFIG_FILE), the current
        directory, C(~/.config/openstack), C(/etc/openstack)).
    type: path
    aliases: [nodepool_clouds_config]
  image:
    description:
      - Name or id of the image. When empty, the module chooses.
    type: str
    default: ""
  user:
    description:
      - User to log in as. When empty, the usual user of the image.
    type: str
    default: ""
  flavor:
    description:
      - Name or id of the flavor. When empty, the module chooses.
    type: str
    default: ""
  network:
    description:
      - Name or id of the network. When empty, the module chooses.
    type: str
    default: ""
  group:
    description:
      - Name or id of the security group. When empty, the module chooses.
    type: str
    default: ""
  public_key:
    description:
      - Public key for the login; the private half is beside it. When unset, the module chooses or makes one.
    type: path
  ssh_port:
    description:
      - Port of ssh on the nodes.
    type: int
    default: 22
  zookeeper:
    description:
      - A ZooKeeper to use instead of a private one, as C(HOST:PORT), or C(HOST:PORT,HOST:PORT/CHROOT).
    type: str
    default: ""
  zookeeper_home:
    description:
      - Folder of an unpacked ZooKeeper for the private one.
    type: path
  zookeeper_way:
    description:
      - How to run the private ZooKeeper. When unset, the first that this machine has. One that was started before is
        started again in its own way.
    type: str
    choices: [java, podman, docker]
  api_timeout:
    description:
      - Seconds without data from the API of the cloud after which the module gives up a call.
    type: float
    default: 30
extends_documentation_fragment:
  - stackci.nodepool.attributes
  - stackci.nodepool.attributes.change
  - stackci.nodepool.control.progress
requirements:
  - python >= 3.11
  - openstacksdk >= 4.0.0
  - kazoo >= 2.9.0
  - asyncssh >= 2.14
  - jsonschema >= 4.10
seealso:
  - module: stackci.nodepool.nodepool_request
    description: Leases nodes.
  - module: stackci.nodepool.nodepool_config_check
    description: Checks the configuration against the cloud.
"""

EXAMPLES = r"""
- name: Prepare a first node
  stackci.nodepool.quickstart:
    cloud: mycloud
  register: first

- name: Lease it
  stackci.nodepool.nodepool_request:
    name: first
    labels: ["{{ first.label }}"]
    config: "{{ first.config }}"
    launch: true

- name: Remove everything
  stackci.nodepool.quickstart:
    cloud: mycloud
    state: absent
"""

RETURN = r"""
folder:
  description: The folder with everything.
  returned: success
  type: str
config:
  description: Path of C(nodepool.yaml).
  returned: with O(state=present)
  type: str
text:
  description: Text of C(nodepool.yaml).
  returned: with O(state=present)
  type: str
yours:
  description: Whether somebody has written or changed C(nodepool.yaml), so that it is used as it is.
  returned: with O(state=present)
  type: bool
label:
  description: A label of the cloud, to lease a node with.
  returned: with O(state=present)
  type: str
provider:
  description: The provider of the label.
  returned: with O(state=present)
  type: str
user:
  description: The user to log in as. Empty when C(nodepool.yaml) names none.
  returned: with O(state=present)
  type: str
private_key:
  description: Path of the private key for the login. Empty when it is not known yet.
  returned: with O(state=present)
  type: str
zookeeper:
  description: Servers of ZooKeeper.
  returned: with O(state=present), O(state=started) or O(state=stopped)
  type: str
  sample: 127.0.0.1:41234
command:
  description:
    - How a shell calls the command C(nodepoolctl) in O(folder), which knows this configuration and the private key.
    - Empty in check mode, and when the module does not run on the machine of Ansible.
  returned: with O(state=present)
  type: str
  sample: ~/nodepool-quickstart/nodepoolctl
clouds_config:
  description: Path of C(clouds.yaml) where it would not be found from every folder. Otherwise empty.
  returned: with O(state=present)
  type: str
choices:
  description: What was chosen and why. Empty when C(nodepool.yaml) was there already.
  returned: with O(state=present)
  type: list
  elements: str
removed:
  description: What was removed.
  returned: with O(state=absent)
  type: list
  elements: str
kept:
  description: Files that stay because somebody has changed them.
  returned: with O(state=absent)
  type: list
  elements: str
"""

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.module import run_module
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.quickstart import (
    QUICKSTART_ARGUMENTS,
    quickstart,
)


def main() -> None:
    """Entry point."""
    run_module(quickstart, QUICKSTART_ARGUMENTS)


if __name__ == "__main__":
    main()
