// SPDX-License-Identifier: GPL-2.0-only
/* /dev/trail. */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/slab.h>

#include "kmod/callstack.h"

static ssize_t read_device(struct file *file, char __user *buffer, size_t size, loff_t *at)
{
	char *text = NULL;
	size_t len = 0;
	ssize_t ret = trail_compiled_text(&text, &len);

	if (!ret)
		ret = simple_read_from_buffer(buffer, size, at, text, len);
	kvfree(text);
	return ret;
}

static int version(void __user *arg)
{
	struct modabi_version v = { .abi = MODABI_VERSION, .cpus = nr_cpu_ids };

	mutex_lock(&trail_lock);
	v.compiled = trail_compiled_count();
	mutex_unlock(&trail_lock);
	return copy_to_user(arg, &v, sizeof(v)) ? -EFAULT : 0;
}

static int list(void __user *arg)
{
	struct modabi_list m;
	struct trail_channel *c;
	u64 used = 0;
	int ret = 0;

	if (copy_from_user(&m, arg, sizeof(m)))
		return -EFAULT;
	mutex_lock(&trail_lock);
	list_for_each_entry(c, &trail_channels, node) {
		size_t len = strlen(c->name) + 1;

		if (!ret && used + len <= m.size &&
		    copy_to_user(u64_to_user_ptr(m.buffer + used), c->name, len))
			ret = -EFAULT;
		used += len;
	}
	mutex_unlock(&trail_lock);
	m.size = used;
	return ret ? ret : copy_to_user(arg, &m, sizeof(m)) ? -EFAULT : 0;
}

static long channel_command(unsigned int cmd, void __user *arg)
{
	struct modabi_channel *m = memdup_user(arg, sizeof(*m));
	long ret;

	if (IS_ERR(m))
		return PTR_ERR(m);
	m->name[sizeof(m->name) - 1] = 0;
	if (cmd == MODABI_REMOVE) {
		ret = trail_channel_remove(m->name);
		goto out;
	}
	ret = cmd == MODABI_CREATE ? trail_channel_create(m) : 0;
	if (!ret)
		ret = trail_channel_open(m);
	if (ret >= 0 && copy_to_user(arg, m, sizeof(*m)))
		ret = -EFAULT;  /* the descriptor is left: the process is broken anyhow */
out:
	kfree(m);
	return ret;
}

static int number(void __user *arg)
{
	struct modabi_number m;
	int nr;

	if (copy_from_user(&m, arg, sizeof(m)))
		return -EFAULT;
	if (m.reserved || strnlen(m.name, sizeof(m.name)) == sizeof(m.name))
		return -EINVAL;
	nr = trail_syscall_number(m.name);
	m.nr = nr;
	return nr < 0 ? nr : copy_to_user(arg, &m, sizeof(m)) ? -EFAULT : 0;
}

static long control(struct file *file, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case MODABI_GET_VERSION:
		return version((void __user *)arg);
	case MODABI_NUMBER:
		return number((void __user *)arg);
	case MODABI_LIST:
		return list((void __user *)arg);
	case MODABI_CREATE:
	case MODABI_OPEN:
	case MODABI_REMOVE:
		return channel_command(cmd, (void __user *)arg);
	}
	return -ENOTTY;
}

static const struct file_operations device_fops = {
	.owner = THIS_MODULE,
	.read = read_device,
	.unlocked_ioctl = control,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = default_llseek,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "trail",
	.mode = 0600,
	.fops = &device_fops,
};

static int __init trail_init(void)
{
	int ret = trail_syscalls_init();

	if (ret)
		return ret;
	ret = trail_events_init();
	if (ret)
		goto no_events;
	ret = misc_register(&device);
	if (ret)
		goto no_device;
	return 0;

no_device:
	trail_events_exit();
no_events:
	trail_syscalls_exit();
	return ret;
}

static void __exit trail_exit(void)
{
	misc_deregister(&device);
	trail_channels_end();
	trail_counters_flush();
	trail_stacks_exit();
	trail_events_exit();
	compat_wait_for_probes();
	trail_syscalls_exit();
	trail_filters_exit();
	rcu_barrier();
}

module_init(trail_init);
module_exit(trail_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("kernel events for trailfs");
