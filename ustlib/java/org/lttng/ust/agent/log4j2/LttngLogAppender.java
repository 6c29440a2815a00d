// SPDX-License-Identifier: MIT
package org.lttng.ust.agent.log4j2;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

import org.apache.logging.log4j.core.Appender;
import org.apache.logging.log4j.core.Core;
import org.apache.logging.log4j.core.Filter;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Property;
import org.apache.logging.log4j.core.config.plugins.Plugin;
import org.apache.logging.log4j.core.config.plugins.PluginAttribute;
import org.apache.logging.log4j.core.config.plugins.PluginElement;
import org.apache.logging.log4j.core.config.plugins.PluginFactory;
import org.lttng.ust.agent.ILttngHandler;

/**
 * The appender {@code Lttng} of Log4j 2: it turns each record whose logger a session or trigger
 * asks for into an event. Its name, its package and its configuration are those of LTTng-UST, so a
 * log4j2.xml that was written for LTTng-UST works. Any number of threads may append.
 */
@Plugin(name = LttngLogAppender.PLUGIN_NAME, category = Core.CATEGORY_NAME,
	elementType = Appender.ELEMENT_TYPE)
public final class LttngLogAppender extends AbstractAppender implements ILttngHandler {
	public static final String PLUGIN_NAME = "Lttng";

	private final LogDomain domain;
	private final AtomicLong count = new AtomicLong();
	/** Null: the appender is not started. */
	private volatile Agent agent;

	private LttngLogAppender(String name, LogDomain domain, Filter filter, boolean ignoreExceptions) {
		super(name, filter, null, ignoreExceptions, Property.EMPTY_ARRAY);
		this.domain = domain;
	}

	/**
	 * Log4j calls this for each element {@code <Lttng name="NAME" domain="LOG4J2"/>}.
	 *
	 * @param domain LOG4J2, or LOG4J: the events and levels of log4j 1, in sessions' log4j/
	 * @param ignoreExceptions null or true: the program does not see errors of the appender
	 * @param filter may be null
	 * @return null, with an error in Log4j's status log, if an attribute is missing or wrong or the
	 *	native library is not found; Log4j then leaves the appender out
	 */
	@PluginFactory
	public static LttngLogAppender createAppender(@PluginAttribute("name") String name,
			@PluginAttribute("domain") String domain,
			@PluginAttribute("ignoreExceptions") Boolean ignoreExceptions,
			@PluginElement("Filters") Filter filter) {
		if (name == null) {
			LOGGER.error("Lttng: the appender has no name");
			return null;
		}
		LogDomain found = LogDomain.of(domain);
		if (found == null) {
			LOGGER.error("Lttng {}: domain is '{}', must be LOG4J2 or LOG4J", name, domain);
			return null;
		}
		try {
			Tracepoint.load();
		} catch (LinkageError | SecurityException e) {
			LOGGER.error("Lttng {}: {}; add the directory of lib{}.so to LD_LIBRARY_PATH or "
					+ "java.library.path", name, e.getMessage(), Tracepoint.LIBRARY);
			return null;
		}
		return new LttngLogAppender(name, found, filter,
				ignoreExceptions == null || ignoreExceptions);
	}

	@Override
	public synchronized void start() {
		if (agent == null)
			agent = Agent.attach(domain, this);
		super.start();
	}

	@Override
	public boolean stop(long timeout, TimeUnit unit) {
		setStopping();
		close();
		setStopped();
		return true;
	}

	/** Stops recording. The last appender of a domain closes the connections to the daemons. */
	@Override
	public synchronized void close() {
		if (agent != null)
			agent.detach(this);
		agent = null;
	}

	/** How many records became events. */
	@Override
	public long getEventCount() {
		return count.get();
	}

	@Override
	public void append(LogEvent event) {
		Agent now = agent;
		String logger = event.getLoggerName() == null ? "" : event.getLoggerName();

		if (now != null && now.isEventEnabled(logger)) {
			Tracepoint.record(domain, logger, event, now.getEnabledAppContexts());
			count.incrementAndGet();
		}
	}
}
