# SPDX-License-Identifier: GPL-2.0-or-later
#
# Beside LTTng 2.16 and babeltrace2 2.1.2, a part of run: in a root with Debian sid (tests/lib/sid.sh;
# with SID=1 or SOAK=1), where trailfs is built, too. SID_PARTS: of run, which are measured there.

skip() {
	echo "  left out: $*"
	exit 0
}

sid() {
	heading "in a root with Debian sid"
	note "sid: its root, and trailfs in it"
	top=$PWD
	. tests/lib/sid.sh
	need_sid
	sid_install bench bash make pkg-config libfuse3-dev fuse3 liburcu-dev uuid-dev zlib1g-dev \
		liblzma-dev libsqlite3-dev
	cat >"$work/sid.bench" <<-'END'
		cd /media
		make -s B=/srv/sid -j2 all bench-programs >/mnt/sid.build 2>&1 || exit 1
		BUILD=/srv/sid SID= SOAK= tests/bench/run "$@"
	END
	# shellcheck disable=SC2086
	sid sid.bench ${SID_PARTS:-event_costs start_up idle control record text} ||
		die "in the root with Debian sid: $(tail -n 3 "$work/sid.build")"
}
