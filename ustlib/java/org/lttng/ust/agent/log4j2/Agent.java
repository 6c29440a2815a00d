// SPDX-License-Identifier: MIT
package org.lttng.ust.agent.log4j2;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.Appender;
import org.apache.logging.log4j.core.Logger;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.config.LoggerConfig;
import org.apache.logging.log4j.core.impl.Log4jContextFactory;
import org.apache.logging.log4j.spi.LoggerContextFactory;
import org.lttng.ust.agent.AbstractLttngAgent;
import org.lttng.ust.agent.client.LttngTcpSessiondClient;
import org.lttng.ust.agent.session.EventRule;

/**
 * The connections of one domain to the daemons of root and of the user, and the rules that came by
 * them. There is one while the domain has appenders that are started.
 *
 * The superclass keeps rules and contexts. It does not connect here: LTTng-UST 2.13 has no number
 * for the domain of log4j 2.
 */
final class Agent extends AbstractLttngAgent<LttngLogAppender> {
	/** Seconds that a program waits for each daemon that is there, as with LTTng's agents. */
	private static final int WAIT = 3;
	/** Guarded by the class, as are the appenders of each. */
	private static final Map<LogDomain, Agent> agents = new EnumMap<>(LogDomain.class);

	private final LogDomain domain;
	private final Set<LttngLogAppender> appenders = new HashSet<>();
	private final LttngTcpSessiondClient root;
	private final LttngTcpSessiondClient user;
	/** The names of the rules that are on, for the end. Guarded by itself. */
	private final Set<String> names = new HashSet<>();

	private Agent(LogDomain domain) {
		super(org.lttng.ust.agent.ILttngAgent.Domain.LOG4J);
		this.domain = domain;
		root = new LttngTcpSessiondClient(this, domain.number, true);
		user = new LttngTcpSessiondClient(this, domain.number, false);
	}

	/** The domain's agent. The first appender starts it, and waits for the rules that exist. */
	static Agent attach(LogDomain domain, LttngLogAppender appender) {
		Agent agent;
		boolean isNew;

		synchronized (Agent.class) {
			agent = agents.get(domain);
			isNew = agent == null;
			if (isNew) {
				agent = new Agent(domain);
				agents.put(domain, agent);
			}
			agent.appenders.add(appender);
		}
		if (isNew) {
			String home = System.getenv("LTTNG_HOME");

			agent.connect(agent.root, Paths.get("/var/run/lttng/agent.port"));
			agent.connect(agent.user, Paths.get(home == null ? System.getProperty("user.home") : home,
					".lttng", "agent.port"));
		}
		return agent;
	}

	/** Does not wait for a daemon that is not there: the client tries again every 3 seconds. */
	private void connect(LttngTcpSessiondClient client, Path portFile) {
		Thread thread = new Thread(client, "lttng-" + domain);

		thread.setDaemon(true);
		thread.start();
		if (Files.isReadable(portFile))
			client.waitForConnection(WAIT);
	}

	/** The last appender closes the connections and withdraws the rules. */
	void detach(LttngLogAppender appender) {
		List<String> rest;

		synchronized (Agent.class) {
			appenders.remove(appender);
			if (!appenders.isEmpty())
				return;
			agents.remove(domain);
		}
		root.close();
		user.close();
		synchronized (names) {
			rest = new ArrayList<>(names);
			names.clear();
		}
		for (String name : rest)
			super.eventDisabled(name);
	}

	@Override
	public boolean eventEnabled(EventRule rule) {
		synchronized (names) {
			names.add(rule.getEventName());
		}
		return super.eventEnabled(rule);
	}

	/** The loggers whose records reach an appender of this domain. */
	@Override
	public Collection<String> listAvailableEvents() {
		LoggerContextFactory factory = LogManager.getFactory();
		Set<String> found = new TreeSet<>();

		if (!(factory instanceof Log4jContextFactory))
			return found;
		for (LoggerContext context : ((Log4jContextFactory)factory).getSelector().getLoggerContexts())
			for (Logger logger : context.getLoggers())
				if (!logger.getName().isEmpty() && reaches(logger.get()))
					found.add(logger.getName());
		return found;
	}

	private boolean reaches(LoggerConfig config) {
		for (; config != null; config = config.isAdditive() ? config.getParent() : null)
			for (Appender appender : config.getAppenders().values())
				synchronized (Agent.class) {
					if (appenders.contains(appender))
						return true;
				}
		return false;
	}
}
