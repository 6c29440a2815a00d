# SPDX-License-Identifier: GPL-2.0-or-later
#
# In a new root: what a machine has before trailfs comes, and a user.
set -e
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -y -q --no-install-recommends systemd systemd-sysv libpam-systemd dbus procps gcc libc6-dev
useradd -m -s /bin/sh new
