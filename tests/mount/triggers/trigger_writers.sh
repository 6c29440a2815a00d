#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Several processes write to the files of one trigger at the same time: no write is lost, and the
# condition is in force with the owner and the state that were written last.
. "$(dirname "$0")/../../lib/mount.sh"
T=$MNT/triggers
ticker=$BUILD/tests/lib/ticker
mount_tree -o tz=UTC
mkdir "$T/w" && cd "$T/w" || fail mkdir
echo notify >actions
hits() { # N
	[ "$(key hits status)" = "$1" ]
}

# --- a condition and `enabled` at the same time
for i in $(seq 12); do
	echo 0 >enabled
	for k in 1 2 3; do echo "event user tick:tock if n == 0 && thread < $i$k" >condition; done &
	echo 0 >enabled
	echo 1 >enabled
	wait $!
	"$ticker" 1 0
	within 10 hits $i || fail "round $i: the condition is not in force: $(cat status)"
done

# --- a condition and the owner
if [ "$(id -u)" = 0 ]; then
	for i in $(seq 30); do
		chown $((i % 2 * 12345)) . &
		# (chown needs some time to begin.)
		for k in $(seq $((i % 10)) 10); do
			text="event user tick:tock if n == 0 && thread < $((100 * i + k))"
			echo "$text" >condition || fail "condition $i"
		done
		wait $!
		is "condition $i" "$text" "$(cat condition)"
	done
fi

# --- all at once, of which one is last
cat config >"$work/saved"
others=
for i in 1 2 3 4; do
	for k in $(seq 10); do cat "$work/saved" >config; done &
	others="$others $!"
	for k in $(seq 10); do echo "event user tick:tock if n == 0 && thread < 200" \
		>condition; done &
	others="$others $!"
done
wait $others
echo 1 >enabled
before=$(key hits status)
"$ticker" 1 0
within 10 hits $((before + 1)) || fail "it is not in force: $(cat config status)"
is "no mistake" "" "$(grep condition_error status)"
echo "$checks checks"
