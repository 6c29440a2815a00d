# SPDX-License-Identifier: GPL-2.0-or-later
#
# For tests of a kernel that is busy, after mount.sh. mount_busy ENDING: mount_kernel with a daemon
# for which, while the file $BUSY exists, files of tracefs are busy whose path ends so.
[ -z "${SAN-}" ] || [ "$SAN" = 0 ] || skip "a sanitizer must be the first library"
library=$BUILD/tests/mount/kernel/libbusy.so
[ -e "$library" ] || skip "there is no $library"
mount_busy() {
	BUSY=$work/busy BUSY_FILES=$1
	export BUSY BUSY_FILES
	LD_PRELOAD=$library mount_kernel
	by_module && skip "it is about the files of tracefs"
	return 0
}
# attempts N: the daemon has tried as often
attempts() { [ "$(wc -c <"$BUSY")" -ge "$1" ]; }
