// SPDX-License-Identifier: GPL-2.0-only
/* Channels: rings for every possible CPU, found by name, whether a process has them open or not. */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>

#include "kmod/trail.h"

/* of all rings of a channel */
#define BYTES_MAX (IS_ENABLED(CONFIG_64BIT) ? 1ull << 36 : 1ull << 30)
#define CHANNELS_MAX 1024

DEFINE_MUTEX(trail_lock);
LIST_HEAD(trail_channels);
/*
 * Guards the list, and is held while rings are made, so that of two requests for the last memory
 * one gets it. Taken under trail_lock; no lock is taken under it.
 */
static DEFINE_MUTEX(making);
/* all channels that have rings, those that are removed but still mapped, too */
static LIST_HEAD(reservations);

static u64 clock_mono(void)
{
	return ktime_get_mono_fast_ns();
}

static struct trail_channel *find(const char *name)
{
	struct trail_channel *c;

	list_for_each_entry(c, &trail_channels, node)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

static void free_rings(struct trail_channel *c)
{
	int cpu;

	lockdep_assert_held(&making);
	if (!c->rings)
		return;
	for_each_possible_cpu(cpu)
		vfree(per_cpu_ptr(c->rings, cpu)->control);
	free_percpu(c->rings);
	c->rings = NULL;
	list_del_init(&c->reservation);
}

static u64 bytes_of(const struct trail_channel *c)
{
	return c->stride * num_possible_cpus();
}

/*
 * The daemon has rings of the same size, whose pages it gets when it first writes to them: at most
 * as many bytes as it has consumed here. This is what it may still take.
 */
static u64 daemon_will_take(const struct trail_channel *c)
{
	u64 bytes = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		const struct kring *r = per_cpu_ptr(c->rings, cpu)->control;

		bytes += c->geometry.total - min_t(u64, READ_ONCE(r->consumed), c->geometry.total);
	}
	return bytes;
}

/*
 * Where memory ends, the kernel kills processes, and not the one that asked. So all channels, with
 * the daemon's rings, get at most three quarters of the machine's memory, and an eighth of it has
 * to stay available when all these rings are full.
 */
static bool affordable(const struct trail_channel *wanted)
{
	u64 bytes = 2 * bytes_of(wanted), total = (u64)totalram_pages() << PAGE_SHIFT,
	    need = bytes + total / 8;
	long available = si_mem_available();
	const struct trail_channel *c;

	lockdep_assert_held(&making);
	list_for_each_entry(c, &reservations, reservation) {
		bytes += 2 * bytes_of(c);
		need += daemon_will_take(c);
	}
	return bytes <= total - total / 4 && available > 0 && need <= (u64)available << PAGE_SHIFT;
}

static int make_rings(struct trail_channel *c)
{
	int cpu;

	lockdep_assert_held(&making);
	if (!affordable(c))
		return -ENOMEM;
	c->rings = alloc_percpu(struct cpu_ring);
	if (!c->rings)
		return -ENOMEM;
	list_add(&c->reservation, &reservations);
	for_each_possible_cpu(cpu) {
		struct cpu_ring *ring = per_cpu_ptr(c->rings, cpu);

		ring->control = vmalloc_user(c->stride);
		if (!ring->control)
			return -ENOMEM;
		ring->data = (u8 *)ring->control + KRING_PAGE;
		cond_resched();
	}
	return 0;
}

static void release(struct kref *ref)
{
	struct trail_channel *c = container_of(ref, struct trail_channel, ref);

	trail_contexts_free(c->contexts);
	mutex_lock(&making);
	free_rings(c);
	mutex_unlock(&making);
	kfree(c);
}

static int check(const struct modabi_channel *m)
{
	u64 bytes = (u64)m->subbuf_size * m->subbuf_count;

	if (m->reserved || m->overwrite > 1 || m->tsc > 1 || !is_power_of_2(m->subbuf_size) ||
	    !is_power_of_2(m->subbuf_count) || m->subbuf_size < KRING_SUBBUF_MIN ||
	    m->subbuf_size > KRING_SUBBUF_MAX || m->subbuf_count < 2 ||
	    m->subbuf_count > KRING_SUBBUF_COUNT_MAX || bytes * num_possible_cpus() > BYTES_MAX)
		return -EINVAL;
	if (!m->name[0] || strnlen(m->name, sizeof(m->name)) == sizeof(m->name))
		return -EINVAL;
#ifndef CONFIG_X86_64
	if (m->tsc)
		return -EOPNOTSUPP;
#endif
	return 0;
}

static struct trail_channel *make(const struct modabi_channel *m)
{
	struct trail_channel *c = kzalloc(sizeof(*c), GFP_KERNEL);
	int ret;

	if (!c)
		return ERR_PTR(-ENOMEM);
	kref_init(&c->ref);
	c->release = release;
	INIT_LIST_HEAD(&c->attached);
	INIT_LIST_HEAD(&c->dying);
	INIT_LIST_HEAD(&c->reservation);
	strscpy(c->name, m->name, sizeof(c->name));
	c->geometry.size = m->subbuf_size;
	c->geometry.total = (u64)m->subbuf_size * m->subbuf_count;
	c->geometry.overwrite = m->overwrite;
	c->geometry.clock = m->tsc ? NULL : clock_mono;
	c->subbuf_count = m->subbuf_count;
	c->stride = KRING_PAGE + c->geometry.total;
	mutex_lock(&making);
	ret = make_rings(c);
	if (ret)
		free_rings(c);
	mutex_unlock(&making);
	if (ret) {
		kfree(c);
		return ERR_PTR(ret);
	}
	return c;
}

int trail_channel_create(const struct modabi_channel *m)
{
	struct trail_channel *c, *each;
	unsigned int count = 0;
	int ret = check(m);

	if (ret)
		return ret;
	c = make(m);
	if (IS_ERR(c))
		return PTR_ERR(c);
	mutex_lock(&trail_lock);
	list_for_each_entry(each, &trail_channels, node)
		count++;
	ret = find(c->name) ? -EEXIST : count >= CHANNELS_MAX ? -ENOSPC : 0;
	if (!ret)
		list_add_tail(&c->node, &trail_channels);
	mutex_unlock(&trail_lock);
	if (ret)
		trail_channel_put(c);
	return ret;
}

/*
 * Stops recording and takes the channel off the list. Its memory stays as long as a process has it
 * open or mapped.
 */
static void take_out(struct trail_channel *c)
{
	c->removed = true;
	WRITE_ONCE(c->recording, false);
	list_del(&c->node);
	trail_events_off(c);
	trail_track_end(c);
	compat_wait_for_probes();
	trail_events_free(c);
	trail_syscalls_free(c);
}

int trail_channel_remove(const char *name)
{
	struct trail_channel *c = NULL;

	mutex_lock(&trail_lock);
	if (strnlen(name, MODABI_NAME_MAX) < MODABI_NAME_MAX)
		c = find(name);
	if (c)
		take_out(c);
	mutex_unlock(&trail_lock);
	if (!c)
		return -ENOENT;
	trail_channel_put(c);
	return 0;
}

/* The module is unloaded: no descriptor is open, because each holds the module. */
void trail_channels_end(void)
{
	struct trail_channel *c, *next;

	mutex_lock(&trail_lock);
	list_for_each_entry_safe(c, next, &trail_channels, node) {
		take_out(c);
		trail_channel_put(c);
	}
	mutex_unlock(&trail_lock);
}

/* ---- its descriptor ---- */

static int close_channel(struct inode *inode, struct file *file)
{
	trail_channel_put(file->private_data);
	return 0;
}

static int map(struct file *file, struct vm_area_struct *vma)
{
	struct trail_channel *c = file->private_data;
	unsigned long pages = c->stride >> PAGE_SHIFT, cpu = vma->vm_pgoff / pages;

	if (vma->vm_flags & (VM_WRITE | VM_EXEC))
		return -EACCES;
	if (!(vma->vm_flags & VM_SHARED) || vma->vm_pgoff % pages ||
	    vma->vm_end - vma->vm_start != c->stride || cpu >= nr_cpu_ids || !cpu_possible(cpu))
		return -EINVAL;
	compat_never_writable(vma);
	return remap_vmalloc_range(vma, per_cpu_ptr(c->rings, cpu)->control, 0);
}

static int consume(struct trail_channel *c, const struct modabi_consume *m)
{
	struct kring *r;

	if (m->reserved || m->cpu >= nr_cpu_ids || !cpu_possible(m->cpu))
		return -EINVAL;
	r = per_cpu_ptr(c->rings, m->cpu)->control;
	if (m->consumed < r->consumed || m->consumed & 7 ||
	    m->consumed > __atomic_load_n(&r->head, __ATOMIC_ACQUIRE))
		return -EINVAL;
	r->consumed_events = m->events;
	r->overwritten = m->overwritten;
	/*
	 * The reader has finished with what the writer may use now. (smp_store_release is for 32
	 * bits only on a kernel of these.)
	 */
	__atomic_store_n(&r->consumed, m->consumed, __ATOMIC_RELEASE);
	return 0;
}

static int track(struct trail_channel *c, const struct modabi_track *m)
{
	u32 *ids = NULL;
	int ret;

	if (m->all > 1 || m->more > 1 || m->by >= MODABI_TRACK_COUNT || m->count > MODABI_IDS_MAX ||
	    (m->all && m->count) || (m->more && (m->all || m->by != MODABI_TRACK_TID)))
		return -EINVAL;
	if (m->count) {
		ids = vmemdup_user(u64_to_user_ptr(m->ids), m->count * sizeof(*ids));
		if (IS_ERR(ids))
			return PTR_ERR(ids);
	}
	ret = m->more ? trail_track_more(c, ids, m->count)
		      : trail_track(c, m->by, ids, m->count, m->all);
	kvfree(ids);
	return ret;
}

static int set_contexts(struct trail_channel *c, const struct modabi_contexts *m)
{
	struct modabi_context *items;
	int ret;

	if (m->reserved || !m->count || m->count > MODABI_CONTEXTS_MAX)
		return -EINVAL;
	items = memdup_user(u64_to_user_ptr(m->items), m->count * sizeof(*items));
	if (IS_ERR(items))
		return PTR_ERR(items);
	ret = trail_contexts_set(c, items, m->count);
	kfree(items);
	return ret;
}

static int enabled(struct trail_channel *c, struct modabi_enabled *m)
{
	char *text = NULL;
	size_t len = 0;
	int ret = trail_enabled_text(c, &text, &len);

	if (!ret && m->size >= len && len && copy_to_user(u64_to_user_ptr(m->buffer), text, len))
		ret = -EFAULT;
	m->size = len;
	kvfree(text);
	return ret;
}

union argument {
	u32 on;
	struct modabi_event event;
	struct modabi_enabled enabled;
	struct modabi_track track;
	struct modabi_consume consume;
	struct modabi_contexts contexts;
	struct modabi_filter filter;
};

static int command(struct trail_channel *c, unsigned int cmd, union argument *a)
{
	if (c->removed)
		return -ENODEV;
	switch (cmd) {
	case MODABI_RECORD:
		if (a->on > 1)
			return -EINVAL;
		smp_store_release(&c->recording, a->on);        /* pairs with trail_wanted */
		/* probes that are under way will have finished: nothing comes after this */
		if (!a->on) {
			compat_wait_for_probes();
			trail_events_free(c);
		}
		return 0;
	case MODABI_EVENT:
		return trail_event_set(c, &a->event);
	case MODABI_ENABLED:
		return enabled(c, &a->enabled);
	case MODABI_TRACK:
		return track(c, &a->track);
	case MODABI_CONSUME:
		return consume(c, &a->consume);
	case MODABI_SET_CONTEXTS:
		return set_contexts(c, &a->contexts);
	case MODABI_FILTER:
		return trail_event_filter(c, &a->filter);
	}
	return -ENOTTY;
}

static long control(struct file *file, unsigned int cmd, unsigned long arg)
{
	union argument *a;
	long ret;

	if (_IOC_TYPE(cmd) != 't' || _IOC_SIZE(cmd) > sizeof(*a))
		return -ENOTTY;
	a = kzalloc(sizeof(*a), GFP_KERNEL);
	if (!a)
		return -ENOMEM;
	if (copy_from_user(a, (void __user *)arg, _IOC_SIZE(cmd))) {
		kfree(a);
		return -EFAULT;
	}
	mutex_lock(&trail_lock);
	ret = command(file->private_data, cmd, a);
	mutex_unlock(&trail_lock);
	if (!ret && _IOC_DIR(cmd) & _IOC_READ &&
	    copy_to_user((void __user *)arg, a, _IOC_SIZE(cmd)))
		ret = -EFAULT;
	kfree(a);
	return ret;
}

static const struct file_operations channel_fops = {
	.owner = THIS_MODULE,
	.release = close_channel,
	.mmap = map,
	.unlocked_ioctl = control,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = noop_llseek,
};

int trail_channel_open(struct modabi_channel *m)
{
	struct trail_channel *c = NULL;
	int fd;

	mutex_lock(&trail_lock);
	if (strnlen(m->name, sizeof(m->name)) < sizeof(m->name))
		c = find(m->name);
	if (c)
		trail_channel_get(c);
	mutex_unlock(&trail_lock);
	if (!c)
		return -ENOENT;
	m->subbuf_size = c->geometry.size;
	m->subbuf_count = c->subbuf_count;
	m->overwrite = c->geometry.overwrite;
	m->tsc = !c->geometry.clock;
	m->ring_stride = c->stride;
	m->cpus = nr_cpu_ids;
	fd = anon_inode_getfd("[trail]", &channel_fops, c, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		trail_channel_put(c);
	return fd;
}
