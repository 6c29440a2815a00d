// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the kernel keeps of the last boot: an instance of tracefs whose memory outlives a boot. Its
 * records have the ids of this kernel's events, as long as it is the same kernel. They were
 * recorded by the tracepoints alone, so the text of system calls is in them only from Linux 6.19.
 */
#include "tracer/kernel/kernel.h"

#include <errno.h>
#include <string.h>

int kernel_boot_find(struct tracer *t, struct backend_boot *out)
{
	struct kernel *k = t->kernel;

	return k && k->ops->boot_find ? k->ops->boot_find(k->backend, out) : -ENOENT;
}

int kernel_boot_record(struct tracer *t, const struct backend_boot *boot)
{
	return t->kernel->ops->boot_record(t->kernel->backend, boot->name);
}

int kernel_boot_take(struct session *s, const struct backend_boot *boot, struct tr_err *err)
{
	struct channel *c = NULL, *one;
	int ret;

	session_lock(s);
	cds_list_for_each_entry(one, &s->channels, node)
		if (one->kernel)
			c = one;
	pthread_mutex_unlock(&s->tracer->lock);
	ret = c ? kchannel_take_boot(c, boot, err) : -ENOENT;
	pthread_mutex_lock(&s->tracer->lock);
	session_unlock(s);
	return ret;
}
