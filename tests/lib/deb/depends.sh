# SPDX-License-Identifier: GPL-2.0-or-later
#
# In a new root: what the packages of /source are built with.
set -e
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -y -q --no-install-recommends build-essential debhelper \
	$(sed -n '/^Build-Depends/,/^Standards/{s/^Build-Depends://;/^Standards/d;s/ ([^)]*)//g;s/,/ /g;s/debhelper-compat//;p}' \
	/source/tools/debian/control)
