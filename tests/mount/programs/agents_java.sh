#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 400
#
# The domains jul/ and log4j/ of sessions, and triggers on loggers, with LTTng's agents for Java as
# Debian has them. (The agents wait some seconds for a second daemon when a program starts.)
. "$(dirname "$0")/../../lib/mount.sh"
jars=/usr/share/java
classes=$jars/log4j-1.2.jar
for part in common jul log4j; do classes=$classes:$jars/lttng-ust-agent-$part.jar; done
jni=/usr/lib/$(gcc -print-multiarch 2>/dev/null)/jni
for f in $(echo "$classes" | tr : ' ') "$jni/liblttng-ust-jul-jni.so"; do
	[ -e "$f" ] || skip "liblttng-ust-agent-java and liblog4j1.2-java are not installed"
done
command -v javac >/dev/null || skip "there is no Java compiler"
timeout 200 javac -cp "$classes" -d "$work" "$here/java/Logs.java" || fail "javac"
mount_tree

# session NAME DOMAIN RULE: started
session() {
	mkdir -p "$S/$1" && put "$3" "$S/$1/$2/events" && put start "$S/$1/control" ||
		fail "session $1"
}
# recorded SESSION: the messages, in one line
recorded() { sed -n 's/.* lttng_[a-z0-9]*:event: .* msg = "\([^"]*\)".*/\1/p' "$S/$1/text" | tr '\n' ' '; }

session both jul 'app.* loglevel warning..'
put 'app.log4j loglevel warn' "$S/both/log4j/events"
session all jul '*'
session some log4j '* loglevel < warn if msg == "l*"'
# Application contexts: recorded, and in a filter that decides without being recorded.
mkdir "$S/contexts" && put '*' "$S/contexts/log4j/events" && put '$app.app:turn $app.app:user $app.app:load $app.app:open $app.app:none $app.no:one' \
	"$S/contexts/log4j/contexts" && put start "$S/contexts/control" || fail "contexts"
session anna log4j 'app.* if $app.app:user == "anna*" && $app.app:load < 1'
# Triggers on loggers
trigger() {
	mkdir "$MNT/triggers/$1" && put "$2" "$MNT/triggers/$1/condition" &&
		put notify "$MNT/triggers/$1/actions" || fail "trigger $1"
}
hits() { [ "$(key hits "$MNT/triggers/$1/status")" = "$2" ]; }
trigger jul 'event jul app.* loglevel warning.. if msg != "j1000"'
trigger log4j 'event log4j * if $app.app:open == 1 && msg != "l4*" capture msg, $app.app:turn'
exec 5<"$MNT/triggers/log4j/notifications"
LD_LIBRARY_PATH=$BUILD/lttng timeout 300 java -Djava.library.path="$jni" -cp "$classes:$work" Logs ||
	fail "the program: exit status $?"
is "warning and more severe" "j1000 j900 l30000 " "$(recorded both)"
is "all levels" "j1000 j900 j800 j500 " "$(recorded all)"
is "less than a level" "l10000 " "$(recorded some)"
has "$(cat "$S/both/text")" 'lttng_jul:event: .* logger_name = "app.jul", .* int_loglevel = 900, '
has "$(cat "$S/both/text")" 'lttng_log4j:event: .* logger_name = "app.log4j", .* int_loglevel = 30000, '
has "$(cat "$S/contexts/text")" '{ _app_app_turn_tag = ( "_int32" : container = 3 ), _app_app_turn = { 2 }, _app_app_user_tag = ( "_string" : container = 11 ), _app_app_user = { "otto" }, _app_app_load_tag = ( "_double" : container = 10 ), _app_app_load = { 0.5 }, _app_app_open_tag = ( "_int8" : container = 1 ), _app_app_open = { 1 }, _app_app_none_tag = ( "_none" : container = 0 ), _app_app_none = { { } }, _app_no_one_tag = ( "_none" : container = 0 ), _app_no_one = { { } } }, { msg = "l30000"'
has "$(cat "$S/contexts/text")" '_app_app_user = { "anna é" }, .* msg = "l10000"'
is "a filter on application contexts" "l10000 " "$(recorded anna)"
if command -v babeltrace2 >/dev/null; then
	put stop "$S/contexts/control"
	same_text "$S/contexts"
fi
within 60 hits jul 1 || fail "a trigger on jul: $(cat "$MNT/triggers/jul/status")"
within 60 hits log4j 2 || fail "a trigger on log4j: $(cat "$MNT/triggers/log4j/status")"
has "$(head -n 1 <&5)" 'log4j { msg = "l30000", $app.app:turn = 2 }'
exec 5<&-
echo "$checks checks"
