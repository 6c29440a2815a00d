#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 240
#
# The libraries that are preloaded: events of allocations, mutexes, functions and libraries, state
# dumps; the programs notice nothing. preload/lttng.events has what LTTng-UST 2.13 writes into the
# metadata of the events of its helpers.
. "$(dirname "$0")/../../lib/mount.sh"
command -v babeltrace2 >/dev/null || skip "there is no babeltrace2"
src=$here/preload
for c in alloc mutex dlopen; do
	${CC:-cc} -O1 -D_GNU_SOURCE -Wl,-rpath,"$work/lib" -o "$work/$c" "$src/$c.c" -ldl \
		-lpthread || fail "$c.c"
done
${CC:-cc} -O1 -g -finstrument-functions -o "$work/functions" "$src/functions.c" || fail functions.c
mkdir "$work/lib"
${CC:-cc} -O1 -g -shared -fPIC -Wl,--build-id=0x0123456789abcdef -o "$work/plugin.so" \
	"$src/plugin.c" || fail plugin.c
cp "$work/plugin.so" "$work/lib/libalongpath.so"
# A debug link, as distributions have them
linked=0
if command -v objcopy >/dev/null; then
	objcopy --only-keep-debug "$work/plugin.so" "$work/plugin.debug" &&
		objcopy --add-gnu-debuglink="$work/plugin.debug" "$work/plugin.so" && linked=1
fi
mount_tree

# session NAME RULE… : an active one with room for what is to come
session() {
	name=$1
	shift
	mkdir "$S/$name" "$S/$name/user/channels/c" &&
		echo 4M >"$S/$name/user/channels/c/subbuf_size" || fail "session $name"
	for rule; do echo "$rule" >>"$S/$name/user/channels/c/events" || fail "rule $rule"; done
	echo start >"$S/$name/control" || fail "start $name"
}
# with HELPER,… COMMAND…: runs it with them
with() {
	preload=
	for helper in $(echo "$1" | tr , ' '); do preload=$preload$BUILD/libtrail-$helper.so:; done
	shift
	timeout 200 env LD_PRELOAD="$preload" "$@" || fail "$*: exit status $?"
}
# done_with NAME: stops it, leaves its text in text, without times and CPU in have; babeltrace2
# agrees, nothing was lost
done_with() {
	echo stop >"$S/$1/control" || fail "stop $1"
	cat "$S/$1/text" >"$work/text"
	TZ=UTC babeltrace2 "$S/$1/trace" >"$work/bt2" 2>"$work/bt2.err" ||
		fail "$1: babeltrace2: $(cat "$work/bt2.err")"
	cmp "$work/text" "$work/bt2" || fail "$1: text and babeltrace2 differ"
	is "$1: discarded" 0 "$(key events_discarded "$S/$1/status")"
	sed 's/^\[[^]]*\] ([^)]*) [^ ]* \([^ ]*\): { cpu_id = [0-9]* }, /\1 /' "$work/text" \
		>"$work/have"
	cp "$S/$1/trace/ust/uid/$(id -u)/64-bit/metadata" "$work/$1.metadata" 2>/dev/null ||
		cp "$(find "$S/$1/trace" -name metadata | head -n 1)" "$work/$1.metadata" ||
			fail "$1: no metadata"
	rmdir "$S/$1" || fail "rmdir $1"
}
count() { grep -c "$1" "$work/have"; }

# defined NAME: the events in the metadata of what was done_with it, as preload/lttng.events has
# them
defined() {
	awk '/^event \{/ { name = level = fields = ""; on = 1; next }
		on && /name = / { split($0, part, "\""); name = part[2] }
		on && /loglevel = / { level = $3; sub(";", "", level) }
		on && /integer|string/ { field = $0; sub(/^[ \t]*/, "", field); fields = fields " " field }
		on && /^\};/ { print name " " level fields; on = 0 }' "$work/$1.metadata" | sort -u >"$work/defined"
	checks=$((checks + $(wc -l <"$work/defined")))
	[ -s "$work/defined" ] && sort "$src/lttng.events" |
		comm -23 "$work/defined" - >"$work/other" || fail "$1: nothing defined"
	[ ! -s "$work/other" ] || fail "$1: not as LTTng has it: $(cat "$work/other")"
}

# ---- allocations ----

session one 'lttng_ust_libc:*'
with libc "$work/alloc" one >"$work/want"
done_with one
defined one
# What is here of others has other sizes, or frees other memory.
sed -n 's/^lttng_ust_libc://p' "$work/have" >"$work/all"
grep -E 'size = (7000[0-9]|9223372036854705798)[, ]|nmemb = 70003' "$work/all" >"$work/sized"
grep -v '^free' "$work/want" | diff - "$work/sized" || fail "allocations"
for p in $(sed -n 's/^free.*ptr = \(0x[0-9A-F]*\).*/\1/p' "$work/want"); do
	grep -q "^free { ptr = $p }" "$work/all" || fail "no free of $p"
done
is "allocations never freed twice" "" "$(awk '
	{ gsub(/,/, " "); p = ""
	  for (i = 1; i < NF; i++) if ($i == "ptr" || $i == "out_ptr") p = $(i + 2) }
	$1 == "free" && p != "0x0" { if (freed[p]) print; freed[p] = 1; next }
	{ freed[p] = 0 }' "$work/all")"

# Where looking the functions up allocates, and its memory is given back when all is there
if ${CC:-cc} -shared -fPIC -D_GNU_SOURCE -fno-builtin -o "$work/libearly.so" "$src/early.c" \
	-ldl; then
	LD_PRELOAD=$BUILD/libtrail-libc.so:$work/libearly.so timeout 200 "$work/alloc" one \
		>"$work/early" || fail "early: $?"
	is "early" "$(wc -l <"$work/want")" "$(wc -l <"$work/early")"
fi

session many 'lttng_ust_libc:*'
with libc "$work/alloc" many 8 300
done_with many
is "threads: malloc" 2400 "$(count 'libc:malloc { size = 70001,')"
is "threads: calloc" 2400 "$(count 'libc:calloc { nmemb = 1, size = 70002,')"

session forks 'lttng_ust_libc:*'
with libc,pthread,dl "$work/alloc" many 6 100 fork
TRAIL_RSEQ=0 with libc,pthread,dl "$work/alloc" many 6 100 fork
done_with forks
is "forks: malloc" $((2 * 6 * 150)) "$(count 'libc:malloc { size = 70001,')"

# Programs of others do what they do.
session programs 'lttng_ust_*:*'
seq 200000 | sort -R >"$work/shuffled"
for helpers in libc pthread dl libc,pthread,dl,cyg-profile dl,pthread,libc; do
	is "$helpers: sort" "$(sort -n "$work/shuffled" | cksum)" \
		"$(with $helpers sort -n --parallel=4 -S 1M -T "$work" "$work/shuffled" | cksum)"
	is "$helpers: bash" "3 x" \
		"$(with $helpers bash -c 'echo $(printf "%s\n" a b c | wc -l) $( (echo x) )')"
	is "$helpers: ls" "$(ls -l /usr/bin | cksum)" "$(with $helpers ls -l /usr/bin | cksum)"
	if command -v python3 >/dev/null; then
		is "$helpers: python3" 4950 "$(with $helpers python3 -c '
import threading, subprocess, json
r = []
t = [threading.Thread(target=lambda i=i: r.append(json.loads(json.dumps(i)))) for i in range(100)]
[x.start() for x in t]; [x.join() for x in t]
subprocess.run(["true"], check=True)
print(sum(r))')"
	fi
done
echo stop >"$S/programs/control" || fail "stop"
[ "$(key events_recorded "$S/programs/status")" -gt 1000 ] ||
	fail "programs: $(cat "$S/programs/status")"
TZ=UTC babeltrace2 "$S/programs/trace" >"$work/bt2" 2>/dev/null || fail "programs: babeltrace2"
# Of these programs, only Python loads libraries by itself, where its modules are not built in.
load=
python3 -c 'import threading, subprocess, json
exit("/lib-dynload/" not in open("/proc/self/maps").read())' 2>/dev/null && load=lib:load
for e in libc:malloc libc:free libc:calloc libc:realloc pthread:pthread_mutex_lock_req $load \
	statedump:bin_info; do
	grep -q " lttng_ust_$e: " "$work/bt2" || fail "programs: no $e"
done
rmdir "$S/programs"

# ---- mutexes ----

session mutex 'lttng_ust_pthread:*'
with pthread "$work/mutex" one >"$work/want"
with pthread "$work/mutex" many 4 500
done_with mutex
defined mutex
m=$(sed -n '1s/.*= \(0x[0-9A-F]*\).*/\1/p' "$work/want")
sed -n "s/^lttng_ust_pthread:pthread_mutex_\(.*mutex = $m[ ,].*\)/\1/p" "$work/have" |
	diff "$work/want" - || fail "mutexes"
for e in lock_req lock_acq unlock; do
	[ "$(count "pthread_mutex_$e {")" -ge 2000 ] || fail "$e: $(count "pthread_mutex_$e {")"
done

# ---- functions ----

session functions 'lttng_ust_cyg*:*'
with cyg-profile "$work/functions" >"$work/want.full"
with cyg-profile-fast "$work/functions" >"$work/want.fast"
done_with functions
defined functions
sed -n 's/^lttng_ust_cyg_profile:func_\([a-z]*\) { addr = \(0x[0-9A-F]*\), call_site = 0x[0-9A-F]* }$/\1 \2/p' "$work/have" |
	diff "$work/want.full" - || fail "functions"
sed -n -e 's/^lttng_ust_cyg_profile_fast:func_entry { addr = \(0x[0-9A-F]*\) }$/entry \1/p' \
	-e 's/^lttng_ust_cyg_profile_fast:func_exit { }$/exit/p' "$work/have" >"$work/fast"
sed 's/^exit .*/exit/' "$work/want.fast" | diff - "$work/fast" || fail "functions, fast"

# ---- libraries ----

session dl 'lttng_ust_dl:*' 'lttng_ust_lib:*'
with dl "$work/dlopen" "$work/plugin.so" libalongpath.so >"$work/base"
done_with dl
defined dl
base=$(cat "$work/base")
id='_build_id_length = 8, build_id = \[ \[0\] = 0x1, \[1\] = 0x23, \[2\] = 0x45, \[3\] = 0x67, \[4\] = 0x89, \[5\] = 0xAB, \[6\] = 0xCD, \[7\] = 0xEF \] }'
text=$(cat "$work/have")
memsz='memsz = [1-9][0-9]*'
has "$text" "^lttng_ust_dl:dlopen { baddr = $base, $memsz, flags = 0x2, path = \"$work/plugin.so\", has_build_id = 1, has_debug_link = $linked }\$"
has "$text" "^lttng_ust_dl:dlopen { baddr = $base, $memsz, flags = 0x102, path"
has "$text" "^lttng_ust_dl:build_id { baddr = $base, $id\$"
has "$text" "^lttng_ust_lib:load { baddr = $base, $memsz, path = \"$work/plugin.so\", has_build_id = 1, has_debug_link = $linked }\$"
has "$text" "^lttng_ust_lib:build_id { baddr = $base, $id\$"
has "$text" "^lttng_ust_dl:dlclose { baddr = $base }\$"
has "$text" "^lttng_ust_lib:unload { baddr = $base }\$"
has "$text" "^lttng_ust_dl:dlmopen { baddr = 0x[0-9A-F]*, $memsz, nsid = -1, flags = 0x1, path = \"$work/plugin.so\", has_build_id = 1, has_debug_link = $linked }\$"
has "$text" "^lttng_ust_lib:load .*path = \"$work/lib/libalongpath.so\""
is "dlopen" 3 "$(count '^lttng_ust_dl:dlopen {')"
is "dlclose" 4 "$(count '^lttng_ust_dl:dlclose {')"
is "load" 2 "$(count '^lttng_ust_lib:load {.*\(plugin\|libalongpath\).so')"
is "unload" 1 "$(count '^lttng_ust_lib:unload {')"
if [ $linked = 1 ]; then
	for p in dl lib; do
		has "$text" "^lttng_ust_$p:debug_link { baddr = $base, crc = [1-9][0-9]*, filename = \"plugin.debug\" }\$"
	done
fi

# ---- state dumps ----

session state 'lttng_ust_statedump:*'
with dl "$work/dlopen" "$work/plugin.so" >/dev/null
done_with state
defined state
text=$(cat "$work/have")
is "first" "lttng_ust_statedump:start { }" "$(sed -n 1p "$work/have")"
is "second" 'lttng_ust_statedump:procname { procname = "dlopen" }' "$(sed -n 2p "$work/have")"
is "last" "lttng_ust_statedump:end { }" "$(tail -n 1 "$work/have")"
is "dumps" 1 "$(count ':start {')"
has "$text" "^lttng_ust_statedump:bin_info { baddr = 0x[0-9A-F]*, $memsz, path = \"$work/dlopen\", is_pic = 1, has_build_id = [01], has_debug_link = 0 }\$"
has "$text" "^lttng_ust_statedump:bin_info { .*/libtrail-dl.so\", is_pic = 1"
has "$text" "^lttng_ust_statedump:bin_info { baddr = 0x[0-9A-F]*, memsz = 0, path = \"\\[linux-vdso.so.1\\]\", is_pic = 0, has_build_id = 0, has_debug_link = 0 }\$"

# Each process says its own.
session forked 'lttng_ust_statedump:*'
with dl,libc "$work/alloc" many 3 4 fork
done_with forked
is "dumps of children" 4 "$(count ':start {')"
is "dumps of children, ends" 4 "$(count ':end {')"
echo "$checks checks"
