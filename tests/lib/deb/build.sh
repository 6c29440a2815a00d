# SPDX-License-Identifier: GPL-2.0-or-later
#
# With what they are built with: the packages of /source, those of a later version in /later, and
# lintian's opinion.
set -e
export DEBIAN_FRONTEND=noninteractive
apt-get install -y -q --no-install-recommends lintian
make -C /source deb
lintian --allow-root --tag-display-limit 0 /source/build/deb/*.changes >/lintian || :
mkdir -p /later
for deb in /source/build/deb/*.deb; do
	rm -rf /unpacked
	dpkg-deb -R "$deb" /unpacked
	sed -i '/^Version\|^Depends\|^Recommends/s/\<\(0\.[0-9]*\.[0-9]*\)\>/\1+later/' /unpacked/DEBIAN/control
	dpkg-deb --root-owner-group -b /unpacked /later
done
