#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The daemon's own event, trail:log, obeys filters and inclusion sets and has the contexts of who
# writes it.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
same() {
	cat "$1/text" >"$work/text"
	TZ=UTC babeltrace2 "$1/trace" >"$work/bt2" 2>"$work/bt2.err" || fail "babeltrace2: $(cat "$work/bt2.err")"
	cmp "$work/text" "$work/bt2" || fail "$1: text and babeltrace2 differ"
}
# The writer's own line, so that its process is known
say() { sh -c 'printf "%s\n" "$1" >"$2"; echo $$' sh "$1" "$MNT/log" || fail "log"; }

mount_tree -o tz=UTC
mkdir "$S/all" || fail mkdir
put 'trail:*' "$S/all/user/events"
cat >"$S/all/user/contexts" <<EOF || fail contexts
vpid vtid procname pthread_id ip cpu_id vuid veuid vsuid
vgid vegid vsgid cgroup_ns ipc_ns mnt_ns net_ns pid_ns time_ns user_ns uts_ns
\$app.my_app:user perf:thread:page-faults
EOF
is "contexts" 22 "$(wc -l <"$S/all/user/contexts")"
is "the same" "$(cat "$S/all/user/contexts")" "$(cat "$S/all/user/channels/channel0/contexts")"
for name in vpid uts_ns; do
	grep -qx $name "$MNT/available/user/contexts" || fail "$name is not in available/user/contexts"
done
put start "$S/all/control"

mkdir "$S/some" || fail mkdir
put 'trail:log if msg == "*two*" || $ctx.procname == "nobody"' "$S/some/user/events"
put start "$S/some/control"
mkdir "$S/own" || fail mkdir
put 'trail:log if $ctx.vpid == 1 || $ctx.procname == "sh"' "$S/own/user/events"
put start "$S/own/control"
mkdir "$S/none" || fail mkdir
put 'trail:log if no_such_field == 1' "$S/none/user/events"
put start "$S/none/control"
mkdir "$S/other" || fail mkdir
put '*' "$S/other/user/events"
put 1 "$S/other/user/track/vpid"
put start "$S/other/control"

pid=$(say 'one')
say 'number two' >/dev/null
for s in all some own none other; do
	put stop "$S/$s/control"
	cp "$S/$s/text" "$work/$s"
done
for s in all some own; do
	same "$S/$s"
done
is "all" 2 "$(wc -l <"$work/all")"
has "$(cat "$work/all")" "{ vpid = $pid, vtid = $pid, procname = \"sh\", pthread_id = 0, .*vuid = $(id -u), veuid = $(id -u)"
has "$(cat "$work/all")" "vgid = $(id -g), .*_app_my_app_user_tag = ( \"_none\" .*perf_thread_page_faults = 0 }, { msg = \"one\" }"
is "some" 1 "$(wc -l <"$work/some")"
has "$(cat "$work/some")" 'msg = "number two"'
is "own" 2 "$(wc -l <"$work/own")"
is "none" 0 "$(wc -l <"$work/none")"
is "excluded" 0 "$(wc -l <"$work/other")"

# As a stream of packets, too
mkdir "$S/p" || fail mkdir
put 'trail:*' "$S/p/user/events"
put 'procname vpid' "$S/p/user/contexts"
put start "$S/p/control"
say 'three' >/dev/null
stream=$S/p/user/channels/channel0/streams/$(id -u)/log
timeout 200 cat "$stream" >"$work/stream" &
reader=$!
timeout 200 cat "$S/p/pipe" >"$work/pipe" &
pipe=$!
within 5 test -s "$work/stream" || fail "streams"
within 5 test -s "$work/pipe" || fail "pipe"
put stop "$S/p/control"
wait $reader || fail "streams do not end"
wait $pipe || fail "pipe does not end"
mkdir "$work/ctf" && cp "$S/p/trace/ust/uid/$(id -u)/64-bit/metadata" "$work/ctf/" || fail "metadata"
cp "$work/stream" "$work/ctf/"
babeltrace2 "$work/ctf" >"$work/bt2" || fail "babeltrace2 of a stream"
has "$(cat "$work/bt2")" 'procname = "sh", vpid = [0-9]* }, { msg = "three" }'
is "pipe" "$(cat "$S/p/text")" "$(cat "$work/pipe")"
