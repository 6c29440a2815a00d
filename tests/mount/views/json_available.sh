#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# available/user.json, kernel.json and those of loggers: valid by docs/schema.json, with what the
# files in the directories of these names have: programs with fields of all kinds, the kernel's
# tracepoints and a user who may not trace it, and no agent.
. "$(dirname "$0")/../../lib/mount.sh"
PYTHON=/usr/bin/python3
[ -x $PYTHON ] || PYTHON=python3
command -v $PYTHON >/dev/null || skip "there is no python3"
mount_tree
A=$MNT/available

judge() { # KIND FILE: with the lines in $work/text
	cat "$A/$2" >"$work/json" || fail "cannot read $2"
	$PYTHON "$top/tests/lib/judge_forms.py" "$top/docs/schema.json" "$1" "$work/json" \
		"$work/text" >"$work/judged" 2>&1 || fail "$2: $(cut -c1-600 "$work/judged")"
	checks=$((checks + 1))
}
# lines DIRECTORY FILE…: of the files, each with the file's name before it
lines() {
	directory=$1
	shift
	for f; do
		sed "s,^,$f\t," "$A/$directory/$f" || fail "cannot read $directory/$f"
	done
}
user() {
	lines user tracepoints fields contexts >"$work/text"
	judge available_user user.json
}
user
mkfifo "$work/hold"
"$BUILD/tests/lib/fields" 2000000000 >"$work/said" 2>&1 &
program=$!
"$BUILD/tests/mount/views/gauge" 1 <"$work/hold" >"$work/said2" &
exec 7>"$work/hold"
here() { grep -q '^gauge:read ' "$A/user/tracepoints" && grep -q '^f:all ' "$A/user/tracepoints"; }
within 20 here || fail "no program: $(cat "$A/user/tracepoints")"
stop_process $program
user
has "$(cat "$A/user.json")" '^{"name":"gauge:read","loglevel":"[a-z_]*","fields":\[{"name":"i","type":"int32"},{"name":"number","type":"double"},{"name":"small","type":"float"}\]}'
exec 7>&-
kill -9 $program
wait

for d in jul log4j log4j2 python; do
	: >"$work/text"
	judge available_loggers $d.json
	is "$d.json" '{"loggers":[]}' "$(cat "$A/$d.json")"
done
is "listed" "jul.json log4j.json log4j2.json python.json user.json" \
	"$(ls "$A" | grep json | grep -v kernel | tr '\n' ' ' | sed 's/ $//')"
[ "$(stat -c %s "$A/user.json")" = "$(wc -c <"$A/user.json")" ] || fail "size of user.json"

if [ -e "$A/kernel" ]; then
	probes=
	if [ -e "$A/kernel/probes" ]; then
		probes=probes
		is "who records each tracepoint" "$(sort "$A/kernel/tracepoints")" \
			"$(sed 's/ .*//' "$A/kernel/probes" | sort)"
	fi
	some=$(cd "$A/kernel" && ls -d events/sched/* events/syscalls/sys_enter_openat 2>/dev/null)
	lines kernel tracepoints syscalls contexts groups $probes $some >"$work/text"
	judge available_kernel kernel.json
	if [ "$(id -u)" = 0 ] &&
		setpriv --reuid 54321 --regid 54321 --clear-groups true 2>/dev/null; then
		chmod 755 "$work"
		setpriv --reuid 54321 --regid 54321 --clear-groups cat "$A/user.json" \
			>"$work/json" || fail "a user cannot read user.json"
		setpriv --reuid 54321 --regid 54321 --clear-groups cat "$A/kernel.json" \
			>"$work/json" 2>&1 && fail "a user reads the kernel's tracepoints"
		has "$(cat "$work/json")" 'Permission denied'
	fi
else
	is "without the kernel" ENOENT "$(tool open "$A/kernel.json" r)"
fi
echo "$checks checks"
