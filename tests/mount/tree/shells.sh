#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# What shells and Python make of files that take several lines: dash writes a printf at once, bash
# line by line. The commands of docs/lttng-commands.md, and those of the other documents that write
# several lines, give the same session with each of them.
. "$(dirname "$0")/../../lib/mount.sh"
command -v bash >/dev/null || skip "there is no bash"
mount_tree
shells="bash"
! command -v dash >/dev/null || shells="$shells dash"
! busybox sh -c : 2>/dev/null || shells="$shells busybox"

# run SHELL COMMAND
run() {
	if [ "$1" = busybox ]; then busybox sh -c "$2"; else "$1" -c "$2"; fi
}

# fresh SHELL: a session, a channel and a trigger with what commands with ! remove
fresh() {
	cd /
	[ ! -d "$S/s" ] || rmdir "$S/s" "$MNT/triggers/t" || fail "rmdir"
	mkdir "$S/s" "$S/s/user/channels/c" "$MNT/triggers/t" || fail "mkdir"
	cd "$S/s" || exit 2
	echo 'tick:rule' >user/channels/c/events
	echo 'net://127.0.0.1:9' >snapshot_outputs
	echo '77' >user/track/vpid
}

# commands: of the document, without those of the kernel and those whose effect is an event
commands() {
	grep -o '`\(echo\|printf\) [^`]*>>* [SCT]/[^`]*`' "$top/docs/lttng-commands.md" | sort -u |
		grep -v 'kernel\|jul\|S/control\|rule: ' |
		sed "s/^.//; s/.\$//
			s/\(S\)\/\([a-z]\)/\$\1\/\2/g
			s/ C\// \$C\//; s/ T\// \$T\//
			s/buffer NAME\/user\/CHANNEL/buffer s\/user\/c/
			s/consumed NAME /consumed s /; s/rotation NAME /rotation s /
			s/snapshot NAME SNAPSHOT /snapshot s final /; s/increment NAME/increment s/
			s/'!NAME'/'!tick:rule'/; s/NAME\\\\nNAME/tick:one\\\\ntick:two/
			s/!RULE\\\\n~RULE/!tick:rule\\\\n~tick:rule/
			s/RULE capture EXPR, …/tick:tock capture i/
			s/max-size N/max-size 1M/; s/start NAME'/start s'/
			s/every N/every 3/
			s/tcp:..HOST:PORT/tcp:\/\/127.0.0.1:9/; s/tcp:..HOST:PORT/tcp:\/\/127.0.0.2:8/
			s/HOST/127.0.0.1/; s/!URL/!net:\/\/127.0.0.1:9/; s/URL/net:\/\/127.0.0.1:7/
			s/'!VALUE'/'!77'/; s/VALUE VALUE/12 13/; s/TYPE/vpid/
			s/COUNT/4/; s/SIZE/1M/; s/PERIOD/1s/; s/TIME/1s/
			s,DIR,$work/out,"
}

state() {
	cat config "$MNT/triggers/t/config"
}

# pages: lines of the other documents that write several lines to a file of a session, and those of
# README.md that write one
pages() {
	grep -ho "^ *printf '[^|&{]* > user/[a-z]*" "$top"/docs/*.md | sort -u
	sed -n 's,^ *\($ \)*\(echo .* > user/[a-z]*\) *\(#.*\)*$,\2,p' "$top/README.md"
}

commands >"$work/commands"
[ "$(wc -l <"$work/commands")" -ge 30 ] || fail "$(wc -l <"$work/commands") commands are few"
grep -c '^printf' "$work/commands" | grep -q '^3$' || fail "another printf in the document"
pages >"$work/pages"
[ "$(wc -l <"$work/pages")" -ge 6 ] || fail "$(wc -l <"$work/pages") commands of other documents"
cat "$work/pages" >>"$work/commands"
export S=$S/s C=$S/s/user/channels/c T=$MNT/triggers/t
all=$S
S=${S%/s}
while IFS= read -r command; do
	rm -f "$work"/state.*
	for shell in $shells; do
		fresh
		S=$all run $shell "$command" 2>"$work/said" ||
			fail "$shell: $command: $(cat "$work/said")"
		is "$shell says nothing: $command" "" "$(cat "$work/said" error "$T/error")"
		state >"$work/state.$shell"
		cmp -s "$work/state.bash" "$work/state.$shell" ||
			fail "$command: $(diff "$work/state.bash" "$work/state.$shell")"
	done
done <"$work/commands"
fresh

# The two addresses of a relay: on two lines or one, and not twice
for shell in $shells; do
	for command in \
		'printf "tcp://a:1\ntcp://b:2\n" >output' \
		'printf "# control\ntcp://a:1\n# data\n\ntcp://b:2\n" >output' \
		'echo tcp://a:1 tcp://b:2 >output' \
		'{ echo tcp://a:1; echo tcp://b:2; } >output'; do
		echo >output
		run $shell "$command" || fail "$shell: $command: $(cat error)"
		is "$shell: $command" '"tcp://a:1 tcp://b:2"' "$(cat output)"
	done
	run $shell 'printf "tcp://a:1\ntcp://b:2\ntcp://c:3\n" >output' 2>/dev/null
	is "three are a mistake" '"tcp://a:1 tcp://b:2"' "$(cat output)"
	has "$(cat error)" 'nothing may follow the address'
	run $shell 'printf "# how many\n\n8\n" >user/channels/c/subbuf_count' ||
		fail "$shell: a comment before a value: $(cat error)"
	is "$shell: after a comment" 8 "$(cat user/channels/c/subbuf_count)"
	echo 2 >user/channels/c/subbuf_count
done
is "a later write of an open" "8 ok net://c:5342:5343" \
	"$(tool open output w write 'tcp://a\ntcp://b' write 'net://c\n' close |
		tail -n 2 | tr '\n' ' ')$(cat output)"

# Python writes again when it closes; the error number is that of the first write
if command -v python3 >/dev/null; then
	python3 - "$all" <<'END' || fail "Python"
import errno, sys
for file, text in (('user/events', 'a:b loglevel x\n'), ('control', 'stop\n'),
		   ('user/channels/c/subbuf_size', 'many\n')):
	want = errno.EBUSY if file == 'control' else errno.EINVAL
	f = open(sys.argv[1] + '/' + file, 'w')
	for step in (lambda: (f.write(text), f.flush()), lambda: f.flush(), lambda: f.close()):
		try:
			step()
			sys.exit(file + ': no error')
		except OSError as e:
			if e.errno != want:
				sys.exit(file + ': ' + e.strerror)
END
	checks=$((checks + 3))
fi

# A text without an end is refused soon; lines of `log` are events, of which there may be many
yes "# $(printf '%04000d' 0)" | head -c 5M >"$work/much"
for file in user/events control user/track/vpid; do
	is "much text in $file" EFBIG "$(dd if="$work/much" of=$file bs=64k 2>&1 |
		sed -n 's/.*File too large/EFBIG/p' | head -n 1)"
	has "$(head -n 1 error)" 'more than 4194304 bytes'
done
cat "$work/much" >"$MNT/log" || fail "log takes any number of lines"
is "short writes are no long text" "" "$(tool open control w $(yes "write \\n" | head -n 200) |
	sort -u | grep -v '^1$')"
echo "$checks checks"
