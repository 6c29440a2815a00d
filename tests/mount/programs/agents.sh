#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 400
#
# The domain python/ of sessions, with LTTng's agent for Python as Debian has it: rules on loggers
# with levels and filters in several sessions, programs that start before a session and while no
# daemon runs, a killed daemon, peers that are no agents, another daemon's port; which loggers and
# application contexts an agent is told to enable; triggers on loggers.
. "$(dirname "$0")/../../lib/mount.sh"
python=/usr/bin/python3
port_file=$work/.lttng/agent.port
$python -c 'import lttngust' 2>/dev/null || skip "python3-lttngust is not installed"
LTTNG_UST_PYTHON_REGISTER_RETRY_DELAY=50
LTTNG_UST_PYTHON_REGISTER_TIMEOUT=100000
export LTTNG_UST_PYTHON_REGISTER_RETRY_DELAY LTTNG_UST_PYTHON_REGISTER_TIMEOUT
mount_tree

# session NAME RULE: started
session() {
	mkdir "$S/$1" && put "$2" "$S/$1/python/events" && put start "$S/$1/control" ||
		fail "session $1"
}
# recorded NAME: the messages, in one line
recorded() { sed -n 's/.* lttng_python:event: .* msg = "\([^"]*\)".*/\1/p' "$S/$1/text" | tr '\n' ' '; }
acks() { [ "$(wc -l <"$work/acks")" -ge "$1" ]; }
# tell LOGGER LEVEL MESSAGE: the program will log it; say: and has
sent=1
tell() {
	echo "$*" >&3
	sent=$((sent + 1))
}
say() {
	tell "$@"
	within 60 acks $sent || fail "the program does not log"
}
# until_recorded NAME LOGGER LEVEL MESSAGE: the program logs until the session records it. (A
# program that runs already learns of new rules a moment later.)
appears() {
	say "$2" "$3" "$4"
	recorded "$1" | grep -q "$4"
}
until_recorded() { within 60 appears "$@" || fail "$1 does not record $4: $(recorded "$1")"; }
agents_are() { [ "$(key agents "$S/$1/status")" = "$2" ]; }

# ---- a trigger on loggers; there is no session ----

T=$MNT/triggers
gone() { [ ! -e "$port_file" ]; }
hits() { [ "$(key hits "$T/$1/status")" = "$2" ]; }
# log_once LINE…: a program of its own logs these lines
log_once() { printf '%s\n' "$@" | LD_LIBRARY_PATH=$BUILD/lttng $python "$here/agents.py" log "$work/once"; }
mkdir "$T/bad" "$T/off" || fail "triggers"
rule='app.* loglevel error.. if msg != "*secret*" capture msg, logger_name, int_loglevel, none'
put "event python $rule" "$T/bad/condition" && put notify "$T/bad/actions"
put 0 "$T/off/enabled" && put 'event python *' "$T/off/condition"
is "its condition" "event python $rule" "$(cat "$T/bad/condition")"
is "the port for a trigger" "$(cat "$port_file")" "$(key agent_port "$T/bad/status")"
exec 5<"$T/bad/notifications"
log_once 'app.db 40 a-secret' 'app.db 30 low' 'other 50 else' 'app.db 41 found' 'app.x 50 too'
within 60 hits bad 2 || fail "a trigger on loggers: $(cat "$T/bad/status")"
head -n 1 <&5 | grep -q 'bad { msg = "found", logger_name = "app.db", int_loglevel = 41, none = unavailable }' ||
	fail "captured values"
exec 5<&-
hits off 0 || fail "a trigger that is off"
put 1 "$T/off/enabled" && put 0 "$T/bad/enabled"
log_once 'b 10 x' 'app.b 50 y'
within 60 hits off 2 || fail "a trigger that was switched on: $(cat "$T/off/status")"
hits bad 2 || fail "a trigger that was switched off"
# wrong CONDITION SENTENCE CARET: it is a mistake, at this column (-1: no caret)
wrong() {
	echo "$1" 2>/dev/null >"$T/off/condition" && fail "a mistake: $1"
	has "$(cat "$T/off/error")" "^condition:1: .*$2"
	is "caret of '$1'" "$3" "$(awk '/^ *\^$/ && !n { at = index($0, "^") - 3; n = 1 } END { print n ? at : -1 }' "$T/off/error")"
}
wrong 'event log4j2 app.* loglevel errr' "no such level 'errr'; levels are off (0), fatal (100)" 28
wrong 'event jul if msg == "x" capture msg' "a logger's name is missing" 10
wrong 'event python a if msg == "x" &&' 'a value is missing' 31
wrong 'event python capture msg' 'a rule is missing' 13
wrong 'event pyton a' "did you mean 'python'" 6
is "the condition of before" 'event python *' "$(cat "$T/off/condition")"
rmdir "$T"/* && within 60 gone || fail "a port without a trigger"

# ---- three sessions, and a program that starts after them ----

[ ! -e "$port_file" ] || fail "a port before there is a rule"
session warn 'app.* loglevel warning..'
session err '* loglevel error'
session low 'app.db loglevel debug..info if msg != "*secret*"'
is "a rule reads back" 'app.db loglevel debug..info if msg != "*secret*"' \
	"$(cat "$S/low/python/events")"
is "the port" "$(cat "$port_file")" "$(key agent_port "$S/warn/status")"
is "its mode" 644 "$(stat -c %a "$port_file")"
mkfifo "$work/fifo"
: >"$work/acks"
LD_LIBRARY_PATH=$BUILD/lttng $python "$here/agents.py" log "$work/acks" <"$work/fifo" &
program=$!
exec 3>"$work/fifo"
within 60 acks 1 || fail "the program does not begin"
for level in 10 20 25 30 40 50; do
	tell app.db $level "a$level"
	tell other $level "o$level"
done
say app.db 20 a-secret
is "warning and more severe" "a30 a40 a50 " "$(recorded warn)"
is "error alone" "a40 o40 " "$(recorded err)"
is "a range with a filter" "a10 a20 " "$(recorded low)"
has "$(cat "$S/low/text")" 'logger_name = "app.db", funcName = "log", lineno = [0-9]*, int_loglevel = 20, '
has "$(ls "$S/warn/trace/ust/uid/$(id -u)/64-bit")" '^lttng_python_channel_[0-9]*$'
has "$(cat "$MNT/available/python/loggers")" '^app.db$'
agents_are warn 1 || fail "agents: $(cat "$S/warn/status")"

mkdir "$T/off"
wrong 'event python a if lineno == "x"' 'a string' 25
rmdir "$T/off"

# ---- a session that comes later, rules that change ----

session late 'nothing.at.all'
put 'app.db if int_loglevel == 21' "$S/late/python/events"
until_recorded late app.db 21 later
printf '%s\n' '!app.db' 'x loglevel >= 35' '~y z' 2>/dev/null >>"$S/late/python/events" &&
	fail "a line with a mistake was taken"
has "$(cat "$S/late/error")" "events:3: 'z' is not expected here"
is "nothing of it was taken" 'app.db loglevel == 21' "$(sed 's/if int_log/log/' "$S/late/python/events")"
printf '%s\n' '!app.db' 'x loglevel >= 35' '~y' >>"$S/late/python/events" || fail "rules"
is "rules by their loggers" 'x loglevel >= 35|~y|' "$(tr '\n' '|' <"$S/late/python/events")"
cat "$S/late/config" >"$work/saved"
mkdir "$S/copy" && cat "$work/saved" >"$S/copy/config" || fail "config"
is "a saved configuration" "$(cat "$S/late/python/events")" "$(cat "$S/copy/python/events")"

# ---- the owner of a connection ----

if [ "$(id -u)" = 0 ]; then
	mkdir "$S/theirs" && chown 65534 "$S/theirs" && put '*' "$S/theirs/python/events" &&
		put start "$S/theirs/control" || fail "a session of another user"
	say app.db 50 ours
	agents_are theirs 0 || fail "another user's program: $(cat "$S/theirs/status")"
	has "$(cat "$S/theirs/status")" '^advice agents: no program is connected, but those of other'
	is "another user's records" "" "$(recorded theirs)"
	rmdir "$S/theirs"
fi

# ---- peers that are no agents ----

timeout 200 $python "$here/agents.py" hostile "$(cat "$port_file")" || fail "hostile peers"
agents_are warn 1 || fail "agents after hostile peers: $(cat "$S/warn/status")"

# ---- application contexts, of which the agents of Java are told ----

mkdir "$S/java"
echo '$app.q.r:x nonsense' 2>/dev/null >"$S/java/jul/contexts" && fail "a wrong context is taken"
is "no channel by a wrong context" "contexts error events " "$(ls "$S/java/jul" | tr '\n' ' ')"
is "no contexts" "" "$(cat "$S/java/jul/contexts")"
put '$app.q.r:x' "$S/java/jul/contexts"
is "contexts before a rule" '$app.q.r:x' "$(cat "$S/java/jul/contexts")"
put 'a.b if $app.p:n == 1 || $app.p:n == 2' "$S/java/jul/events"
put '*' "$S/java/python/events"
put '$app.q.r:x' "$S/java/python/contexts"
put start "$S/java/control"
for domain in 3 5; do
	: >"$work/agent$domain"
	timeout 200 $python "$here/agents.py" agent "$(cat "$port_file")" $domain >>"$work/agent$domain" &
	agents="$agents $!"
	within 60 grep -q '^4' "$work/agent$domain" || fail "domain $domain: no registration"
done
is "loggers and contexts" "2 a.b|5 p n|5 q.r x|4 |" "$(tr '\n' '|' <"$work/agent3")"
grep -q '^5' "$work/agent5" && fail "Python's agent gets a context: $(cat "$work/agent5")"
put 'a.b if $app.q:y == "1"' "$S/java/jul/events"
within 60 grep -q '^6 p n$' "$work/agent3" || fail "a context that no session has any more"
is "contexts of another filter" "5 q y|6 p n|" "$(tail -n +5 "$work/agent3" | tr '\n' '|')"

# Agents that break off at a context, or never answer; more contexts than an agent may get, and long
# names: the agent of before gets all that it should.
mkfifo "$work/silent"
: >"$work/hostile"
timeout 200 $python "$here/agents.py" contexts "$(cat "$port_file")" <"$work/silent" >"$work/hostile" &
agents="$agents $!"
exec 4>"$work/silent"
within 60 grep -q done "$work/hostile" || fail "hostile agents: $(cat "$work/hostile")"
for i in 1 2 3 4 5; do
	mkdir "$S/many$i" && put 'a.b' "$S/many$i/jul/events"
	put "$(seq -f "\$app.p$i:n%0250.f" 60)" "$S/many$i/jul/contexts"
	put start "$S/many$i/control"
done
# (As many as one agent gets.)
all_enabled() { [ $(($(grep -c '^5' "$work/agent3") - $(grep -c '^6' "$work/agent3"))) = 256 ]; }
within 60 all_enabled || fail "$(grep -c '^5' "$work/agent3") contexts"
grep -q '^5 p1 n[0-9]\{250\}$' "$work/agent3" || fail "a long name"
exec 4>&-
kill $agents
wait $agents 2>/dev/null
rmdir "$S/java" "$S"/many*

# ---- the daemon is killed ----

mkdir "$T/kept" && put 'event python app.db loglevel 31' "$T/kept/condition"
port=$(cat "$port_file")
kill -9 $(daemon_pids)
within 60 daemon_ended
fusermount3 -u -z "$MNT"
# (A daemon that had the FIFO open would keep the program from its end.)
mount_tree 3>&-
reconnected() { [ -e "$port_file" ] && [ "$(cat "$port_file")" = "$port" ] && agents_are warn 1; }
within 60 reconnected || fail "the agent does not come back: $(cat "$S/warn/status")"
is "rules after a restart" 'app.* loglevel >= warning' "$(cat "$S/warn/python/events")"
until_recorded warn app.db 31 again
hit() { ! hits kept 0; }
within 60 hit || fail "a trigger after a restart: $(cat "$T/kept/status")"
rmdir "$T/kept"
put '*' "$S/late/python/events"
until_recorded late whatever 1 everything

# ---- another daemon has the port ----

mkfifo "$work/end"
$python "$here/agents.py" listen "$work/other" <"$work/end" &
exec 4>"$work/end"
within 60 test -e "$work/other" || fail "no listener"
for s in "$S"/*; do echo >"$s/python/events"; done
within 60 gone || fail "a port without rules"
cp "$work/other" "$port_file"
put '*' "$S/late/python/events"
has "$(cat "$S/late/error")" 'another daemon serves agents'
has "$(cat "$S/late/status")" '^problem agents: another daemon'
cmp "$work/other" "$port_file" || fail "the file of another daemon was changed"
exec 4>&-
taken() { grep -q '^agent_port [1-9]' "$S/late/status" && ! grep -q '^problem' "$S/late/status"; }
within 60 taken || fail "the other daemon has ended, but: $(cat "$S/late/status")"

exec 3>&-
wait $program || fail "the program: exit status $?"
echo "$checks checks"
