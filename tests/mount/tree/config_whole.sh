#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 30
#
# Every setting that there is differs from its default, is saved, and loaded into a session with the
# same name: its `config` is the same, byte for byte, and so is each file. The settings are found in
# the tree: a file that can be written and has its default in all of these sessions is an error. The
# same of a trigger.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/rows.sh"
mount_tree -o tz=UTC

kernel=
domains=user
mkdir "$S/fresh" "$S/saved" || fail mkdir
[ ! -d "$S/fresh/kernel" ] || { kernel=kernel; domains="user kernel"; }
for d in $domains; do
	mkdir "$S/fresh/$d/channels/c" "$S/fresh/$d/maps/m" || fail "mkdir in $d"
done
# What is no setting: verbs, the file itself.
no_setting='^\./control$|^\./config$|/maps/[^/]*/clear$'
# Shortcuts: what is written there is of a channel, where the tests of these files are.
short='^\./(user|kernel)/(events|contexts)$'

# set FILE TEXT…: lines of a file of the session
set_lines() {
	f=$1
	shift
	printf '%s\n' "$@" >"$s/$f" || fail "$f does not take: $*"
}
# settings DIRECTORY: the files that can be written
settings() { (cd "$1" && find . -type f -perm -0200 | grep -Ev "$no_setting" | LC_ALL=C sort); }
# again DIRECTORY: save, remove, make, load; each file is the same
again() {
	cat "$1/config" >"$work/ini" || fail "cannot read $1/config"
	settings "$1" >"$work/files"
	(cd "$1" && while read -r f; do echo "$f"; cat "$f"; done <"$work/files") >"$work/before"
	rmdir "$1" && mkdir "$1" || fail "rmdir and mkdir $1"
	cat "$work/ini" >"$1/config" || fail "its own config is refused"
	cat "$1/config" | cmp "$work/ini" - ||
		fail "another config: $(diff "$work/ini" "$1/config")"
	settings "$1" | cmp "$work/files" - || fail "other files"
	(cd "$1" && while read -r f; do echo "$f"; cat "$f"; done <"$work/files") |
		diff "$work/before" - || fail "a file has changed"
	checks=$((checks + 1))
}
# other_flags: of $s, those that are as in a new session get their other value
other_flags() {
	(cd "$S/fresh" && for f in $(rows session/session_settings.def SETTING FLAG); do
		echo "$f"
	done && for f in $(rows session/channel_settings.def '[A-Z_]*' FLAG); do
		find . -path "./*/channels/c/$f"
	done) | while read -r f; do
		! cmp -s "$s/$f" "$S/fresh/$f" || case $(cat "$s/$f") in
		0) set_lines "$f" 1 ;;
		*) set_lines "$f" 0 ;;
		esac
	done || exit 1
}
# differing: adds the files of $s that differ from those of a new session
: >"$work/differ"
differing() {
	settings "$S/fresh" | while read -r f; do
		[ ! -e "$s/$f" ] || cmp -s "$s/$f" "$S/fresh/$f" || echo "$f"
	done >>"$work/differ"
}

s=$S/saved
for d in $domains; do
	mkdir "$s/$d/channels/c" "$s/$d/channels/A.b_:@+-9" "$s/$d/maps/m" "$s/$d/maps/other" || fail "mkdir in $d"
done
# A path as a word in quotes
odd="$work/it is \\\"a\\\" ; path # [=] \\\\n é"
set_lines snapshot_max_size 3M
set_lines snapshot_outputs "net://h max-size 64k" "\"$work/a b\" max-size 1M" "tcp://a:1 tcp://b:2" "\"$odd\""
set_lines output "\"$odd/ out \""
set_lines checksum crc32
set_lines compress xz
set_lines rotate_size 7M
set_lines rotate_period 90s
set_lines clock tai
set_lines ctf_version 2
set_lines metadata packets
set_lines user/track/vpid 1 22 333
set_lines user/track/vuid root 54321
set_lines user/track/vgid ''
set_lines user/track/cgroup /a.slice '"/b c/d"'
c=user/channels/c
set_lines $c/events 'my_app:* except my_app:debug*, my_app:x loglevel <= warning' \
	'other:x if s == "a ; b # c\"\\é" && n != 3 || f > 1.5e-3' 'tp:one loglevel = 13' '~off:*' \
	'usual:[a-c]? if $ctx.vpid == 1'
set_lines $c/contexts vpid procname '$app.provider:name' \
	"$(grep -m 1 -x perf:thread:page-faults "$MNT/available/user/contexts")"
set_lines $c/enabled 0
set_lines $c/subbuf_size 16k
set_lines $c/subbuf_count 8
set_lines $c/loss_mode discard
set_lines $c/switch_period 150ms
set_lines $c/read_period 2s
set_lines $c/monitor_period 3s
set_lines $c/file_size 12M
set_lines $c/file_count 7
set_lines $c/buffering process
set_lines $c/memory_max_age 7s
set_lines $c/buffer_preallocation on_demand
set_lines $c/blocking_timeout inf
m=user/maps/m
set_lines $m/rules 'shop:sale if s == "a ; # \"" by item, thread sum(price), hist(price)' \
	'pair shop:b shop:e on thread, n by thread count, hist(latency)'
set_lines $m/buffer_size 1M
set_lines $m/max_keys 77
for d in jul log4j log4j2 python; do
	set_lines $d/events 'a.logger.* loglevel <= 10' 'another if msg == "a ; #"'
	set_lines $d/contexts vpid procname
done
if [ -n "$kernel" ]; then
	set_lines kernel/track/pid 1 2
	set_lines kernel/track/cgroup /x.slice/y.scope
	for t in vpid uid vuid gid vgid; do
		! by_module || set_lines kernel/track/$t 1 2
	done
	# Records of tracefs have none of these.
	by_module || short="$short|^\\./kernel/track/[a-z]?[ug]id\$|^\\./kernel/track/vpid\$"
	c=kernel/channels/c
	set_lines $c/events sched_switch 'syscall:entry:openat if $ctx.pid != 0' '~sched_wak*' \
		'sched:sched_process_* if comm != "a ; #"'
	set_lines $c/contexts pid procname
	set_lines $c/enabled 0
	set_lines $c/subbuf_size 16k
	set_lines $c/subbuf_count 8
	set_lines $c/loss_mode discard
	set_lines $c/switch_period 150ms
	set_lines $c/read_period 2s
	set_lines $c/monitor_period 3s
	set_lines $c/file_size 12M
	set_lines $c/file_count 7
	set_lines $c/memory_max_age consumed
	set_lines $c/backend tracefs
	m=kernel/maps/m
	set_lines $m/rules 'sched_switch by next_tid count'
	set_lines $m/buffer_size 1M
	set_lines $m/max_keys 77
fi
other_flags
differing
again "$s"

# What the output is a relay for; another clock
s=$S/live
mkdir "$s"
set_lines output 'tcp://a.example:1' 'tcp://b.example:2'
set_lines live_period 50ms
set_lines clock plugin
mkdir "$s/user/channels/c"
set_lines user/channels/c/buffer_preallocation preallocate
differing
again "$s"

# What records nothing
s=$S/import
mkdir "$s" "$S/few" || fail mkdir
put '*' "$S/few/user/events"
put start "$S/few/control"
echo line >"$MNT/log"
copy_image "$S/few/trace" "$work/ a trace ; # \"it\""
set_lines input "\"$work/ a trace ; # \\\"it\\\"\""
differing
again "$s"
LC_ALL=C sort -u "$work/differ" >"$work/changed"
is "settings that this test leaves as they are" '' \
	"$(settings "$S/fresh" | grep -Ev "$short" | LC_ALL=C comm -23 - "$work/changed")"

# A trigger
no_setting='^\./config$'
s=$MNT/triggers/t
mkdir "$s" "$MNT/triggers/fresh" || fail mkdir
set_lines condition 'event user app:e if s == "a ; # \"b\"" capture n, s'
set_lines actions 'notify every 3' 'snapshot few one max-size 1M' 'stop few once-after 2'
set_lines enabled 0
for f in $(settings "$s"); do
	! cmp -s "$s/$f" "$MNT/triggers/fresh/$f" || fail "this test leaves triggers/t/$f as it is"
done
again "$s"
echo "$checks checks"
