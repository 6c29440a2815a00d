#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Files of an output that another program removes or cuts while they are being written: `error` says
# so, `status` counts them, and what is recorded afterwards is in new files, readable, with a gap in
# the numbers of its packets. A stop and an rmdir whose data cannot be written fail, and the data
# stays.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
ticker=$BUILD/tests/lib/ticker
out=$work/out
lost() { awk '$1 == "output_files_lost" { n = $2 } END { print n + 0 }' "$s/status"; }
files() { find "$out" -name 'channel0_*' ! -name '*.idx' -size +0; }
session() { # NAME DIRECTORY
	s=$S/$1
	mkdir "$s" || fail mkdir
	put "$2" "$s/output"
	put 'tick:*' "$s/user/events"
	put start "$s/control"
}
record() { # COUNT: … which are in the files then
	"$ticker" "$1" 0 || fail ticker
	all_written "$s"
}
events() { TZ=UTC timeout 200 babeltrace2 "$1" 2>"$work/err" | wc -l | tr -d ' '; }
accepts() { # WHAT DIRECTORY
	TZ=UTC timeout 200 babeltrace2 "$2" >"$work/all" 2>"$work/err" ||
		fail "$1: babeltrace2: $(cat "$work/err")"
	checks=$((checks + 1))
}

mount_tree -o tz=UTC

# --- files are removed, then the whole directory
session lost "$out"
record 1000
is "lost so far" 0 "$(lost)"
rm -f $(files) || fail rm
record 500
[ "$(lost)" -ge 1 ] || fail "a removed file is not told: $(cat "$s/status")"
has "$(cat "$s/error")" 'other programs have removed or cut [1-9]'
put stop "$s/control"
accepts "after files were removed" "$out"
is "events after files were removed" 500 "$(lines=$(wc -l <"$work/all"); echo $lines)"
put start "$s/control"
rm -rf "$out" || fail "rm -rf"
record 300
put stop "$s/control"
accepts "after the directory was removed" "$out"
is "events after the directory was removed" 300 "$(wc -l <"$work/all" | tr -d ' ')"

# --- cut: to nothing, and in the middle of a packet
put start "$s/control"
before=$(lost)
for f in $(files); do : >"$f"; done
record 200
[ "$(lost)" -gt "$before" ] || fail "a file that was cut is not told: $(cat "$s/status")"
put stop "$s/control"
accepts "after files were emptied" "$out"
is "events after files were emptied" 200 "$(wc -l <"$work/all" | tr -d ' ')"
put start "$s/control"
for f in $(files); do truncate -s -10 "$f"; done
record 100
put stop "$s/control"
accepts "after files were cut in a packet" "$out"
kept=$(wc -l <"$work/all")
[ "$kept" -ge 100 ] && [ "$kept" -lt 300 ] || fail "$kept events after files were cut in a packet"
rmdir "$s" || fail rmdir

# --- what cannot be written is an error of stop and of rmdir; with room again it arrives
small_disk 256k
session full "$disk/full"
dd if=/dev/zero of="$disk/filler" bs=4k 2>/dev/null
"$ticker" 3000 0 || fail ticker
is "stop" ENOSPC "$(tool open "$s/control" w write 'stop\n')"
is "state" inactive "$(key state "$s/status")"
has "$(cat "$s/error")" 'cannot be written'
rmdir "$s" 2>"$work/err" && fail "rmdir of a session whose data cannot be written"
has "$(cat "$work/err")" 'No space left'
is "events that are held" 3000 "$(wc -l <"$s/text" | tr -d ' ')"
rm "$disk/filler"
rmdir "$s" || fail "rmdir with room again"
accepts "with room again" "$disk/full"
is "events with room again" 3000 "$(wc -l <"$work/all" | tr -d ' ')"

# … and clear gives it up
session given_up "$disk/given_up"
dd if=/dev/zero of="$disk/filler" bs=4k 2>/dev/null
"$ticker" 3000 0 || fail ticker
rmdir "$s" 2>/dev/null && fail "rmdir of a session whose data cannot be written"
put clear "$s/control"
rmdir "$s" || fail "rmdir after a clear"
echo "$checks checks"
