#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 600
#
# Kernel rules that wait for their events: of a module that is loaded later, of one that is unloaded
# and comes again, and of a program that is installed later. SOAK: on each kernel.
kernel_in_check=6.1
. "$(dirname "$0")/lib.sh"
module=sunrpc event=rpc_clnt_new
file=$(find -L "/lib/modules/$(uname -r)" -name "$module.ko*" | head -n 1)
[ -n "$file" ] || skip "this kernel has no module $module"
case $file in
*.xz) busybox xzcat "$file" >"$work/$module.ko" ;;
*) cp "$file" "$work/$module.ko" ;;
esac
mount_tree
grep -q "^$module:" "$MNT/available/kernel/tracepoints" && fail "$module is loaded"

hits() {
	awk -v rule="$1" '$4 == rule { print $3 }' "$s/kernel/rules"
}
is_pending() {
	[ "$(hits "$1")" = pending ]
}
found() {
	! is_pending "$1"
}
# The rule has its events before the kernel has enabled each of them.
are_enabled() {
	[ "$(cat $T/instances/trailfs-t-*/set_event | wc -l)" -gt 10 ] &&
		grep -q "^$module:$event" $T/instances/trailfs-t-*/set_event
}
recorded() {
	grep -q "$1" "$s/text"
}

s=$S/t
mkdir "$s"
late=$work/late/program
printf '%s\n' "?$module:*" "?uprobe:$late:main as began" syscall:getppid >"$s/kernel/events" ||
	fail "refused: $(cat "$s/error")"
echo start >"$s/control" || fail "$(cat "$s/error")"
is_pending "?$module:*" || fail "not pending: $(cat "$s/kernel/rules")"
is_pending "?uprobe:$late:main" || fail "not pending: $(cat "$s/kernel/rules")"

# --- a program is installed
mkdir "$work/late"
printf 'int main(void) { return 0; }\n' | ${CC:-cc} -x c -o "$work/program" - || skip "no compiler"
if grep '^kernel' "$MNT/version" | grep -q 'no uprobes'; then
	echo "this kernel has no uprobes"
else
	mv "$work/program" "$late"
	within 60 found "?uprobe:$late:main" || fail "still pending: $(cat "$s/kernel/rules")"
	"$late"
	within 20 recorded ' began: ' || fail "the program is not recorded: $(cat "$s/kernel/rules")"
fi

# --- a module is loaded, twice
loads() {
	busybox insmod "$work/$module.ko" 2>"$work/why" || fail "insmod: $(cat "$work/why")"
	within 60 found "?$module:*" || fail "still pending: $(cat "$s/kernel/rules")"
	within 60 are_enabled ||
		fail "its events are not enabled: $(cat $T/instances/trailfs-t-*/set_event)"
	checks=$((checks + 1))
}
loads
busybox rmmod $module || fail "the module cannot be unloaded"
within 60 is_pending "?$module:*" || fail "not pending again: $(cat "$s/kernel/rules")"
loads
# Between two looks of the daemon: it has the same name and the same events then.
for i in 1 2 3; do
	busybox rmmod $module || fail "the module cannot be unloaded"
	loads
done
echo stop >"$s/control"
rmdir "$s"
echo "$checks checks"
