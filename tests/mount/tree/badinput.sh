#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# TIMEOUT: 300
#
# Wrong writes of every kind: each gives its errno and a sentence in `error`, and changes nothing.
. "$(dirname "$0")/../../lib/mount.sh"
mount_tree
mkdir "$S/s" "$S/s/user/channels/c" || fail mkdir
cd "$S/s" || exit 2
echo 'good:rule' >user/events || fail events
echo 'c:rule' >user/channels/c/events || fail events

# All that can be seen of the session, but for counters. (Hundreds of times: few processes. tail
# says which file it is.)
state() {
	tail -n +1 control user/events user/channels/c/events user/channels/*/enabled \
		user/channels/*/subbuf_size \
		user/channels/*/subbuf_count user/channels/*/loss_mode user/channels/*/buffering \
			user/contexts \
		user/channels/*/contexts user/channels/*/blocking_timeout \
			user/channels/*/switch_period \
		user/channels/*/read_period user/channels/*/monitor_period user/track/vpid \
			user/track/vuid user/track/vgid
	grep -E '^(state|started|owner)' status
	ls "$S" user/channels
	stat -c '%A %u %g' "$S/s"
}

# The error file must be readable text: no control bytes, at most a few lines an error
explained() {
	[ -s "$1" ] || fail "$2: nothing in ${1#"$MNT"/}"
	LC_ALL=C grep -qP '[\x00-\x08\x0e-\x1f\x7f]|\xc2[\x80-\x9f]' "$1" &&
		fail "$2: control bytes in ${1#"$MNT"/}"
	IFS= read -r sentence <"$1"
	who=${sentence%%: *}
	case $who in *:*[!0-9]* | *: | *:*:*) who= ;; esac
	case ${who%:*} in '' | *[!a-z_0-9]*) fail "$2: no sentence in $(cat "$1")" ;; esac
	case $sentence in "$who: "?*) ;; *) fail "$2: no sentence in $(cat "$1")" ;; esac
}

# unchanged WHAT: the state is as changed() left it
unchanged() {
	state >"$work/after"
	cmp "$work/before" "$work/after" ||
		{ diff "$work/before" "$work/after"; fail \
		"$1, or one of those before it, changed something"; }
}
# After what changes it
changed() {
	state >"$work/before"
}

# bad ERRNO FILE TEXT [FLAGS]: one write of TEXT (C escapes). All of the state is looked at after
# some of them.
n=0
bad() {
	echo >"$S/s/user/channels/c/events" && echo 'c:rule' >"$S/s/user/channels/c/events"      # a success: error is empty
	[ ! -s error ] || fail "error is not empty after a success"
	got=$(tool open "$2" "${4:-w}" write "$3")
	is "$2 <- $3" "$1" "$got"
	explained error "$2 <- $3"
	rules=
	while IFS= read -r line; do rules="$rules$line;"; done <user/channels/c/events
	is "the channel's rules after $2 <- $3" "c:rule;" "$rules"
	n=$((n + 1))
	[ $((n % 20)) != 0 ] || unchanged "$2 <- $3"
}
changed

# Verbs
bad EINVAL control 'strat'
bad EINVAL control 'start now'
bad EINVAL control '"start'
bad EINVAL control 'START'
bad EINVAL control 'start\nstrat\n'
bad EINVAL control 'start\000stop'
bad EINVAL control '\377\376'
bad EINVAL control 'rotate the wrong way'
bad EINVAL control 'regenerate'
bad EINVAL control 'regenerate metadata now'
bad EINVAL control 'regeneratestatedump'
bad EBUSY control 'regenerate statedump'

# Rules
for rule in 'nocolon:' ':x' 'a:b:c:d loglevel' 'a:b loglevel' 'a:b loglevel nonsense' \
	'a:b loglevel 15' 'a:b loglevel -1' \
	'a:b loglevel 3..1x' 'a:b except' 'a:b except ,' 'a:b excpt c' 'a b' '"a:b' 'a:b "' '!' \
		'~' '! ' 'a:\001b' \
	'a:b loglevel warning loglevel info' 'a:b\nc:d loglevel nonsense\n'; do
	bad EINVAL user/events "$rule"
	bad EINVAL user/channels/c/events "$rule" wt
done
bad ENOENT user/events '!not:there'
bad ENOENT user/events 'new:rule\n!not:there\n'
bad ENOENT user/channels/c/events '!good:rule'
bad EINVAL user/events 'a:\303\050'

# Filters
for filter in '' ' ' 'x =' 'x == ' '== 1' 'x = 1' '(x == 1' 'x == 1)' 'x == "1' 'x == 1 y == 2' \
	'x && ' '$ctx.' '$app.x' '$nothing.x' 'x[' \
	'x[1' 'x..y' '"a" < "b"' 'x == 1 # comment' '1 +' 'x @ 1' 'x == 0x' 'x == 1e' '!' '~' \
		'x == "\\q"'; do
	bad EINVAL user/events "a:b if $filter"
	bad EINVAL user/channels/c/events "a:b\nc:d if $filter\n" wt
done
bad EINVAL user/events 'if x == 1'
bad EINVAL user/events 'a:b if x == 1 loglevel err'
bad ENOENT user/events '!a:b if x == 1'
bad EINVAL user/events "a:b if $(head -c 8000 /dev/zero | tr '\0' x)\\n"

# Contexts
for f in user/contexts user/channels/c/contexts; do
	for name in nonsense vpidd 'vpid nonsense' 'vpid\nnonsense\n' VPID pid '*' \
		'perf:thread:nonsense' '!vtid' '~vpid'; do
		bad ENOENT $f "$name"
		bad ENOENT $f "$name" wt
	done
	for name in '$app.' '$app.x' '$app.:x' '$app.x:' '$app.x:a\042b' 'perf:cpu:cycles' \
		'perf:thread:raw:x:y' 'perf:thread:raw:r1' \
		'"vpid' '"vp"id' '\377'; do
		bad EINVAL $f "$name"
	done
done
bad ENOSPC user/channels/c/contexts \
	"$(i=0; while [ $i -lt 65 ]; do printf '$app.x:n%d ' $i; i=$((i + 1)); done)\\n"

# Inclusion sets
for f in vpid vuid vgid; do
	for v in -1 1.5 0x10 99999999999999999999 4294967296 5x '"5' '1 2 -3' '7\n8x\n'; do
		bad EINVAL user/track/$f "$v"
		bad EINVAL user/track/$f "$v" wt
	done
	bad ENOENT user/track/$f '!5'
	bad ENOENT user/track/$f '7 !5'
done
bad EINVAL user/track/vpid root
bad EINVAL user/track/vpid 0
bad ENOENT user/track/vuid no-such-user-here
bad ENOENT user/track/vgid no-such-group-here

# Values
for f in subbuf_size subbuf_count; do
	for v in nonsense -1 1.5 0x10 1Q '' '1 2' '1\n2\n' 99999999999999999999 0 inf; do
		bad EINVAL user/channels/c/$f "$v\n"
	done
done
for f in blocking_timeout switch_period read_period monitor_period; do
	for v in nonsense -1 1.5 1Q 1M '' '1 2' '1\n2\n' 99999999999999999999; do
		bad EINVAL user/channels/c/$f "$v\n"
	done
done
for f in switch_period read_period monitor_period; do
	bad EINVAL user/channels/c/$f 'inf\n'
	bad EINVAL user/channels/c/$f '3601s\n'
done
unchanged values
echo overwrite >user/channels/c/loss_mode || fail loss_mode
changed
bad EINVAL user/channels/c/blocking_timeout '1s\n'
echo default >user/channels/c/loss_mode && echo 1s >user/channels/c/blocking_timeout ||
	fail blocking_timeout
changed
bad EINVAL user/channels/c/loss_mode 'overwrite\n'
is "default stays" "[default] overwrite discard" "$(cat user/channels/c/loss_mode)"
is "microseconds" 1000000 "$(cat user/channels/c/blocking_timeout)"
echo inf >user/channels/c/blocking_timeout || fail blocking_timeout
changed
is "without end" inf "$(cat user/channels/c/blocking_timeout)"
bad EINVAL user/channels/c/enabled '2\n'
bad EINVAL user/channels/c/enabled 'yes\n'
bad EINVAL user/channels/c/enabled '\n'
bad EINVAL user/channels/c/loss_mode 'overwrit\n'
bad EINVAL user/channels/c/loss_mode 'overwrite discard\n'
bad EINVAL user/channels/c/buffering 'per-planet\n'
bad EINVAL user/channels/c/enabled '"1\n'
bad EINVAL user/channels/c/enabled '"\\q"\n'

# The kernel domain, where there is one
if [ -d kernel ]; then
	bad ENOENT kernel/events 'no_such_tracepoint\n'
	bad ENOENT kernel/events 'no_such_system:*\n'
	bad ENOENT kernel/events 'sched_switch\nshed:sched_switch\n'
	bad ENOENT kernel/events 'syscall:no_such_call\n'
	bad ENOENT kernel/events '!sched_switch\n'
	bad EINVAL kernel/events 'syscall:\n'
	bad EINVAL kernel/events 'syscall:entry:\n'
	bad EINVAL kernel/events 'syscall:both:openat\n'
	bad EINVAL kernel/events 'sched:\n'
	bad EINVAL kernel/events ':sched_switch\n'
	bad EINVAL kernel/events 'a:b:c\n'
	bad EINVAL kernel/events '../../etc/passwd\n'
	bad EINVAL kernel/events 'sched:sched_switch/x\n'
	bad EINVAL kernel/events '"sched switch"\n'
	bad EINVAL kernel/events 'sched_switch loglevel info\n'
	bad EINVAL kernel/events 'sched_switch except\n'
	bad EINVAL kernel/events 'sched_switch except sched:\n'
	bad EINVAL kernel/events 'sched_switch if\n'
	bad EINVAL kernel/events 'sched_switch if prev_comm > 3\n'
	bad EINVAL kernel/events 'sched_\033[31mswitch\n'
	bad EOPNOTSUPP kernel/events 'kprobe:do_exit\n'
	bad EOPNOTSUPP kernel/events 'function:vfs_*\n'
	bad EOPNOTSUPP kernel/events 'sched_switch if next_prio < 3 && $ctx.preemptible == 1\n'
	bad EOPNOTSUPP kernel/contexts 'preemptible\n'
	bad EOPNOTSUPP kernel/contexts 'tid perf:cpu:cycles\n'
	bad ENOENT kernel/contexts 'zebra\n'
	bad EINVAL kernel/track/pid 'me\n'
	bad EINVAL kernel/track/pid '0\n'
	bad ENOENT kernel/track/pid '!17\n'
	is "no channel was made" "" "$(ls kernel/channels)"
fi

# Huge lines, huge writes, noise
head -c 70000 /dev/zero | tr '\0' a >"$work/line"
head -c 1000000 /dev/zero | tr '\0' a >"$work/million"
head -c 3000 /dev/urandom >"$work/noise"
printf '\nx\n' >>"$work/noise"
for f in line million noise; do
	for to in control user/events user/channels/c/subbuf_size; do
		got=$(tool open $to w file "$work/$f" | head -n 1)
		is "$f to $to" EINVAL "$got"
		explained error "$f to $to"
		unchanged "$f to $to"
		n=$((n + 1))
	done
done

# After the start
echo start >control || fail start
changed
for f in subbuf_size subbuf_count loss_mode buffering blocking_timeout switch_period read_period; do
	v=$(sed 's/.*\[\(.*\)\].*/\1/' user/channels/c/$f)
	case $f in subbuf_size) v=65536 ;; subbuf_count) v=16 ;; loss_mode) \
		v=discard ;; buffering) v=process ;; *_*) v=2s ;; esac
	bad EBUSY user/channels/c/$f "$v\n"
done
bad EBUSY user/contexts vpid
bad EBUSY user/channels/c/contexts vpid wt
unchanged "what is EBUSY"
echo stop >control || fail stop
changed
bad EBUSY user/contexts '\n' wt
bad EBUSY user/channels/c/subbuf_count '32\n'

# Directories
# make ERRNO PATH ERRORFILE
make() {
	is "mkdir $(printf %.60s "${2#"$S"/}")" "$1" "$(tool mkdir "$2")"
	case $1 in EEXIST | ENOENT) ;; *) explained "$3" "mkdir $2" ;; esac
	unchanged "mkdir $2"
	n=$((n + 1))
}
long=$(head -c 201 /dev/zero | tr '\0' n)
for name in .hidden -x 'a b' 'a*' 'ü' 'a\b' ':x' '+' 'a	b' 'a"b' 'a
b'; do
	make EINVAL "$S/$name" "$MNT/error"
	make EINVAL "$S/s/user/channels/$name" error
done
make ENAMETOOLONG "$S/$long" "$MNT/error"
make ENAMETOOLONG "$S/s/user/channels/$(printf %.129s "$long")" error
make EEXIST "$S/s" "$MNT/error"
make EEXIST "$S/s/user/channels/c" error
make EPERM "$MNT/x" "$MNT/error"
make EPERM "$MNT/available/x" "$MNT/error"
make EPERM "$MNT/apps/123" "$MNT/error"
make EPERM "$S/s/x" error
make EPERM "$S/s/user/x" error
make EPERM "$S/s/trace/x" error
make EPERM "$S/s/user/channels/c/x" error
make EPERM "$S/s/user/channels/c/streams/x" error
make ENOENT "$S/none/x" error
mkdir "$S/$(printf %.200s "$long")" "$S/s/user/channels/$(printf %.128s "$long")" ||
	fail "the longest names"
rmdir "$S/$(printf %.200s "$long")" "$S/s/user/channels/$(printf %.128s "$long")" ||
	fail "rmdir of the longest names"

# What is not made, removed or renamed like this
# refuse ERRNO COMMAND…
refuse() {
	is "$*" "$1" "$(shift && tool "$@")"
	n=$((n + 1))
}
refuse EPERM rmdir "$MNT/apps"
refuse EPERM rmdir "$S"
refuse EPERM rmdir user
refuse EPERM rmdir user/channels
refuse EPERM rmdir trace
refuse EPERM rmdir user/channels/c/streams
refuse ENOENT rmdir "$S/none"
refuse ENOENT rmdir user/channels/none
refuse ENOTDIR rmdir control
refuse EPERM unlink control
refuse EPERM unlink "$MNT/README"
refuse EPERM rename "$S/s" "$S/t"
refuse EPERM rename control kontrol
refuse EPERM rename user/channels/c user/channels/d
refuse EPERM link control control2
refuse EPERM symlink /etc/passwd link
refuse EPERM mknod fifo
refuse EPERM open newfile wc
refuse EPERM open "$S/newfile" wct
refuse EPERM chmod control 777
refuse EPERM chmod "$MNT" 777
refuse EPERM chown user 0
refuse EACCES open status w
refuse EACCES open "$MNT/version" wt
refuse EACCES open "$MNT/log" r
refuse EACCES open text rw
refuse EISDIR open user w
refuse EISDIR open trace w
has "$(cat error)" '^chown: '

# The error file: bounded, escaped, and of the last ones
i=0
while [ $i -lt 50 ]; do
	echo "a:b loglevel bad$i" 2>/dev/null >user/events
	i=$((i + 1))
done
[ "$(wc -c <error)" -lt 20000 ] || fail "error grows without end"
has "$(cat error)" bad49
tool open control w write 'st\033[31mart' >/dev/null
explained error "an escape sequence"
echo >user/events
is "a success clears it" "" "$(cat error)"

# Nothing of this did harm
[ "$(cat "$MNT/version")" ] || fail "the daemon does not answer"
rmdir user/channels/c || fail "rmdir of the channel"
cd / && rmdir "$S/s" || fail "rmdir"
mkdir "$S/again" && rmdir "$S/again"
is "and the root error is empty then" "" "$(cat "$MNT/error")"
echo "$n wrong ones, $checks checks"
