#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# lttng.sh DIR SCRIPT [SESSION]: runs the script while an LTTng of its own records it: DIR/text,
# DIR/metadata. What it records is in the file SESSION, as `lttng save` writes it; or everything.
# Status 77 if that cannot be, the last line says why. For root in a mount namespace of its own
# (unshare -m), as a session daemon of root has one place.
dir=$1
LTTNG_HOME=$dir/lttng
export LTTNG_HOME LTTNG_UST_WITHOUT_BADDR_STATEDUMP=1 LTTNG_UST_WITHOUT_PROCNAME_STATEDUMP=1 \
	LTTNG_UST_REGISTER_TIMEOUT=20000
unset LTTNG_UST_DEBUG
mkdir -p "$LTTNG_HOME" || exit 2

no() {
	echo "$*"
	exit 77
}

if [ "$(id -u)" = 0 ]; then
	mkdir -p /run/lttng && mount -t tmpfs lttng /run/lttng && mount -t tmpfs shm /dev/shm ||
		no "cannot mount a tmpfs"
fi

control() {
	timeout 200 lttng -n -q "$@" >/dev/null 2>>"$dir/lttng.log"
}

lttng-sessiond --no-kernel --quiet >"$dir/sessiond.log" 2>&1 &
sessiond=$!
trap 'kill $sessiond 2>/dev/null; wait $sessiond' EXIT
tries=100
until control list; do
	tries=$((tries - 1))
	[ $tries -gt 0 ] && kill -0 $sessiond 2>/dev/null ||
		no "lttng-sessiond does not start: $(tail -n 1 "$dir/sessiond.log")"
	sleep 0.1
done
create() {
	[ -z "${1-}" ] || { control load --input-path="$1"; return; }
	control create compat --output="$dir/trace" &&
		control enable-channel -u --subbuf-size=1M --num-subbuf=8 ch &&
		control enable-event -u -c ch -a
}
create "${3-}" && control start compat || no "no session: $(tail -n 1 "$dir/lttng.log")"
sh "$2" || exit 2
control stop compat && control destroy compat || no "no session: $(tail -n 1 "$dir/lttng.log")"
metadata=$(find "$dir/trace" -name metadata | head -n 1)
[ -n "$metadata" ] || no "LTTng recorded nothing"
TZ=UTC babeltrace2 "$dir/trace" >"$dir/text" 2>"$dir/bt2.err" ||
	no "babeltrace2: $(tail -n 1 "$dir/bt2.err")"
babeltrace2 -o ctf-metadata "${metadata%/*}" >"$dir/metadata" 2>/dev/null
