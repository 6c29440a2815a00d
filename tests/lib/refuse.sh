# SPDX-License-Identifier: GPL-2.0-or-later
# Daemons whose kernel refuses BPF programs (tests/mount/kernel/librefuse.c).

[ -z "${SAN-}" ] || [ "$SAN" = 0 ] || skip "a sanitizer must be the first library"
library=$BUILD/tests/mount/kernel/librefuse.so
[ -e "$library" ] || skip "there is no $library"

# mount_refusing WHICH: the daemon's kernel refuses these programs, some of them while the file
# $REFUSE_WHILE is there
mount_refusing() {
	REFUSE=$1 REFUSE_WHILE=$work/refuse
	export REFUSE REFUSE_WHILE
	LD_PRELOAD=$library mount_kernel
	programs_record ||
		skip "BPF programs record nothing here: $(grep '^kernel' "$MNT/version")"
}
