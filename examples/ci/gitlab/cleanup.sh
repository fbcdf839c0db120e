#!/usr/bin/env bash
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# GitLab's custom executor, cleanup_exec: release the node. GitLab Runner calls it whatever happened before, also when
# prepare.sh failed or the job was canceled.
set -euo pipefail

# Without a name config.sh has failed, and nothing was leased.
[ -z "${NODEPOOL_LEASE:-}" ] || nodepoolctl release -- "$NODEPOOL_LEASE"
