# SPDX-License-Identifier: GPL-2.0-or-later
#
# From apt to the first event of an own program, by the commands of README.Debian.
set -e
export DEBIAN_FRONTEND=noninteractive
cd /debs
began=$(date +%s)
apt-get install -y -q --no-install-recommends ./trailfs_*.deb ./libtrail0_*.deb ./libtrail-dev_*.deb \
	./trailfs-doc_*.deb
sed -n '/^The first event/,/^fusermount3/s/^    \(apt install .*\)/# \1/;/^The first event/,/^fusermount3/s/^    //p' \
	/usr/share/doc/trailfs/README.Debian | sed '/^apt install/d' >/tmp/begin
cat /tmp/begin
# (The first events may not be lost because the machine is busy.)
su - new -c 'TRAIL_ATTACH_TIMEOUT=60000 sh -e /tmp/begin'
echo "seconds $(($(date +%s) - began))"
su - new -c 'fusermount3 -u ~/trace; rm tick tick.c; rmdir trace'
echo "group $(getent group tracing)"
echo "apps $(stat -c %a:%U /run/trailfs/apps)"
systemd-analyze verify --man=no trailfs.service && echo 'unit verified'
