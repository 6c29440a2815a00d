#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 100
#
# Maps of the records of loggers: a rule of a map on an agent's event makes agents enable the
# loggers that it needs, as a rule of the domain does, and no other, also if the rule only counts.
. "$(dirname "$0")/../../lib/mount.sh"
python=/usr/bin/python3
$python -c 'import lttngust' 2>/dev/null || skip "python3-lttngust is not installed"
LTTNG_UST_PYTHON_REGISTER_TIMEOUT=100000
export LTTNG_UST_PYTHON_REGISTER_TIMEOUT
mount_tree
s=$S/logs
m=$s/user/maps
log() { # PROGRAM'S LINES
	printf '%s\n' "$@" | LD_LIBRARY_PATH=$BUILD/lttng $python "$here/agents.py" log "$work/acks" \
		2>/dev/null || fail "the program ended with $?"
}
values() { grep '^ *[0-9]' "$m/$1/values" | tr -s ' ' | sed 's/^ //'; }

mkdir "$s" "$m/name" "$m/two" "$m/event" || fail mkdir
put 'lttng_python:event by logger_name' "$m/name/rules"
put 'lttng_python:event if logger_name == "app.two" && int_loglevel >= 40' "$m/two/rules"
put 'lttng_python:event by $event' "$m/event/rules"
[ ! -e "$work/.lttng/agent.port" ] || fail "agents are served before the start"
put start "$s/control"
[ -s "$work/.lttng/agent.port" ] || fail "no port for agents"
log 'app.one 30 a' 'app.two 40 b' 'app.two 30 c' 'app.two 50 d'
is "by the logger's name" '3 app.two
1 app.one' "$(values name)"
is "with a filter" 2 "$(values two)"
is "by the event" '4 lttng_python:event' "$(values event)"
is "nothing is recorded" 0 "$(key events_recorded "$s/status")"
rmdir "$m/name" "$m/event"

# Only what the one rule needs: another program asks which loggers it is to enable.
$python "$here/agents.py" agent "$(cat "$work/.lttng/agent.port")" 5 >"$work/commands" 2>/dev/null &
agent=$!
enabled() { grep -q '^2 ' "$work/commands"; }
within 60 enabled || fail "an agent is told to enable nothing: $(cat "$work/commands")"
is "loggers" '2 app.two' "$(grep '^2 ' "$work/commands")"
kill $agent
rmdir "$s"
gone() { [ ! -e "$work/.lttng/agent.port" ]; }
within 60 gone || fail "the port is there without rules"
