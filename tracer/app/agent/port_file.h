/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The TCP port on 127.0.0.1 for agents, and the file that names it. Agents look for it in
 * /var/run/lttng/agent.port and in $LTTNG_HOME/.lttng/agent.port (without LTTNG_HOME: $HOME), or
 * only in $LTTNG_UST_APP_PATH/agent.port. The thread of server.c alone calls this, but for
 * port_file_place().
 */
#ifndef TRACER_AGENT_PORT_FILE_H
#define TRACER_AGENT_PORT_FILE_H

#include <limits.h>
#include <stdint.h>

#include "tracer/base/err.h"

/* The directory of the file, as the daemon's environment has it. 0 or -errno. Any thread. */
int port_file_place(char dir[PATH_MAX]);
/*
 * Listens, and writes the file. *port: the one to try first, 0: none; becomes the one that it is.
 * Returns the socket, or -errno with a sentence. -EADDRINUSE: another daemon serves agents by this
 * file, which stays as it is.
 */
int port_file_open(uint16_t *port, struct tr_err *err);
/* 0: the file names the port. Else -errno with a sentence: another daemon replaced it. */
int port_file_check(uint16_t port, struct tr_err *err);
/* Closes the socket, and removes the file if it names this port. */
void port_file_close(int listener, uint16_t port);

#endif
