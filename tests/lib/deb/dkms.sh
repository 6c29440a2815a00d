# SPDX-License-Identifier: GPL-2.0-or-later
#
# The headers of this release's kernel come: dkms builds trail.ko and its probes for it.
export DEBIAN_FRONTEND=noninteractive
apt-get install -y -q --no-install-recommends /later/trail-dkms_*.deb linux-headers-amd64 || {
	tail -n 60 /var/lib/dkms/trailfs/*/build/make.log
	exit 1
}
for k in /lib/modules/*/build; do
	k=${k%/build}
	dkms autoinstall -k "${k##*/}"
	dkms status -k "${k##*/}"
	find "$k" -name 'trail*.ko*' | sed 's/^/module /'
	find /var/lib/dkms/trailfs -path "*${k##*/}*" -name make.log -exec \
		sed -n 's/^\(.* events have compiled probes .*\)/covers \1/p' {} +
done
