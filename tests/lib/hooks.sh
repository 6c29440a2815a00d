# SPDX-License-Identifier: GPL-2.0-or-later
#
# For tests of hooks, after lib/mount.sh.

# hook_session NAME RULE…: a new session with these rules, which records them
hook_session() {
	mkdir "$S/$1" && mkdir "$S/$1/kernel/channels/channel0" || fail "no session $1"
	echo 4M >"$S/$1/kernel/channels/channel0/subbuf_size"
	hook_session=$1
	shift
	printf '%s\n' "$@" >"$S/$hook_session/kernel/events" ||
		fail "$*: $(cat "$S/$hook_session/error")"
	is "contexts of hooks" "tid pid ppid " "$(tr '\n' ' ' <"$S/$hook_session/kernel/contexts")"
	echo procname >>"$S/$hook_session/kernel/contexts"
}

# hook_fields: after fire_hooks, in $work/fields, which of LKET's fields the records have; those that
# this kernel can fill must be filled.
hook_fields() {
	kernel=$(uname -r | sed 's/^\([0-9]*[.][0-9]*\).*/\1/')
	python3 "$top/tests/lib/lket_fields.py" "$top/data/lket-kernels.txt" "$kernel" \
		"$work/fields" "$work/lket of one" "$work/lket of all" >"$work/empty" 2>&1 ||
		fail "lket_fields.py: $(cat "$work/empty")"
	tail -n 1 "$work/empty"
	! grep -q "^kernel .*\<$kernel\>" "$top/data/lket-kernels.txt" ||
		is "fields that nothing fills" "" "$(sed '$d' "$work/empty")"
	# (The idle threads have the number 0.)
	is "records of threads without a process or a parent" "1 0 0" "$(tail -n 1 "$work/empty" |
		awk '{ print ($(NF - 3) > 0), $(NF - 3) - $(NF - 2), $(NF - 3) - $(NF - 1) }')"
}

# fire_hooks NAME [COMMAND]: two sessions record hooks while hook_calls does what they stand for, and
# the command, which prints lines as hook_calls does. Each hook that this kernel records must have
# these values; $work/fired has their names, and v, or f if no value of the hook was known;
# $work/groups how each hook is recorded.
fire_hooks() {
	hook_session "$1" '@*'
	echo $$ >"$S/$1/kernel/track/pid"
	# What is not done by the process itself
	hook_session "$1b" "@* except @syscall,@iosyscall,@aio,@signal.s*,@signal.p*,@signal.do_action,\
@pagefault,@process,@tskdispatch.ctxswitch"
	cat "$MNT/available/kernel/groups" >"$work/groups"
	mkdir "$work/hook files"
	echo start >"$S/$1b/control"
	echo start >"$S/$1/control"
	"$BUILD/tests/lib/hook_calls" "$work/hook files" >"$work/calls" || fail "hook_calls"
	echo stop >"$S/$1/control"
	[ -z "${2-}" ] || $2 >"$work/more"
	echo stop >"$S/$1b/control"
	cp -r "$S/$1/export/lket" "$work/lket of one" && cp -r "$S/$1b/export/lket" "$work/lket of all" ||
		fail "export/lket"
	cat "$S/$1/export/lket.txt" "$S/$1b/export/lket.txt" >"$work/lines" || fail "lket.txt"
	{ sed '$d' "$work/calls"; echo "process.snapshot tid:$$,pid:$$,"; [ -z "${2-}" ] || cat "$work/more"; } |
		python3 "$top/tests/lib/hook_values.py" "$work/groups" "$work/lines" \
			"$(tail -n 1 "$work/calls")" "$work/fired" >"$work/silent" 2>&1 ||
		fail "hook_values.py: $(cat "$work/silent")"
	is "hooks that do not have their values" "" "$(cat "$work/silent")"
	rmdir "$S/$1" "$S/$1b"
}

# hook_table: after fire_hooks, lines `HOOK PATTERN` with what records each hook, or -; `v` after it:
# it was fired and its values compared; `f`: fired.
hook_table() {
	awk -v fired="$work/fired" '
	BEGIN { while ((getline <fired) > 0) done[$1] = " " $2 }
	{ print $1, $3 done[$1] }' "$work/groups" | LC_ALL=C sort
}
