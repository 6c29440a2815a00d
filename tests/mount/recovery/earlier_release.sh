#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 1500
#
# The release before this one: its library with this daemon, this library with its daemon, and its
# daemon killed and followed by this one, while programs of both record. All events are there, or are
# counted as discarded. The release is built of the repository's history.
#
#   EARLIER   its build directory; else it is built, with SOAK
. "$(dirname "$0")/../../lib/mount.sh"
can_mount
if [ -z "${EARLIER-}" ]; then
	[ -n "${SOAK-}" ] || skip "the earlier release is built with SOAK, or is in EARLIER"
	commit=$(git -C "$top" log --format=%H -S"VERSION = $(sed -n 's/^VERSION = //p' "$top/Makefile")" \
		-- Makefile 2>/dev/null | tail -n 1)
	[ -n "$commit" ] || skip "there is no history of the repository here"
	mkdir "$work/earlier" && git -C "$top" archive "$commit^" | tar x -C "$work/earlier" ||
		skip "the history has no earlier release"
	# (The earlier release takes this library from the system.)
	echo '#include <ini.h>' | ${CC:-cc} -E - >/dev/null 2>&1 || skip "libinih-dev is not installed"
	make -C "$work/earlier" build/trailfs build/libtrail.so.0 build/tests/lib/ticker \
		>"$work/make.log" 2>&1 || fail "the earlier release: $(tail -n 5 "$work/make.log")"
	EARLIER=$work/earlier/build
fi
this=$TRAILFS
version=$("$EARLIER/trailfs" --version)
[ "$version" != "$("$this" --version)" ] || fail "$EARLIER is this release"
writer=
trap 'code=$?; kill $writer 2>/dev/null; (exit $code); clean_up' EXIT

# start PROGRAM: in the foreground, on a mount that may be there
start() {
	"$1" "$MNT" -f -o wait=100000 >>"$work/daemon.log" 2>&1 &
	daemon=$!
	within 20 answers || fail "no mount: $1"
}
answers() { timeout 20 cat "$MNT/version" >/dev/null 2>&1; }
kill_daemon() {
	kill -9 "$daemon" && wait "$daemon" 2>/dev/null
	# An earlier daemon leaves a dead mount.
	mounted && ! timeout 5 cat "$MNT/version" >/dev/null 2>&1 && end_dead_mount "$MNT"
	:
}
session() { # NAME
	mkdir "$S/$1" || fail mkdir
	put 'tick:*' "$S/$1/user/events"
	put start "$S/$1/control"
}
# counts WHAT NAME EXPECTED: events in text and counted losses
counts() {
	is "$1" "$3" $(($(grep -c tick:tock "$S/$2/text") + $(key events_discarded "$S/$2/status")))
}
end() {
	fusermount3 -u "$MNT" || fail unmount
	within 40 gone || fail "the daemon does not end"
}
gone() { ! mounted && daemon_ended && keeper_ended; }

# ---- library against daemon ----
for pair in "$EARLIER $this" "$BUILD $EARLIER/trailfs"; do
	library=${pair% *}
	start "${pair#* }"
	session s
	"$library/tests/lib/ticker" 5000 0 || fail ticker
	"$library/tests/lib/ticker" 5000 0 2 fork || fail ticker
	counts "events of $pair" s 25000
	end
done

# ---- the daemon is replaced by a later one, while a program of each release records ----
for library in "$EARLIER" "$BUILD"; do
	start "$EARLIER/trailfs"
	session s
	"$library/tests/lib/ticker" 0 500 >"$work/ticks" &
	writer=$!
	some() { [ "$(grep -c tick:tock "$S/s/text")" -gt "$1" ]; }
	within 20 some 100 || fail "nothing is recorded"
	kill_daemon
	start "$this"
	is "the session" active "$(key state "$S/s/status")"
	n=$(grep -c tick:tock "$S/s/text")
	within 20 some "$n" || fail "the program of $library does not record any more"
	kill "$writer"
	wait "$writer"
	writer=
	put stop "$S/s/control"
	counts "events of $library over an upgrade" s "$(tr -dc 0-9 <"$work/ticks")"
	end
done
echo "$version against $("$this" --version), $checks checks"
