#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 400
#
# A program that logs by java.util.logging, log4j 1 and Log4j 2, with LTTng's agents for the first
# two and the appender of ustlib/java: it starts before the daemon, three sessions want different
# levels, the daemon is killed; another program starts after it. Application contexts, a trigger.
. "$(dirname "$0")/../../lib/mount.sh"
jars=/usr/share/java
classes=$jars/log4j-1.2.jar:$jars/log4j-api.jar:$jars/log4j-core.jar
for part in common jul log4j; do classes=$classes:$jars/lttng-ust-agent-$part.jar; done
jni=/usr/lib/$(gcc -print-multiarch 2>/dev/null)/jni
for f in $(echo "$classes" | tr : ' ') "$jni/liblttng-ust-log4j-jni.so"; do
	[ -e "$f" ] || skip "liblttng-ust-agent-java, liblog4j1.2-java or liblog4j2-java is not installed"
done
command -v javac >/dev/null || skip "there is no Java compiler"
can_mount
(cd "$top" && timeout 300 make -s CC="${CC:-gcc}" SAN="${SAN-}" java >"$work/make.out" 2>&1) &&
	[ -e "$BUILD/java/trail-log4j2.jar" ] || fail "make java: $(cat "$work/make.out")"
classes=$classes:$BUILD/java/trail-log4j2.jar
timeout 200 javac -proc:none -cp "$classes" -d "$work" "$here/java/Chat.java" || fail "javac"

# chat: the program; it logs the lines of its standard input
chat() {
	LD_LIBRARY_PATH=$BUILD/lttng timeout 300 java -Dsun.stdout.encoding=UTF-8 \
		-Djava.library.path="$jni:$BUILD/lttng" -cp "$classes:$work" \
		-Dlog4j.configurationFile="$here/java/log4j2.xml" Chat
}
answered() { grep -qx "$1" "$work/out"; }
# say WORD: the program has logged it by each of its loggers
say() {
	echo "$1" >&3
	within 60 answered "$1" || fail "the program does not log $1: $(tail -n 5 "$work/out")"
}
# messages SESSION DOMAIN LOGGER: in one line, without those of recorded()
messages() {
	sed -n "s/.* lttng_$2:event: .* msg = \"\([^w\"][^\"]*\)\", logger_name = \"$3\".*/\1/p" \
		"$S/$1/text" | tr '\n' ' '
}
# recorded: the program logs until each session has it by each of its loggers. (A program that runs
# already is recorded a moment after a session starts.)
turn=0
recorded() {
	turn=$((turn + 1))
	say "w$turn"
	for s in severe all some; do
		for d in jul log4j log4j2; do
			grep -q "lttng_$d:event: .* msg = \"w$turn-[ei].* logger_name = \"app" "$S/$s/text" ||
				return 1
		done
	done
}
# each_has SESSION MESSAGES: by each of the three
each_has() {
	for d in jul log4j log4j2; do is "$1 by $d" "$2" "$(messages "$1" $d "app.$d")"; done
}
# listens: the agents answered the daemon, so they have the rules that came before
listens() {
	for l in jul/app.jul log4j/app.log4j log4j2/app.log4j2 log4j/old.log4j2; do
		grep -qx "${l#*/}" "$MNT/available/${l%/*}/loggers" || return 1
	done
}

# ---- the program starts before the daemon; three sessions ----

# (Installed systems have this directory before a daemon runs.)
mkdir -p "$TRAIL_RUNTIME_DIR/apps"
mkfifo "$work/in"
chat <"$work/in" >"$work/out" 2>&1 &
program=$!
exec 3>"$work/in"
within 60 answered ready || fail "the program does not begin: $(tail -n 5 "$work/out")"
say early
mount_tree 3>&-
mkdir "$S/severe" "$S/all" "$S/some"
for d in jul log4j log4j2; do
	[ $d = jul ] && severe=severe || severe=error
	put "app.* loglevel $severe.." "$S/severe/$d/events"
	put '*' "$S/all/$d/events"
	put "app.* loglevel info if msg != \"z*\"" "$S/some/$d/events"
done
put '$app.chat:number' "$S/some/log4j2/contexts"
for s in severe all some; do put start "$S/$s/control"; done
mkdir "$MNT/triggers/hit" &&
	put 'event log4j2 app.* loglevel error.. if msg == "b*" || msg == "c*" capture msg, $app.chat:number' \
		"$MNT/triggers/hit/condition" && put notify "$MNT/triggers/hit/actions" || fail "trigger"
within 60 listens || fail "the agents do not come: $(tail -n 5 "$work/out" "$S/all/status")"
within 60 recorded || fail "the sessions do not record: $(tail -n 5 "$S"/*/text)"
say 'aé'
say z1
say w😀
each_has severe 'aé-error z1-error '
each_has all 'aé-error aé-info z1-error z1-info '
each_has some 'aé-info '
is "Log4j 2 as log4j 1" 'aé-old z1-old ' "$(messages all log4j old.log4j2)"
text=$(cat "$S/all/text" "$S/some/text")
has "$text" 'lttng_log4j2:event: .* msg = "z1-info", logger_name = "app.log4j2", class_name = "Chat", method_name = "main", filename = "Chat.java", line_number = [1-9][0-9]*, timestamp = 1[0-9]\{12\}, int_loglevel = 400, thread_name = "main" }'
has "$text" 'lttng_log4j2:event: .* msg = "w😀-info"'
has "$text" 'lttng_log4j:event: .* msg = "z1-old", .* line_number = [1-9][0-9]*, .* int_loglevel = 30000, thread_name = "main" }'
has "$text" 'lttng_log4j2:event: .* _app_chat_number = { [0-9]* } }, { msg = "aé-info"'

# ---- the daemon is killed and comes back ----

kill -9 $(daemon_pids)
within 60 daemon_ended
fusermount3 -u -z "$MNT"
say z2
mount_tree 3>&-
within 60 listens || fail "the agents do not come back: $(tail -n 5 "$work/out" "$S/all/status")"
say b3
each_has severe 'aé-error z1-error z2-error b3-error '
each_has all 'aé-error aé-info z1-error z1-info z2-error z2-info b3-error b3-info '
each_has some 'aé-info b3-info '
exec 5<"$MNT/triggers/hit/notifications"
exec 3>&-
wait $program || fail "the program: exit status $?: $(tail -n 5 "$work/out")"

# ---- a program that starts after the daemon, with rules that are there ----

echo c4 | chat >"$work/out" 2>&1 || fail "the program: exit status $?: $(tail -n 5 "$work/out")"
has "$(messages severe log4j2 app.log4j2)" 'z2-error b3-error c4-error $'
has "$(messages all jul app.jul)" ' c4-error c4-info $'
has "$(messages some log4j app.log4j)" ' b3-info c4-info $'
has "$(head -n 1 <&5)" 'hit { msg = "c4-error", $app.chat:number = 1 }'
exec 5<&-
is "what the program printed" "ready c4 " "$(tr '\n' ' ' <"$work/out")"
if command -v babeltrace2 >/dev/null; then
	for s in severe all some; do
		put stop "$S/$s/control"
		same_text "$S/$s"
	done
fi
echo "$checks checks"
