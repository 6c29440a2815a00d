#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 2400
#
# Beside LTTng 2.16 and babeltrace2 2.1.2, as Debian sid has them: `input` shows what this LTTng
# recorded of programs and of an agent, in CTF 1.8 and 2, with the text of this babeltrace2, byte
# for byte. The same programs, compiled there, are recorded by us with our libraries in place of
# LTTng's: the same events. babeltrace2 reads our traces of CTF 2, and those that its lttng-relayd
# wrote, and follows a live session.
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/lttng.sh"
. "$top/tests/lib/sid.sh"
need_sid
mount_tree -o tz=UTC
cp -r "$here/compat" "$work/src"
cp "$here/agents.py" "$work/"
for f in fields.h provider.c hits.c log.c; do
	sed -i 's/\<ctf_/lttng_ust_field_/g; s/\<TRACEPOINT_/LTTNG_UST_TRACEPOINT_/g; s/\<TP_\([AFE]\)/LTTNG_UST_TP_\1/g
		s/EVENT_INSTANCE(compat, /EVENT_INSTANCE(compat, pair, compat, /; s/\(EVENT_INSTANCE.*, compat, \)pair, /\1/
		s/\<TRACE_\([A-Z]\)/LTTNG_UST_TRACEPOINT_LOGLEVEL_\1/g; s/\<\(do_\)\{0,1\}tracepoint\(_enabled\)\{0,1\}(/lttng_ust_&/g
		s/\<trace\(f\|log\)(/lttng_ust_&/g' "$work/src/$f"
done

# ---- compiled there ----

cat >"$work/compile" <<'END'
set -e
cd /mnt/src
gcc -O2 -w -I. -o blob blob.c -llttng-ust -ldl
gcc -O2 -w -I. -o fields hits.c provider.c -llttng-ust -ldl
gcc -O2 -w -I. -o log log.c -llttng-ust -ldl
lttng --version
babeltrace2 --version | head -n 1
END
sid compile >"$work/out" 2>&1 || fail "programs do not compile: $(tail -n 5 "$work/out")"
cat "$work/out"
cat >"$work/programs" <<'END'
cd /mnt/src
/mnt/src/blob && /mnt/src/fields && /mnt/src/log
END

# ---- recorded by LTTng ----

cat >"$work/record" <<'END'
export LTTNG_UST_REGISTER_TIMEOUT=20000
lttng-sessiond --no-kernel --daemonize >/mnt/sessiond.log 2>&1 || exit 1
trap 'kill $(cat /run/lttng/lttng-sessiond.pid)' EXIT
record() { # NAME FORMAT BUFFERS CONTEXTS EVENTS COMMAND…
	name=$1 format=$2 buffers=$3 contexts=$4 events=$5
	shift 5
	lttng -n create "$name" --output="/mnt/$name" --trace-format="$format" || return 1
	lttng -n enable-channel -u --$buffers --subbuf-size=1M --num-subbuf=8 c || return 1
	set -f
	for t in $contexts; do lttng -n add-context -u -c c -t $t || return 1; done
	for e in $events; do lttng -n enable-event -u -c c "$e" || return 1; done
	set +f
	lttng -n start && "$@" && lttng -n destroy "$name"
}
all='vpid vtid procname pthread_id ip ipc_ns uts_ns'
record all ctf-2 buffers-uid "$all" '*' sh /mnt/programs || exit 1
record plain ctf-2 buffers-pid '' 'compat* lttng_ust_trace*' sh /mnt/programs || exit 1
# (LTTng 2.16 and babeltrace2 do not agree on quotes in metadata of CTF 1.8: fewer events.)
record old ctf-1.8 buffers-uid 'vpid procname' 'compat_blob:* compat:integers lttng_ust_tracef:*' \
	sh /mnt/programs || exit 1
lttng -n create agent --output=/mnt/agent && lttng -n enable-event -p -a && lttng -n start || exit 1
printf '%s\n' 'app.one 30 three words' 'app.two 40 é "quoted"' >/mnt/lines
LTTNG_UST_PYTHON_REGISTER_TIMEOUT=20000 python3 /mnt/agents.py log /mnt/acks </mnt/lines || exit 1
lttng -n destroy agent
for t in all plain old agent; do
	TZ=UTC babeltrace2 "/mnt/$t" >"/mnt/$t.text" 2>"/mnt/$t.err" || { cat "/mnt/$t.err"; exit 1; }
done
END
sid record >"$work/out" 2>&1 || fail "LTTng does not record: $(tail -n 5 "$work/out"; tail -n 5 "$work/sessiond.log")"
for t in all plain old agent; do
	mkdir "$S/$t" && put "$work/$t" "$S/$t/input"
	cat "$S/$t/text" >"$work/have"
	cmp "$work/$t.text" "$work/have" ||
		fail "the text of '$t': $(diff "$work/$t.text" "$work/have" | cut -c1-300 | head -n 6)"
	[ "$(wc -l <"$work/have")" -gt 1 ] || fail "LTTng recorded nothing of '$t'"
	echo "$t: $(wc -l <"$work/have") events of LTTng, as its babeltrace2 shows them"
	rmdir "$S/$t"
done
has "$(cat "$work/plain.text")" 'compat_blob:blob: .*begin = { 89 50 }'

# ---- saved by LTTng ----

cat >"$work/save" <<'END'
lttng-sessiond --no-kernel --daemonize >/mnt/sessiond.log 2>&1 || exit 1
trap 'kill $(cat /run/lttng/lttng-sessiond.pid)' EXIT
lttng -n create web --output="$1" --trace-format=ctf-2 &&
	lttng -n enable-channel -u --subbuf-size=1M --num-subbuf=8 --auto-reclaim-memory=consumed ch &&
	lttng -n enable-event -u -c ch 'web:*' --exclude=web:a,web:b &&
	lttng -n enable-event -u -c ch 'app:*' --loglevel=INFO --filter='x > 5 && s == "a*"' &&
	lttng -n add-context -u -c ch -t vpid -t procname &&
	lttng -n enable-event -p app.one --loglevel=WARNING &&
	lttng -n enable-event -j net.x &&
	lttng -n track -u --vpid=12 &&
	lttng -n save web --output-path=/mnt/saved
END
if command -v xsltproc >/dev/null; then
	mkdir "$work/web"
	sid save "$work/web" >"$work/out" 2>&1 || fail "LTTng does not save: $(tail -n 5 "$work/out")"
	xsltproc "$top/docs/examples/lttng-save.xsl" "$work/saved/web.lttng" >"$work/web.ini" ||
		fail "xsltproc"
	mkdir "$S/web" && cat "$work/web.ini" >"$S/web/config" || fail "a saved session"
	is "saved rules" 'app:* loglevel <= info if x > 5 && s == "a*"
web:* except web:a,web:b' "$(sort "$S/web/user/channels/ch/events")"
	is "saved contexts" 'vpid procname' "$(echo $(cat "$S/web/user/channels/ch/contexts"))"
	is "saved loggers" 'app.one loglevel >= warning' "$(cat "$S/web/python/events")"
	is "saved loggers of JUL" 'net.x' "$(cat "$S/web/jul/events")"
	is "saved processes" 12 "$(cat "$S/web/user/track/vpid")"
	rmdir "$S/web"
fi

# ---- the same programs, recorded by us ----

cat >"$work/ours" <<'END'
export TRAIL_RUNTIME_DIR=/mnt/state LD_LIBRARY_PATH=/srv/lttng
sh /mnt/programs
END
for version in 2 1.8; do
	s=$S/ours
	mkdir "$s" && put $version "$s/ctf_version" && put "$work/trace$version" "$s/output" &&
		put 'compat*' "$s/user/events" && put 'lttng_ust_trace*' "$s/user/events" 2>/dev/null
	printf '%s\n' 'compat*' 'lttng_ust_trace*' >"$s/user/events" || fail "rules"
	put start "$s/control"
	sid ours >"$work/out" 2>&1 || fail "with our libraries: $(tail -n 5 "$work/out")"
	put stop "$s/control"
	cat "$s/text" >"$work/ours.text"
	rmdir "$s"
	echo 'TZ=UTC babeltrace2 /mnt/trace'$version' >/mnt/bt2' >"$work/read"
	sid read || fail "babeltrace2 does not read our trace of CTF $version"
	cmp "$work/bt2" "$work/ours.text" || fail "text and babeltrace2 differ, CTF $version"
	[ $version = 2 ] || continue
	plain "$work/plain.text" | sed 's/"[^"]*\/log\.c"/"log.c"/' >"$work/want"
	plain "$work/ours.text" | sed 's/"[^"]*\/log\.c"/"log.c"/' >"$work/have"
	diff "$work/want" "$work/have" >"$work/diff" ||
		fail "not what LTTng recorded: $(cut -c1-300 "$work/diff" | head -n 10)"
	echo "$(wc -l <"$work/have") events of unmodified programs, as LTTng has them"
done

# ---- the relay ----

cat >"$work/relay.sh" <<'END'
echo $$ >/mnt/relay.pid
exec lttng-relayd -o /mnt/relay -C tcp://127.0.0.1:$1 -D tcp://127.0.0.1:$(($1 + 1)) \
	-L tcp://127.0.0.1:$(($1 + 2))
END
trap 'code=$?; kill $(cat "$work"/*.pid) 2>/dev/null; (exit $code); clean_up' EXIT
listens() {
	[ "$(grep -c "^ *[0-9]*: 0100007F:$(printf '\(%04X\|%04X\|%04X\)' "$port" $((port + 1)) \
		$((port + 2))) 00000000:0000 0A" /proc/net/tcp)" = 3 ]
}
for try in 1 2 3 4 5 6 7 8 9; do
	port=$(($(od -An -N2 -tu2 /dev/urandom) % 20000 + 10000))
	sid relay.sh $port >>"$work/relayd.log" 2>&1 &
	enter=$!
	until listens || [ ! -e /proc/$enter ]; do sleep 0.1; done
	listens && break
done
listens || fail "lttng-relayd does not start: $(cat "$work/relayd.log")"
relay_dir() { for newest in "$work/relay/$(hostname)/$1"-[0-9]*-[0-9]*; do :; done; echo "/mnt${newest#"$work"}"; }

s=$S/streamed
mkdir "$s" && put 2 "$s/ctf_version" && put "net://127.0.0.1:$port:$((port + 1))" "$s/output"
put 'compat_blob:*' "$s/user/events" && put start "$s/control"
sid ours >/dev/null 2>&1
# An event that the metadata did not have at first
echo 'lttng_ust_tracef:*' >>"$s/user/events" || fail "another rule"
sid ours >/dev/null 2>&1
put stop "$s/control"
has "$(cat "$s/status")" '^relay connected, protocol 2\.15'
cat "$s/text" >"$work/have"
echo "TZ=UTC babeltrace2 $(relay_dir streamed) >/mnt/bt2" >"$work/read"
sid read || fail "babeltrace2 does not read what the relay wrote"
cmp "$work/bt2" "$work/have" || fail "the relay's files are not what text shows"
has "$(cat "$work/have")" 'lttng_ust_tracef:event'
rmdir "$s"

s=$S/snapped
mkdir "$s" && put 2 "$s/ctf_version" && put "net://127.0.0.1:$port:$((port + 1))" "$s/snapshot_outputs"
put 'compat_blob:*' "$s/user/events" && put start "$s/control"
sid ours >/dev/null 2>&1
put 'snapshot one' "$s/control"
snapped() { ! grep -q '^pending' "$s/status"; }
within 60 snapped || fail "a snapshot is pending"
echo "TZ=UTC babeltrace2 $(relay_dir snapped) >/mnt/bt2" >"$work/read"
sid read || fail "babeltrace2 does not read a snapshot that the relay wrote"
cat "$s/text" | cmp - "$work/bt2" || fail "the relay's snapshot is not what text shows"
rmdir "$s"

s=$S/live
mkdir "$s" && put 2 "$s/ctf_version" && put 100ms "$s/live_period"
put "net://127.0.0.1:$port:$((port + 1))" "$s/output"
put 'compat_blob:*' "$s/user/events" && put start "$s/control"
sid ours >/dev/null 2>&1
cat >"$work/follow" <<'END'
echo $$ >/mnt/follow.pid
exec babeltrace2 -i lttng-live "net://127.0.0.1:$1/host/$2/live" >/mnt/live
END
sid follow $((port + 2)) "$(hostname)" 2>"$work/follow.err" &
seen() { # EVENT: the live reader has seen one
	sid ours >/dev/null 2>&1
	grep -q "$1" "$work/live" 2>/dev/null
}
within 200 seen compat_blob:blob || fail "a live reader sees nothing: $(tail -n 3 "$work/follow.err")"
echo 'lttng_ust_tracef:*' >>"$s/user/events" || fail "another rule"
within 200 seen lttng_ust_tracef:event ||
	fail "a live reader sees no event of a new class: $(tail -n 3 "$work/follow.err")"
put stop "$s/control"
rmdir "$s"
echo "$checks checks"
