#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 30
#
# The settings of a session and its channels outlive the daemon: what a killed daemon saved is what
# the next one has. A session that an earlier version saved, with other lines, has its settings,
# too. Lines with values that cannot be are skipped.
. "$(dirname "$0")/../../lib/mount.sh"

end() {
	kill -9 $(daemon_pids)
	within 60 daemon_ended || fail "the daemon does not end"
	umount -l "$MNT" 2>/dev/null || fusermount3 -u -z "$MNT"
}
# values SESSION: the lines of its config that differ from those of a new session
values() { diff "$work/new" "$S/$1/config" | sed -n 's/^> //p'; }

mount_tree -o tz=UTC
mkdir "$S/new" "$S/new/user/channels/a" || fail mkdir
cat "$S/new/config" >"$work/new"
mkdir "$S/now" "$S/now/user/channels/a" || fail mkdir
cat >"$work/session" <<END
snapshot_max_size = 7340032
output = $work/out
checksum = crc32
compress = xz
rotate_size = 5242880
clock = tai
ctf_version = 2
metadata = packets
live_period = 300000
rotate_period = 17000000
END
cat >"$work/channel" <<'END'
enabled = 0
subbuf_size = 65536
subbuf_count = 8
loss_mode = discard
switch_period = 11000
read_period = 12000
monitor_period = 0
file_size = 1048576
file_count = 3
buffering = process
blocking_timeout = inf
END
while read -r name is value; do put "$value" "$S/now/$name"; done <"$work/session"
while read -r name is value; do put "$value" "$S/now/user/channels/a/$name"; done <"$work/channel"
cat "$work/session" "$work/channel" >"$work/all"
is "set" "$(cat "$work/all")" "$(values now)"
end

# What versions without the lines `set` wrote.
dir=$TRAIL_RUNTIME_DIR/sessions
former() { # NAME: a session with the lines of stdin
	mkdir "$dir/$1"
	{
		printf 'uid %s\ngid %s\nmode 448\nactive 0\nstarts 0\ncreated 1\nstarted 0\n' \
			"$(id -u)" "$(id -g)"
		cat
	} >"$dir/$1/session"
}
former before <<END
next_channel 1
next_trace 0
statedump 0
clock_offset 1795510952829041706
clock_is_tai 1
clock_is_plugin 0
is_ctf2 1
in_packets 1
checksum 1
compression 3
channel 0 0 0 1 0 1 65536 8 a
times 18446744073709551615 11000 12000
monitor 0
files 1048576 3
output $work/out
live 300000
rotate 5242880 17000000
snapshot_max_size 7340032
next_snapshot 0
END
former plugin <<'END'
clock_is_tai 0
clock_is_plugin 1
compression 2
channel 0 1 0 0 1 1 524288 4 a
times 0 0 0
monitor 1000000
files 0 0
rotate 0 0
END
former wrong <<'END'
clock_is_tai 3
checksum 2
compression 1
live 5
set clock sundial
set rotate_period 1
set nothing 1
set output /nowhere
set
channel_id 0 0 1 a
set subbuf_size 0
set subbuf_count 100000
set file_count 1000001
set loss_mode 1
set checksum crc32
END
mount_tree -o tz=UTC
is "kept" "$(cat "$work/all")" "$(values now)"
is "of an earlier version" "$(cat "$work/all")" "$(values before)"
is "the same with other values" "compress = gzip
clock = plugin
loss_mode = overwrite" "$(values plugin)"
is "values that cannot be" "" "$(values wrong)"

# A session of an earlier version is saved as those of this one.
put 1 "$S/before/user/channels/a/enabled"
end
mount_tree -o tz=UTC
is "saved" "$(grep -v enabled "$work/all")" "$(values before)"
echo "$checks checks"
