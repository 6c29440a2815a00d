# SPDX-License-Identifier: GPL-2.0-or-later
#
# A state directory on overlayfs, as in a container without a file system of its own for /run:
# sourced after mount.sh, which it replaces TRAIL_RUNTIME_DIR of.
#
#   there N           N programs have entries in apps/
#   processes N       the session s has recorded pair:beat of N processes
#   record_pairs      makes and starts that session
[ "$(id -u)" = 0 ] || skip "this needs root"
mkdir "$work/t" "$work/o" && mount -t tmpfs none "$work/t" 2>/dev/null ||
	skip "no tmpfs can be mounted here"
trap 'code=$?; umount -l "$work/o" "$work/t" 2>/dev/null; (exit $code); clean_up' EXIT
mkdir "$work/t/upper" "$work/t/lower" "$work/t/work"
mount -t overlay none -o "lowerdir=$work/t/lower,upperdir=$work/t/upper,workdir=$work/t/work" \
	"$work/o" 2>/dev/null || skip "no overlayfs can be mounted here"
TRAIL_RUNTIME_DIR=$work/o/run
export TRAIL_RUNTIME_DIR

there() { [ "$(ls "$MNT/apps" | wc -l)" = "$1" ]; }
processes() {
	[ "$(grep -o ' vpid = [0-9]*' "$S/s/text" | sort -u | wc -l)" = "$1" ]
}
record_pairs() {
	mkdir "$S/s" && echo 'pair:*' >"$S/s/user/events" && echo vpid >"$S/s/user/contexts" &&
		echo start >"$S/s/control" || fail "session"
}
