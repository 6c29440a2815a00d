#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 240
#
# Programs that were compiled with LTTng-UST's headers and linked with its library run with the
# libraries of $BUILD/lttng instead (trail-lttng(3)): every type of field, tracef and tracelog,
# switching while they run, forks, providers that come and go with threads inside, filters,
# contexts. (compat.sh compares the same programs with what LTTng records.)
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
[ -e "$BUILD/lttng/liblttng-ust.so.1" ] || fail "there is no $BUILD/lttng"
printf '#include <lttng/tracepoint.h>\n' | gcc -E - >/dev/null 2>&1 ||
	skip "liblttng-ust-dev is not installed"
src=$work/src
mkdir "$src"
cp "$here"/compat/* "$here"/drop_in/* "$src/"

# build OUTPUT SOURCE… [OPTION…]: with LTTng's headers and libraries alone
build() {
	to=$work/$1
	shift
	(cd "$src" && gcc -O1 -w -I. -o "$to" "$@" -llttng-ust -llttng-ust-common -ldl -lpthread) || fail "$to does not build"
}
sed 's/TRACE_\([A-Z]\)/LTTNG_UST_TRACEPOINT_LOGLEVEL_\1/; s/\<trace\(f\|log\)(/lttng_ust_&/' \
	"$src/log.c" >"$src/log1.c"
build fields hits.c provider.c
build log log1.c -no-pie -fno-pie
build wait wait.c -DCOMPAT_FROM='"w"'
# With the read side of RCU inlined
build objects objects.c -D_LGPL_SOURCE -no-pie -fno-pie
for p in a b; do build $p.so tick_provider.c -fPIC -shared -DCOMPAT_FROM="\"$p\""; done
build slow.so tick_provider.c -fPIC -shared -DCOMPAT_SLOW
LD_LIBRARY_PATH=$BUILD/lttng
export LD_LIBRARY_PATH
ldd "$work/fields" | grep -q "$BUILD/lttng/libtrail.so.0" || fail "$(ldd "$work/fields")"
mount_tree

# session NAME [RULE]: without what the library says of itself, which drop_in_loaded.sh has
session() {
	mkdir "$S/$1" "$S/$1/user/channels/c" &&
		put "${2-* except lttng_ust_statedump:*,lttng_ust_lib:*}" "$S/$1/user/channels/c/events" ||
		fail "session $1"
}
# done_with NAME: of a stopped session: its text without times is $work/have; babeltrace2 agrees
done_with() {
	same_text "$S/$1"
	is "$1: discarded" 0 "$(key events_discarded "$S/$1/status")"
	sed 's/^\[[^]]*\] ([^)]*) [^ ]* \([^ ]*\): { cpu_id = [0-9]* }, /\1 /' "$work/text" >"$work/have"
	rmdir "$S/$1" || fail "rmdir $1"
}
# traced NAME COMMAND…
traced() {
	name=$1
	shift
	session "$name"
	put start "$S/$name/control"
	timeout ${SOAK:+20}200 "$@" || fail "$*: exit status $?"
	put stop "$S/$name/control"
	done_with "$name"
}

# ---- fields ----

traced fields "$work/fields"
is "events of fields" 37 "$(wc -l <"$work/have")"
while read -r line; do
	grep -qxF "$line" "$work/have" || fail "no '$line' in: $(cat "$work/have")"
done <"$src/some.text"
timeout 200 "$work/fields" || fail "without a session: an argument was evaluated"

# ---- tracef, tracelog ----

traced log "$work/log"
is "events of log" 11 "$(wc -l <"$work/have")"
has "$(cat "$work/have")" '^lttng_ust_tracef:event { _msg_length = 8, msg = "42 words" }'
has "$(cat "$work/have")" '^lttng_ust_tracelog:LTTNG_UST_TRACEPOINT_LOGLEVEL_EMERG { line = 34, '

# ---- switching while a program runs ----

session live compat_tick:tick
for how in plain fork close; do
	"$work/wait" $how &
	running="${running-} $!"
done
put start "$S/live/control"
recorded() { [ "$(grep -c compat_tick "$S/live/text")" = 3 ]; }
within 60 recorded || fail "switched on: $(cat "$S/live/text")"
put stop "$S/live/control"
for p in $running; do wait "$p" || fail "wait: exit status $?"; done
done_with live
sort "$work/have" >"$work/sorted"
printf 'compat_tick:tick { from = "w", v = %s }\n' 2 2 3 | cmp - "$work/sorted" ||
	fail "live: $(cat "$work/have")"

# ---- providers that come and go ----

cd "$work" || exit 2
traced objects ./objects 1 +./a.so 2 -./a.so 3 +./b.so 4 +./a.so 5 -./b.so fork=6
# As with LTTng, each of several providers records.
printf 'compat_tick:tick { from = "%s", v = %s }\n' a 2 b 4 b 5 a 5 a 6 | cmp - "$work/have" ||
	fail "objects: $(cat "$work/have")"
times=300
[ -z "${SOAK-}" ] || times=10000
traced churn env CHURN=$times ./objects churn=./slow.so
[ "$(wc -l <"$work/have")" -gt 10 ] || fail "churn: $(wc -l <"$work/have") events"

# ---- a program that is killed while it records, as a provider comes or goes ----

session killed compat_tick:tick
put start "$S/killed/control"
CHURN=1000000 ./objects churn=./slow.so &
killed=$!
recorded_some() { [ "$(grep -c compat_tick "$S/killed/text")" -gt 50 ]; }
within 60 recorded_some || fail "killed: nothing is recorded"
kill -9 $killed
wait $killed
put stop "$S/killed/control"
done_with killed
grep -vqx 'compat_tick:tick { from = "[^"]*", v = [0-9]* }' "$work/have" && fail "killed: $(tail -n 3 "$work/have")"

# ---- LTTng's helpers by their names ----

helpers=
for h in fork fd libc-wrapper pthread-wrapper cyg-profile-fast dl; do
	helpers="$helpers liblttng-ust-$h.so.1"
done
traced helpers env LD_PRELOAD="$helpers" ./objects +./a.so fork=1
for event in 'lttng_ust_libc:malloc' 'lttng_ust_dl:dlopen' 'compat_tick:tick { from = "a", v = 1'; do
	has "$(cat "$work/have")" "^$event"
done
cd / || exit 2

# ---- a library of Debian: LTTng's agent for Python ----

if ldconfig -p | grep -q 'liblttng-ust-python-agent.so.1 ' && command -v python3 >/dev/null; then
	traced python python3 -c '
import ctypes
agent = ctypes.CDLL("liblttng-ust-python-agent.so.1")
agent.py_tracepoint(b"now", b"some words", b"a.logger", b"function", 12, 30, 5, b"a thread")'
	has "$(cat "$work/have")" '^lttng_python:event { asctime = "now", msg = "some words", .*int_loglevel = 30, '
fi

# ---- filters, contexts ----

# (`unseen` is a field for filters only; `port` is in network byte order.)
session some 'compat:integers if i == -2 && l < 0 && port == 80'
for rule in 'strings if unseen == "some*"' 'numbers if unseen == -0.1' 'ten if a == 2'; do
	echo "compat:$rule" >>"$S/some/user/channels/c/events" || fail "rule: $rule"
done
put 'vpid procname' "$S/some/user/channels/c/contexts"
put start "$S/some/control"
timeout 200 "$work/fields" || fail "fields: exit status $?"
put stop "$S/some/control"
done_with some
is "filtered events" 3 "$(wc -l <"$work/have")"
has "$(cat "$work/have")" '^compat:strings { vpid = [0-9]*, procname = "fields" }'
echo "$checks checks"
