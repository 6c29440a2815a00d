#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 120
#
# snapshot_forms: a snapshot in each form of a trace (ctf_version, metadata, checksum, compress)
# goes to a directory and to a real lttng-relayd, and readers find all events in both; the same
# after a daemon was killed that had made the snapshot, but not its copy. With SOAK=1 or SID=1,
# babeltrace2 2.1 of Debian sid reads them all as well, if there is a root with it (lib/sid.sh).
. "$(dirname "$0")/../../lib/mount.sh"
. "$top/tests/lib/relay.sh"
. "$top/tests/lib/sid.sh"
ticker=$BUILD/tests/lib/ticker
need_relay
command -v python3 >/dev/null || skip "there is no python3"

newer=
[ -n "${SOAK-}${SID-}" ] && [ -e "$sid_root/made" ] && [ "$(id -u)" = 0 ] && newer=1
[ -z "$newer" ] || echo "babeltrace2 of Debian sid reads them, too"

# Takes the headers of packets away from metadata of CTF 2, which this babeltrace2 knows in CTF 1.8
# only.
cat >"$work/unpack.py" <<'END'
import struct, sys
for name in sys.argv[1:]:
    data = open(name, "rb").read()
    text = b""
    while data[:4] == struct.pack("=I", 0x75D11D57) and data[35] == 2:
        content, packet = struct.unpack_from("=II", data, 24)
        text += data[37:content // 8]
        data = data[packet // 8:]
    if text:
        open(name, "wb").write(text + data)
END

# same_newer DIRECTORY SESSION: the same events, read by the newer babeltrace2
same_newer() {
	rm -rf "$work/newer"
	cp -r "$1" "$work/newer"
	python3 "$work/unpack.py" $(find "$work/newer" -name metadata) || fail "unpack.py"
	echo "TZ=UTC babeltrace2 --clock-gmt /mnt/newer >/mnt/newer.text" >"$work/read_newer"
	sid read_newer 2>"$work/newer.err" ||
		fail "the newer babeltrace2 does not read $1: $(tail -n 5 "$work/newer.err")"
	cmp "$work/newer.text" "$2/text" || fail "$1 has other events for the newer babeltrace2"
	checks=$((checks + 1))
}
# same_events DIRECTORY SESSION VERSION: what the session has, read by babeltrace2 or judge_ctf2.py
same_events() {
	[ -z "$newer" ] || same_newer "$1" "$2"
	if [ "$3" = 1.8 ]; then
		read_relay "$1" >"$work/read"
		cmp "$work/read" "$2/text" || fail "$1 has other events"
	else
		python3 "$top/tests/lib/judge_ctf2.py" "$1" "$work/json" >"$work/judged" ||
			fail "$1: $(head -c 3000 "$work/judged")"
		is "events of $1" 300 "$(cat "$work/judged")"
	fi
	checks=$((checks + 1))
}
# copies NAME SESSION VERSION: of its snapshot, which begins with this
copies() {
	for d in "$work/there/$1"-[0-9]* "$relay_out/$(hostname)/$1"-[0-9]*/"$1"-[0-9]*; do
		same_events "$d" "$2" "$3"
	done
}

start_relay
mount_tree -o tz=UTC
for version in 1.8 2; do
	for metadata in text packets; do
		for seal in none checksum compress both; do
			n=$seal-$metadata-${version#1.}
			s=$S/$n
			mkdir "$s" || fail mkdir
			put "$version" "$s/ctf_version"
			put "$metadata" "$s/metadata"
			case $seal in
			checksum) put crc32 "$s/checksum" ;;
			compress) put gzip "$s/compress" ;;
			both) put crc32 "$s/checksum" && put gzip "$s/compress" ;;
			esac
			[ $seal = none ] || put "$work/out/$n" "$s/output"
			put "$work/there
$relay_url" "$s/snapshot_outputs"
			put 'tick:*' "$s/user/events"
			put start "$s/control"
			"$ticker" 300 0 || fail ticker
			cat "$s/export/json" >"$work/json"
			put "snapshot $n" "$s/control"
			copies "$n" "$s" "$version"
			rmdir "$s" || fail rmdir
		done
	done
done

# The next daemon knows only the memory of the snapshot.
for version in 1.8 2; do
	n=later-${version#1.}
	s=$S/$n
	mkdir "$s" || fail mkdir
	put "$version" "$s/ctf_version"
	put 'tick:*' "$s/user/events"
	put start "$s/control"
	"$ticker" 300 0 || fail ticker
	put stop "$s/control"
	stop_process "$relay_pid"
	put "$work/there
$relay_url" "$s/snapshot_outputs"
	tool mkdir "$s/snapshots/$n" >/dev/null &
	pending() { grep -q "^pending copy $n-.* net://" "$s/status"; }
	within 30 pending || fail "nothing is pending: $(cat "$s/status")"
	kill -9 $(daemon_pids)
	within 10 daemon_ended
	end_dead_mount "$MNT"
	wait $!
	kill_relay
	start_relay
	mount_tree -o tz=UTC
	cat "$s/export/json" >"$work/json"
	arrived() { ! grep -q '^pending copy' "$s/status"; }
	within 30 arrived || fail "it is not copied: $(cat "$s/status")"
	for d in "$relay_out/$(hostname)/$n"-[0-9]*/"$n"-[0-9]*; do
		[ -e "$d/ust" ] || continue	# (the first relay may have begun it)
		same_events "$d" "$s" "$version"
		seen=$version
	done
	is "the copy of the next daemon" "$version" "${seen-}"
	rmdir "$s" || fail rmdir
done
echo "$checks checks"
