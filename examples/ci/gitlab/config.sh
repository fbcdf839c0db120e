#!/usr/bin/env bash
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# GitLab's custom executor, config_exec: say where a job works on its node, and name its lease.
set -euo pipefail

lease="gitlab-${CUSTOM_ENV_CI_JOB_ID:?GitLab Runner sets it}"

cat <<JSON
{
  "driver": {"name": "nodepool", "version": "1"},
  "builds_dir": "/var/tmp/gitlab/builds",
  "cache_dir": "/var/tmp/gitlab/cache",
  "builds_dir_is_shared": false,
  "job_env": {"NODEPOOL_LEASE": "$lease"}
}
JSON
