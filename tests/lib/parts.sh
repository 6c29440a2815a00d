# SPDX-License-Identifier: GPL-2.0-or-later
# After mount.sh: sessions whose rings have many sub-buffers, which a thread for each CPU reads.
TICKER=${TICKER:-$BUILD/tests/lib/ticker}
[ -x "$TICKER" ] || skip "there is no ticker"
TZ=UTC
export TZ
mount_tree -o tz=UTC

# make_session NAME SUBBUF_COUNT [CLOCK]: it records all events
make_session() {
	s=$S/$1
	mkdir "$s" "$s/user/channels/channel0"
	echo 65536 >"$s/user/channels/channel0/subbuf_size"
	echo "$2" >"$s/user/channels/channel0/subbuf_count"
	echo '*' >"$s/user/events"
	[ -z "${3-}" ] || put "$3" "$s/clock"
	put start "$s/control"
}
