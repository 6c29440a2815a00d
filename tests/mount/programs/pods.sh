#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# docs/examples/daemonset.yaml by mount namespaces with the propagation that it asks for: the daemon
# in a pod mounts its tree and its state with Bidirectional (a shared mount), so the node sees both.
# Pods with the node's state directory and HostToContainer (a slave mount) record, also one that ran
# before the daemon, and again after the daemon's pod was replaced.
. "$(dirname "$0")/../../lib/mount.sh"
[ "$(id -u)" = 0 ] || skip "needs root"
can_mount
unshare -m -p -f true 2>/dev/null || skip "no namespaces can be made here"
ticker=$BUILD/tests/lib/ticker
for field in state:Bidirectional trace:Bidirectional; do
	grep -A 2 "name: ${field%:*}\$" "$top/docs/examples/daemonset.yaml" |
		grep -q "mountPropagation: ${field#*:}" || fail "daemonset.yaml: $field"
done
cat >"$work/node.sh" <<'SH'
node=$1 work=$2 ticker=$3
fail() {
	echo "FAILED: $*"
	exit 1
}
within() {
	n=0
	until "$@" 2>/dev/null; do
		n=$((n + 1)); [ $n -lt 600 ] || return 1; sleep 0.1
	done
}
mount -t tmpfs none "$node" && mount --make-rshared "$node" && mkdir "$node/run" "$node/trace" ||
	fail "the node"
export TRAIL_RUNTIME_DIR=$node/run TRAIL_ATTACH_TIMEOUT=60000
# pod PROPAGATION COMMAND…: in namespaces of its own, with the node's directory
cat >"$work/pod" <<'POD'
#!/bin/sh
how=$1
shift
exec unshare -m -p -f --propagation unchanged sh -c 'mount --make-$0 "$NODE" && mount -t proc proc /proc &&
	exec "$@"' "$how" "$@"
POD
chmod +x "$work/pod"
export NODE=$node
mkfifo "$work/go"
"$work/pod" rslave sh -c 'read line <"$1"; exec "$2" 40 0' - "$work/go" "$ticker" &
early=$!
s=$node/trace/sessions/s
begin() {
	# (The example has hostPID.)
	unshare -m --propagation unchanged "$TRAILFS" -f "$node/trace" -o keeper=0 2>>"$work/log" &
	daemon=$!
	within test -d "$node/trace/sessions" || fail "the node does not see the tree: $(cat "$work/log")"
	within test -d "$node/run/apps" || fail "the node does not see the state directory"
	mkdir "$s" && echo 'tick:*' >"$s/user/events" && echo mnt_ns >"$s/user/contexts" &&
		echo start >"$s/control" || fail session
}
count() { grep -c tick:tock "$s/text"; }
begin
echo go >"$work/go"
wait $early || fail "the pod that ran before"
echo "before $(count)"
"$work/pod" rslave "$ticker" 30 0 || fail "a pod"
echo "after $(count)"
echo "of the node $(grep -c " mnt_ns = $(stat -L -c %i /proc/self/ns/mnt) " "$s/text")"
# preStop
umount "$node/trace" && wait $daemon || fail "the daemon's exit status"
echo "mounts $(grep -c "$node/trace" /proc/self/mounts)"
begin
"$work/pod" rslave "$ticker" 20 0 || fail "a pod after that"
echo "again $(count)"
umount "$node/trace" && wait $daemon || fail "the daemon's exit status"
SH
mkdir "$work/node"
unshare -m sh "$work/node.sh" "$work/node" "$work" "$ticker" >"$work/out" 2>&1 ||
	fail "$(cat "$work/out")"
is "pods" "before 40,after 70,of the node 0,mounts 0,again 20" "$(paste -s -d , "$work/out")"
echo "$checks checks"
