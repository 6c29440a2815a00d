#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# Programs in containers with a root directory of their own, which has nothing of the host's but the
# state directory: the host's daemon records all their events. Containers are made by unshare(1)
# and, where it works, by podman, of root and of a user. Then the daemon itself is in a container.
. "$(dirname "$0")/../../lib/mount.sh"
[ "$(id -u)" = 0 ] || skip "needs root"
unshare -U -r -m -p -f -n true 2>/dev/null || skip "no namespaces can be made here"
command -v pivot_root >/dev/null || skip "there is no pivot_root"
ticker=$BUILD/tests/lib/ticker
! ldd "$ticker" | grep -q asan || skip "the root has no sanitizer"

# ---- a root directory: the program and its libraries ----

root=$work/root
mkdir -p "$root/bin" "$root/run/trailfs" "$root/old" "$root/proc" "$root/dev" "$root/sys" \
	"$root/etc" "$root/tmp" || fail mkdir
cp "$ticker" "$root/bin/"
LD_LIBRARY_PATH=$BUILD ldd "$ticker" | sed -n 's,^.*[ \t]\(/[^ ]*\) (0x.*$,\1,p' >"$work/libs"
while read -r lib; do
	mkdir -p "$root${lib%/*}" && cp -L "$lib" "$root$lib" || fail "copy $lib"
done <"$work/libs"
mkdir -p "$root/lib" && cp -L "$BUILD/libtrail.so.0" "$root/lib/"
chmod -R go+rX "$root"

mount_tree
session() {
	mkdir "$S/$1" && echo 'tick:*' >"$S/$1/user/events" && echo "pid_ns mnt_ns" >"$S/$1/user/contexts" &&
		echo start >"$S/$1/control" || fail "session $1"
}
count() { grep -c ' tick:tock: ' "$S/$1/text"; }
in_container='mount --rbind "$0" "$0" && mount --rbind "$1" "$0/run/trailfs" && cd "$0" &&
	pivot_root . old && cd / &&
	TRAIL_RUNTIME_DIR=/run/trailfs LD_LIBRARY_PATH=/lib exec /bin/ticker "$2" 0'

# ---- unshare ----

session early
for user in "" "-U -r"; do
	unshare $user -m -p -f -n sh -c "$in_container" "$root" "$TRAIL_RUNTIME_DIR" 50 ||
		fail "the container ends with $?"
done
is "with a user namespace and without" 100 "$(count early)"
own=$(stat -L -c %i /proc/self/ns/pid)
is "not the host's PID namespace" 0 "$(grep -c "pid_ns = $own[ ,]" "$S/early/text")"
# Two at once, while a session starts
unshare -U -r -m -p -f -n sh -c "$in_container" "$root" "$TRAIL_RUNTIME_DIR" 3000 &
a=$!
unshare -U -r -m -p -f -n sh -c "$in_container" "$root" "$TRAIL_RUNTIME_DIR" 3000 &
b=$!
session late
wait $a && wait $b || fail "a container failed"
is "two at once" 6100 "$(($(count early) + $(key events_discarded "$S/early/status")))"

# ---- podman ----

# try_podman NAME COMMAND…: the command runs podman. (Its runtime refuses two versions of control
# groups at once, and limits that it cannot raise.)
try_podman() {
	session "$1"
	name=$1
	shift
	if unshare -m sh -c 'mount -t cgroup2 none /sys/fs/cgroup && cd / && exec "$@"' - timeout 100 \
		"$@" run --rm --network none --cgroups=disabled --security-opt seccomp=unconfined \
		--ulimit nofile=1024:1024 --ulimit nproc=1000:1000 \
		-v "$TRAIL_RUNTIME_DIR:/run/trailfs" -e TRAIL_RUNTIME_DIR=/run/trailfs \
		-e LD_LIBRARY_PATH=/lib -e TRAIL_ATTACH_TIMEOUT=60000 \
		--rootfs "$root" /bin/ticker 40 0 2>"$work/err"; then
		is "podman, $name" 40 "$(count "$name")"
		podman="${podman-} $name"
	else
		echo "# podman, $name, is left out: $(tail -n 1 "$work/err")"
	fi
}
if command -v podman >/dev/null; then
	mkdir "$work/user" && chown 65534 "$work/user"
	# (podman wants a short name)
	short=$(mktemp -d /tmp/p.XXXXXX)
	trap 'ended=$?; rm -rf "$short"; (exit $ended); clean_up' EXIT
	try_podman rootful podman --root "$work/storage" --runroot "$short"
	umount "$work/storage/overlay" 2>/dev/null
	chown -R 65534 "$root"
	try_podman rootless setpriv --reuid 65534 --regid 65534 --clear-groups \
		env -u XDG_CONFIG_HOME HOME="$work/user" XDG_RUNTIME_DIR="$work/user" podman
	# The process that keeps a user's namespaces
	kill $(cat "$work/user/libpod/tmp/pause.pid" 2>/dev/null) 2>/dev/null
	umount "$work/user/.local/share/containers/storage/overlay" 2>/dev/null
else
	echo "# podman is left out: it is not installed"
fi

# ---- the daemon in a container ----

mkdir "$work/inside" "$work/here"
unshare -m -p -f --mount-proc sh -c '
	export TRAIL_RUNTIME_DIR=$1
	"$2" "$0" -o keeper=0 && mkdir "$0/sessions/s" && echo "tick:*" >"$0/sessions/s/user/events" &&
	echo start >"$0/sessions/s/control" && "$3" 30 0 && cat "$0/sessions/s/text"
	umount "$0"' "$work/inside" "$work/here" "$TRAILFS" "$ticker" >"$work/text" 2>"$work/err"
is "inside: $(cat "$work/err")" 30 "$(grep -c ' tick:tock: ' "$work/text")"
echo "$checks checks: unshare${podman+, podman:$podman}"
