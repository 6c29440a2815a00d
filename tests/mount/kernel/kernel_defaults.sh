#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The default buffers of the kernel domain are a share of the memory, and `status` names the file to
# write when events are lost.
. "$(dirname "$0")/../../lib/mount.sh"

mount_kernel
s=$S/d$mark
mkdir "$s" "$s/kernel/channels/a" "$s/kernel/channels/small" "$s/user/channels/b"
c=$s/kernel/channels
bytes=$(($(cat "$c/a/subbuf_size") * $(cat "$c/a/subbuf_count")))
memory=$(awk '$1 == "MemTotal:" { printf "%.0f\n", $2 * 1024 }' /proc/meminfo)
share=$((memory / 128 / $(ls -d /sys/devices/system/cpu/cpu[0-9]* | wc -l)))
[ $bytes -ge 2097152 ] && [ $bytes -le 67108864 ] || fail "$bytes bytes per CPU"
# (The kernel keeps some memory for itself: MemTotal may be below the limit when all of it is
# above.)
[ $bytes -le 2097152 ] || [ $bytes -le $((share + share / 8)) ] ||
	fail "$bytes bytes per CPU, the share is $share"
[ $bytes -ge 67108864 ] || [ $((2 * bytes)) -gt $share ] ||
	fail "only $bytes bytes per CPU, the share is $share"
is "the user domain's" "524288 4" \
	"$(cat "$s/user/channels/b/subbuf_size") $(cat "$s/user/channels/b/subbuf_count")"

echo 4096 >"$c/small/subbuf_size"
echo 2 >"$c/small/subbuf_count"
echo 'sys_enter' >"$c/small/events"
is "no advice without loss" "" "$(key advice "$s/status")"
echo start >"$s/control"
i=0
while [ $i -lt 100 ]; do
	i=$((i + 1))
	sh -c :
done
cat "$s/status" >"$work/status"
if [ "$(key events_overwritten "$work/status")" = 0 ]; then
	fail "nothing was overwritten by 100 shells"
fi
is "advice" "kernel/channels/small/subbuf_count:" "$(key advice "$work/status")"
rmdir "$s"
echo "$checks checks"
