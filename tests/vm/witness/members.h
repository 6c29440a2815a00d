/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Expressions over the kernel's structures, which witness.c compiles and members.sh writes into
 * rules. Included once for each function, with one of WITNESS_… defined: arguments of
 *
 *	vfs_read(file)  __set_task_comm(tsk, buf)  __dev_queue_xmit(skb)  udp_sendmsg(sk)
 *	wake_up_process(p)
 *
 * NUMBER(name, expression), ADDRESS: a pointer, TEXT: a string. MAYBE and MAYBE_TEXT: behind a
 * pointer that may be NULL, which stands before the expression. The first of each list is what
 * members.sh finds the event by.
 */
#ifdef WITNESS_FILE
TEXT(name, file->f_path.dentry->d_name.name)
NUMBER(length, file->f_path.dentry->d_name.len)
TEXT(parent, file->f_path.dentry->d_parent->d_name.name)
NUMBER(links, file->f_path.dentry->d_lockref.count)
ADDRESS(dentry, file->f_path.dentry)
ADDRESS(operations, file->f_op)
NUMBER(ino, file->f_inode->i_ino)
NUMBER(size, file->f_inode->i_size)
NUMBER(mode, file->f_inode->i_mode)
NUMBER(uid, file->f_inode->i_uid.val)
NUMBER(references, file->f_inode->i_count.counter)
NUMBER(pages, file->f_inode->i_mapping->nrpages)
NUMBER(again, file->f_inode->i_mapping->host->i_mapping->host->i_ino)
NUMBER(flags, file->f_flags)
NUMBER(device, file->f_inode->i_sb->s_dev)
NUMBER(most, file->f_inode->i_sb->s_maxbytes)
TEXT(id, file->f_inode->i_sb->s_id)
TEXT(type, file->f_inode->i_sb->s_type->name)
NUMBER(type_flags, file->f_inode->i_sb->s_type->fs_flags)
MAYBE(module_state, file->f_op->owner, file->f_op->owner->state)
MAYBE_TEXT(module, file->f_inode->i_sb->s_type->owner, file->f_inode->i_sb->s_type->owner->name)
NUMBER(opener, file->f_cred->euid.val)
NUMBER(mount_flags, file->f_path.mnt->mnt_flags)
TEXT(mounted, file->f_path.mnt->mnt_root->d_name.name)
#endif

#ifdef WITNESS_TASK
TEXT(buf, buf)
NUMBER(pid, tsk->pid)
NUMBER(tgid, tsk->tgid)
TEXT(old, tsk->comm)
NUMBER(leader, tsk->group_leader->pid)
NUMBER(parent, tsk->real_parent->tgid)
NUMBER(static_prio, tsk->static_prio)
NUMBER(oom, tsk->signal->oom_score_adj)
NUMBER(threads, tsk->signal->nr_threads)
MAYBE(terminal, tsk->signal->tty, tsk->signal->tty->index)
NUMBER(euid, tsk->cred->euid.val)
NUMBER(effective, tsk->cred->uid.val)
TEXT(node, tsk->nsproxy->uts_ns->name.nodename)
TEXT(machine, tsk->nsproxy->uts_ns->name.machine)
TEXT(directory, tsk->fs->pwd.dentry->d_name.name)
NUMBER(umask, tsk->fs->umask)
TEXT(program, tsk->mm->exe_file->f_path.dentry->d_name.name)
NUMBER(code, tsk->mm->start_code)
NUMBER(users, tsk->mm->mm_users.counter)
NUMBER(next_fd, tsk->files->next_fd)
NUMBER(handlers, tsk->sighand->count.refs.counter)
NUMBER(level, tsk->thread_pid->level)
NUMBER(in_execve, tsk->in_execve)
NUMBER(contributes, tsk->sched_contributes_to_load)
#endif

#ifdef WITNESS_PACKET
NUMBER(priority, skb->priority)
NUMBER(len, skb->len)
NUMBER(mark, skb->mark)
NUMBER(protocol, skb->protocol)
NUMBER(pkt_type, skb->pkt_type)
NUMBER(ip_summed, skb->ip_summed)
NUMBER(cloned, skb->cloned)
NUMBER(fclone, skb->fclone)
NUMBER(network, skb->network_header)
NUMBER(transport, skb->transport_header)
ADDRESS(head, skb->head)
ADDRESS(data, skb->data)
TEXT(dev, skb->dev->name)
NUMBER(mtu, skb->dev->mtu)
NUMBER(ifindex, skb->dev->ifindex)
NUMBER(registered, skb->dev->reg_state)
NUMBER(dev_flags, skb->dev->flags)
NUMBER(dport, skb->sk->__sk_common.skc_dport)
NUMBER(sender, skb->sk->sk_uid.val)
#endif

#ifdef WITNESS_SOCKET
NUMBER(priority, sk->sk_priority)
NUMBER(family, sk->__sk_common.skc_family)
NUMBER(state, sk->__sk_common.skc_state)
NUMBER(reuse, sk->__sk_common.skc_reuse)
NUMBER(ipv6only, sk->__sk_common.skc_ipv6only)
NUMBER(daddr, sk->__sk_common.skc_daddr)
NUMBER(num, sk->__sk_common.skc_num)
TEXT(protocol_name, sk->__sk_common.skc_prot->name)
NUMBER(userlocks, sk->sk_userlocks)
NUMBER(type, sk->sk_type)
NUMBER(protocol, sk->sk_protocol)
NUMBER(sndbuf, sk->sk_sndbuf)
NUMBER(timeout, sk->sk_rcvtimeo)
NUMBER(socket_state, sk->sk_socket->state)
NUMBER(socket_type, sk->sk_socket->type)
NUMBER(ino, sk->sk_socket->file->f_inode->i_ino)
#endif

#ifdef WITNESS_THREAD
NUMBER(pid, p->pid)
TEXT(comm, p->comm)
NUMBER(flags, p->flags)
NUMBER(prio, p->prio)
MAYBE(base, p->mm, p->mm->mmap_base)
MAYBE_TEXT(program, p->mm, p->mm->exe_file->f_path.dentry->d_name.name)
TEXT(parent, p->real_parent->comm)
MAYBE(child, p->vfork_done, p->vfork_done->done)
#endif
