# SPDX-License-Identifier: GPL-2.0-or-later
#
# This release's kernel comes, and its headers: dkms builds trail.ko and its probes for it. The
# image of the kernel has the private types that probes need. No initramfs is made: nothing boots.
export DEBIAN_FRONTEND=noninteractive INITRD=No
apt-get install -y -q --no-install-recommends linux-image-amd64 || exit 1
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
