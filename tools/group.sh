#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tools/group.sh [--say]: sees to the system group `tracing`, whose members may trace the kernel by
# root's mount. Root makes it; what cannot be made, or with --say, is said with the command.
PATH=$PATH:/usr/sbin:/sbin
group=tracing

exists() { grep -q "^$group:" /etc/group || getent group $group >/dev/null 2>&1; }

say() {
	echo "the group \`$group\`, whose members may trace the kernel by root's mount, does not" \
		"exist; as root: groupadd --system $group"
}

exists && exit 0
if [ "${1-}" != --say ] && [ "$(id -u)" = 0 ]; then
	if command -v groupadd >/dev/null; then
		groupadd --system $group
	elif command -v addgroup >/dev/null; then
		# (of busybox)
		addgroup -S $group
	fi
	exists && echo "made the group \`$group\`: usermod -aG $group USER lets a user trace the" \
		"kernel by root's mount" && exit 0
fi
say
