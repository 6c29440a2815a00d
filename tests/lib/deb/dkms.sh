# SPDX-License-Identifier: GPL-2.0-or-later
#
# The headers of this release's kernel come: dkms builds trail.ko for it.
export DEBIAN_FRONTEND=noninteractive
apt-get install -y -q --no-install-recommends linux-headers-amd64 || exit 1
for k in /lib/modules/*/build; do
	k=${k%/build}
	dkms autoinstall -k "${k##*/}"
	dkms status -k "${k##*/}"
	find "$k" -name 'trail*.ko*' | sed 's/^/module /'
done
