// SPDX-License-Identifier: MIT
package org.lttng.ust.agent.log4j2;

import java.util.Locale;

import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.spi.StandardLevel;

/** What a record becomes: an event of log4j 2, or one as log4j 1 has it. */
enum LogDomain {
	LOG4J(4), LOG4J2(6);

	/** Of the domain in the agents' protocol. */
	final int number;

	LogDomain(int number) {
		this.number = number;
	}

	/** Null: there is none of that name, in any case of its letters. */
	static LogDomain of(String name) {
		for (LogDomain d : values())
			if (name != null && d.name().equals(name.toUpperCase(Locale.ROOT)))
				return d;
		return null;
	}

	/** The field int_loglevel. For LOG4J a level of the program itself is the next severe one. */
	int level(Level level) {
		if (this == LOG4J2)
			return level.intLevel();
		switch (StandardLevel.getStandardLevel(level.intLevel())) {
		case OFF:
			return Integer.MAX_VALUE;
		case FATAL:
			return 50000;
		case ERROR:
			return 40000;
		case WARN:
			return 30000;
		case INFO:
			return 20000;
		case DEBUG:
			return 10000;
		case TRACE:
			return 5000;
		default:
			return Integer.MIN_VALUE;
		}
	}
}
