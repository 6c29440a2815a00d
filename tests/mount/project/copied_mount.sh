#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Tests do not depend on other mount namespaces: a process that copies the one of the test's runner
# has no copy of the test's mount, which would keep the file system, and its daemon, after it was
# unmounted here.
. "$(dirname "$0")/../../lib/mount.sh"
[ -n "${RUNNER-}" ] || skip "not started by tests/run"
unshare --mount true 2>/dev/null || skip "no mount namespace can be made here"
mount_tree
nsenter --target "$RUNNER" --mount unshare --mount sleep 10000 &
copy=$!
copied() { [ "$(readlink "/proc/$copy/ns/mnt")" != "$(readlink "/proc/$RUNNER/ns/mnt")" ] &&
	grep -q sleep "/proc/$copy/comm"; }
within 20 copied || fail "no copy of the runner's mount namespace"
grep -q " $MNT " "/proc/$copy/mounts" && fail "another mount namespace has a copy of the mount"
fusermount3 -u "$MNT" || fail "cannot unmount"
within 20 daemon_ended || fail "the daemon does not end"
kill $copy
