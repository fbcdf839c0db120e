#!/usr/bin/env bash
# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# GitLab's custom executor, config_exec: say where a job works on its node, and name its lease.
set -euo pipefail

# A job can change its variables, also the predefined ones: the number is only for people to read. The random part keeps a job
# from the nodes of another one, and the jobs of two GitLab servers apart.
number=${CUSTOM_ENV_CI_JOB_ID:?GitLab Runner sets it}
number=${number//[!0-9]/}
lease="gitlab-${number:0:20}-$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')"

cat <<JSON
{
  "driver": {"name": "nodepool", "version": "1"},
  "builds_dir": "/var/tmp/gitlab/builds",
  "cache_dir": "/var/tmp/gitlab/cache",
  "builds_dir_is_shared": false,
  "job_env": {"NODEPOOL_LEASE": "$lease"}
}
JSON
