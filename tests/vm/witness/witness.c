// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For tests/vm/members.sh: reads members of structures as the kernel's compiler does, where rules
 * of trailfs have probes. /proc/witness has a line `FUNCTION NAME = VALUE, …, unavailable = "…"`
 * for each function of members.h, of the last call that concerns the test. A write to it forgets
 * them, and calls wake_up_process() for the module's own thread.
 */
#include <linux/cred.h>
#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/fs_struct.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/proc_fs.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/skbuff.h>
#include <linux/tty.h>
#include <linux/utsname.h>
#include <net/sock.h>

#define PRIORITY 5              /* of the test's socket and packet */

struct line {
	char text[4000];
	size_t len;
	char lacks[200];
};

enum { OF_FILE, OF_TASK, OF_PACKET, OF_SOCKET, OF_THREAD, LINES };

static struct line lines[LINES];
static DEFINE_RAW_SPINLOCK(lock);       /* guards lines */
static struct task_struct *thread;

static void put(struct line *l, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	l->len += vscnprintf(l->text + l->len, sizeof(l->text) - l->len, format, args);
	va_end(args);
}

static void put_number(struct line *l, const char *name, u64 value, bool is_unsigned)
{
	put(l, is_unsigned ? "%s = %llu, " : "%s = %lld, ", name, value);
}

/* An expression is unsigned if 0 of its type less 1 is more than 0. Smaller types become int. */
#define NUMBER(name, e) put_number(l, #name, (u64)(e), 0 * (e) - 1 > 0);
#define ADDRESS(name, e) put_number(l, #name, (unsigned long)(e), true);
#define TEXT(name, e) put(l, #name " = \"%s\", ", (const char *)(e));
#define LACKS(name) strlcat(l->lacks, *l->lacks ? " " #name : #name, sizeof(l->lacks))
#define MAYBE(name, pointer, e)                                                                    \
	if (pointer) {                                                                             \
		NUMBER(name, e)                                                                    \
	} else {                                                                                   \
		put_number(l, #name, 0, true);                                                     \
		LACKS(name);                                                                       \
	}
#define MAYBE_TEXT(name, pointer, e)                                                               \
	if (pointer) {                                                                             \
		TEXT(name, e)                                                                      \
	} else {                                                                                   \
		TEXT(name, "")                                                                     \
		LACKS(name);                                                                       \
	}

static struct line *begin(int which, const char *function, unsigned long *flags)
{
	struct line *l = &lines[which];

	raw_spin_lock_irqsave(&lock, *flags);
	l->len = 0;
	l->lacks[0] = '\0';
	put(l, "%s ", function);
	return l;
}

static void end(struct line *l, unsigned long flags)
{
	put(l, "unavailable = \"%s\"\n", l->lacks);
	raw_spin_unlock_irqrestore(&lock, flags);
}

static int see_file(struct kprobe *probe, struct pt_regs *regs)
{
	struct file *file = (struct file *)regs->di;
	unsigned long flags;
	struct line *l;

	if (strcmp(file->f_path.dentry->d_name.name, "witness file"))
		return 0;
	l = begin(OF_FILE, probe->symbol_name, &flags);
#define WITNESS_FILE
#include "members.h"
#undef WITNESS_FILE
	end(l, flags);
	return 0;
}

static int see_task(struct kprobe *probe, struct pt_regs *regs)
{
	struct task_struct *tsk = (struct task_struct *)regs->di;
	const char *buf = (const char *)regs->si;
	unsigned long flags;
	struct line *l;

	if (strcmp(buf, "witnessed"))
		return 0;
	l = begin(OF_TASK, probe->symbol_name, &flags);
#define WITNESS_TASK
#include "members.h"
#undef WITNESS_TASK
	end(l, flags);
	return 0;
}

static int see_packet(struct kprobe *probe, struct pt_regs *regs)
{
	struct sk_buff *skb = (struct sk_buff *)regs->di;
	unsigned long flags;
	struct line *l;

	if (skb->priority != PRIORITY)
		return 0;
	l = begin(OF_PACKET, probe->symbol_name, &flags);
#define WITNESS_PACKET
#include "members.h"
#undef WITNESS_PACKET
	end(l, flags);
	return 0;
}

static int see_socket(struct kprobe *probe, struct pt_regs *regs)
{
	struct sock *sk = (struct sock *)regs->di;
	unsigned long flags;
	struct line *l;

	if (sk->sk_priority != PRIORITY)
		return 0;
	l = begin(OF_SOCKET, probe->symbol_name, &flags);
#define WITNESS_SOCKET
#include "members.h"
#undef WITNESS_SOCKET
	end(l, flags);
	return 0;
}

static int see_thread(struct kprobe *probe, struct pt_regs *regs)
{
	struct task_struct *p = (struct task_struct *)regs->di;
	unsigned long flags;
	struct line *l;

	if (p != thread)
		return 0;
	l = begin(OF_THREAD, probe->symbol_name, &flags);
#define WITNESS_THREAD
#include "members.h"
#undef WITNESS_THREAD
	end(l, flags);
	return 0;
}

static struct kprobe vfs_read_probe = { .symbol_name = "vfs_read", .pre_handler = see_file };
static struct kprobe comm_probe = { .symbol_name = "__set_task_comm", .pre_handler = see_task };
static struct kprobe xmit_probe = { .symbol_name = "__dev_queue_xmit", .pre_handler = see_packet };
static struct kprobe send_probe = { .symbol_name = "udp_sendmsg", .pre_handler = see_socket };
static struct kprobe wake_probe = { .symbol_name = "wake_up_process", .pre_handler = see_thread };
static struct kprobe *probes[] = { &vfs_read_probe, &comm_probe, &xmit_probe, &send_probe,
				   &wake_probe };

static int show(struct seq_file *m, void *unused)
{
	unsigned long flags;

	for (int i = 0; i < LINES; i++) {
		char *copy = kmalloc(sizeof(lines[i].text), GFP_KERNEL);

		if (!copy)
			return -ENOMEM;
		raw_spin_lock_irqsave(&lock, flags);
		memcpy(copy, lines[i].text, sizeof(lines[i].text));
		raw_spin_unlock_irqrestore(&lock, flags);
		seq_puts(m, copy);
		kfree(copy);
	}
	return 0;
}

static int open_file(struct inode *inode, struct file *file)
{
	return single_open(file, show, NULL);
}

static ssize_t write_file(struct file *file, const char __user *data, size_t len, loff_t *at)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	for (int i = 0; i < LINES; i++)
		lines[i].text[0] = '\0';
	raw_spin_unlock_irqrestore(&lock, flags);
	wake_up_process(thread);
	return len;
}

static const struct proc_ops operations = {
	.proc_open = open_file,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
	.proc_write = write_file,
};

static int sleep_thread(void *unused)
{
	while (!kthread_should_stop()) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (!kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);
	}
	return 0;
}

static int __init witness_init(void)
{
	int ret;

	thread = kthread_create(sleep_thread, NULL, "witness");
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	ret = register_kprobes(probes, ARRAY_SIZE(probes));
	if (!ret && !proc_create("witness", 0600, NULL, &operations)) {
		unregister_kprobes(probes, ARRAY_SIZE(probes));
		ret = -ENOMEM;
	}
	if (ret)
		kthread_stop(thread);
	return ret;
}

static void __exit witness_exit(void)
{
	remove_proc_entry("witness", NULL);
	unregister_kprobes(probes, ARRAY_SIZE(probes));
	kthread_stop(thread);
}

module_init(witness_init);
module_exit(witness_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Reads structures where rules of trailfs have probes");
