# SPDX-License-Identifier: GPL-2.0-or-later
#
# The packages are removed and purged while the service records, its text is read and a program runs:
# nothing is left but what a session wrote to a directory.
# (A kernel of Debian has intel_oaktrail.ko.)
export DEBIAN_FRONTEND=noninteractive
is() { [ "$2" = "$3" ] && echo "ok $1" || echo "differs: $1: expected '$2', got '$3'"; }
s=/trace/sessions/disk
mkdir -p /srv/recordings $s
echo /srv/recordings/disk >$s/output
echo 'oracle:*' >$s/user/events
echo start >$s/control
/root/oracle >/root/count &
app=$!
tail -n +1 -f $s/text >/dev/null 2>&1 &
sleep 1
apt-get remove -y -q trailfs || exit 1
is "mounts" "" "$(grep fuse.trailfs /proc/self/mounts)"
n=0
while [ -n "$(pgrep -l trail)" ]; do
	n=$((n + 1)); [ $n -lt 100 ] || break; sleep 0.1
done
is "processes" "" "$(pgrep -a trail)"
is "the service" inactive "$(systemctl is-active trailfs.service)"
apt-get purge -y -q trailfs trailfs-doc libtrail0 libtrail-dev trailfs-lttng-compat python3-trail trail-dkms || exit 1
kill $app
wait $app
is "what was recorded" 1 "$(ls -d /srv/recordings/disk/ust/*/*/*/metadata /srv/recordings/disk/metadata 2>/dev/null | wc -l)"
find / -xdev ! -path '/proc/*' ! -path '/tmp/*' ! -path '/debs*' ! -path '/later*' ! -path '/test*' \
	! -path '*/lib/modules/*/kernel/*' -name '*trail*' | sed 's/^/left /'
find /run /trace /var/lib/dkms -xdev -path '*trail*' 2>/dev/null | sed 's/^/left /'
[ ! -e /trace ] || echo 'left /trace'
