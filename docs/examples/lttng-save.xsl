<?xml version="1.0"?>
<!-- SPDX-License-Identifier: GPL-2.0-or-later

     A session that `lttng save` wrote, as the file `config` of a session of
     trailfs:

         mkdir /trace/sessions/web
         xsltproc lttng-save.xsl ~/.lttng/sessions/web.lttng \
             > /trace/sessions/web/config

     It is for LTTng 2.9 to 2.16. Of more than one session in a file, choose:
     `stringparam session web`, with two hyphens before. What has no line in
     `config` is a comment there, and a message. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:output method="text" encoding="UTF-8"/>
<xsl:param name="session"/>
<xsl:variable name="upper" select="'ABCDEFGHIJKLMNOPQRSTUVWXYZ'"/>
<xsl:variable name="lower" select="'abcdefghijklmnopqrstuvwxyz'"/>

<!-- (Newer files have a name space; local-name() reads both.) -->
<xsl:template match="/">
  <xsl:apply-templates select="//*[local-name() = 'session'][not($session)
    or *[local-name() = 'name'] = $session][1]"/>
</xsl:template>

<xsl:template name="line">
  <xsl:param name="key"/>
  <xsl:param name="value"/>
  <xsl:value-of select="concat($key, ' = ', $value, '&#10;')"/>
</xsl:template>

<!-- A line for a value that is there -->
<xsl:template name="maybe">
  <xsl:param name="key"/>
  <xsl:param name="value"/>
  <xsl:if test="string($value)">
    <xsl:value-of select="concat($key, ' = ', $value, '&#10;')"/>
  </xsl:if>
</xsl:template>

<xsl:template name="left-out">
  <xsl:param name="what"/>
  <xsl:value-of select="concat('# left out: ', normalize-space($what), '&#10;')"/>
  <xsl:message>left out: <xsl:value-of select="normalize-space($what)"/></xsl:message>
</xsl:template>

<xsl:template match="*[local-name() = 'session']">
  <xsl:variable name="of" select="*[local-name() = 'attributes']"/>
  <xsl:text>[session]&#10;</xsl:text>
  <xsl:call-template name="maybe">
    <xsl:with-param name="key">ctf_version</xsl:with-param>
    <xsl:with-param name="value" select="translate(substring-after(
      *[local-name() = 'trace_format'], 'CTF_'), '_', '.')"/>
  </xsl:call-template>
  <xsl:for-each select="*[local-name() = 'output']/*[local-name() = 'consumer_output']">
    <xsl:call-template name="maybe">
      <xsl:with-param name="key">output</xsl:with-param>
      <xsl:with-param name="value"><xsl:apply-templates select="." mode="place"/></xsl:with-param>
    </xsl:call-template>
  </xsl:for-each>
  <xsl:for-each select="*[local-name() = 'output']/*[local-name() = 'snapshot_outputs']/*">
    <xsl:variable name="most" select="*[local-name() = 'max_size']"/>
    <xsl:text>snapshot_outputs = </xsl:text>
    <xsl:apply-templates select="*[local-name() = 'consumer_output']" mode="place"/>
    <xsl:if test="$most &gt; 0"><xsl:value-of select="concat(' max-size=', $most)"/></xsl:if>
    <xsl:text>&#10;</xsl:text>
  </xsl:for-each>
  <xsl:call-template name="maybe">
    <xsl:with-param name="key">live_period</xsl:with-param>
    <xsl:with-param name="value" select="$of/*[local-name() = 'live_timer_interval'][. &gt; 0]"/>
  </xsl:call-template>
  <xsl:call-template name="maybe">
    <xsl:with-param name="key">rotate_period</xsl:with-param>
    <xsl:with-param name="value" select="$of//*[local-name() = 'time_us']"/>
  </xsl:call-template>
  <xsl:call-template name="maybe">
    <xsl:with-param name="key">rotate_size</xsl:with-param>
    <xsl:with-param name="value" select="$of//*[local-name() = 'bytes']"/>
  </xsl:call-template>
  <xsl:if test="*[local-name() = 'started'] = 'true' or *[local-name() = 'started'] = '1'">
    <xsl:text>start = yes&#10;</xsl:text>
  </xsl:if>
  <xsl:apply-templates select="*[local-name() = 'domains']/*"/>
</xsl:template>

<xsl:template match="*" mode="place">
  <xsl:variable name="enabled" select="*[local-name() = 'enabled']"/>
  <xsl:variable name="data" select=".//*[local-name() = 'data_uri']"/>
  <xsl:if test="not($enabled) or $enabled = 'true' or $enabled = '1'">
    <xsl:value-of select=".//*[local-name() = 'path']"/>
    <xsl:value-of select=".//*[local-name() = 'control_uri']"/>
    <xsl:if test="$data"><xsl:value-of select="concat(' ', $data)"/></xsl:if>
  </xsl:if>
</xsl:template>

<!-- ==== domains ==== -->

<xsl:template match="*[local-name() = 'domain']">
  <xsl:variable name="type" select="*[local-name() = 'type']"/>
  <xsl:variable name="name">
    <xsl:choose>
      <xsl:when test="$type = 'KERNEL'">kernel</xsl:when>
      <xsl:otherwise>user</xsl:otherwise>
    </xsl:choose>
  </xsl:variable>
  <xsl:if test=".//*[local-name() = 'process_attr_values']">
    <xsl:value-of select="concat('&#10;[', $name, ']&#10;')"/>
  </xsl:if>
  <xsl:for-each select=".//*[local-name() = 'process_attr_values']">
    <xsl:variable name="key"
      select="concat('track/', substring-before(local-name(..), '_process_attr'))"/>
    <xsl:for-each select="*">
      <xsl:call-template name="line">
        <xsl:with-param name="key" select="$key"/>
        <xsl:with-param name="value" select="*[1]"/>
      </xsl:call-template>
    </xsl:for-each>
    <xsl:if test="not(*)">
      <xsl:value-of select="concat($key, ' =&#10;')"/>
    </xsl:if>
  </xsl:for-each>
  <xsl:for-each select="*[local-name() = 'map_channels']/*">
    <xsl:call-template name="left-out">
      <xsl:with-param name="what"
        select="concat('the map channel ', *[local-name() = 'name'])"/>
    </xsl:call-template>
  </xsl:for-each>
  <!-- The channel of an agent is among those of UST, too, without the rules. -->
  <xsl:for-each select="*[local-name() = 'channels']/*[$type != 'UST' or
    not(//*[local-name() = 'domain'][*[local-name() = 'type'] != 'UST']//*[local-name() =
    'channel']/*[local-name() = 'name'] = *[local-name() = 'name'])]">
    <xsl:value-of select="concat('&#10;[', $name, ' channel]&#10;')"/>
    <xsl:apply-templates select=".">
      <xsl:with-param name="domain" select="$type"/>
      <xsl:with-param name="buffers" select="../../*[local-name() = 'buffer_type']"/>
    </xsl:apply-templates>
  </xsl:for-each>
</xsl:template>

<xsl:template match="*[local-name() = 'channel']">
  <xsl:param name="domain"/>
  <xsl:param name="buffers"/>
  <xsl:call-template name="line">
    <xsl:with-param name="key">name</xsl:with-param>
    <xsl:with-param name="value" select="*[local-name() = 'name']"/>
  </xsl:call-template>
  <xsl:for-each select="*[local-name() = 'events']/*">
    <xsl:choose>
      <xsl:when test="$domain = 'KERNEL'"><xsl:apply-templates select="." mode="kernel"/></xsl:when>
      <xsl:when test="$domain = 'UST'">
        <xsl:apply-templates select="." mode="rule">
          <xsl:with-param name="pattern" select="*[local-name() = 'name']"/>
        </xsl:apply-templates>
      </xsl:when>
      <xsl:otherwise>
        <xsl:apply-templates select="." mode="logger">
          <xsl:with-param name="domain" select="translate($domain, $upper, $lower)"/>
        </xsl:apply-templates>
      </xsl:otherwise>
    </xsl:choose>
  </xsl:for-each>
  <xsl:apply-templates select="*[local-name() = 'contexts']/*"/>
  <xsl:if test="*[local-name() = 'enabled'] = 'false' or *[local-name() = 'enabled'] = '0'">
    <xsl:text>enabled = 0&#10;</xsl:text>
  </xsl:if>
  <xsl:for-each select="*">
    <xsl:variable name="key">
      <xsl:choose>
        <xsl:when test="local-name() = 'subbuffer_size'">subbuf_size</xsl:when>
        <xsl:when test="local-name() = 'subbuffer_count'">subbuf_count</xsl:when>
        <xsl:when test="local-name() = 'overwrite_mode'">loss_mode</xsl:when>
        <xsl:when test="local-name() = 'switch_timer_interval'">switch_period</xsl:when>
        <xsl:when test="local-name() = 'read_timer_interval'">read_period</xsl:when>
        <xsl:when test="local-name() = 'monitor_timer_interval'">monitor_period</xsl:when>
        <xsl:when test="local-name() = 'tracefile_size'">file_size</xsl:when>
        <xsl:when test="local-name() = 'tracefile_count'">file_count</xsl:when>
        <!-- Memory that is given back is not preallocated here. -->
        <xsl:when test="$domain != 'KERNEL' and local-name() = 'preallocation_policy' and
          not(../*[local-name() = 'reclaim_policy']/*)">buffer_preallocation</xsl:when>
      </xsl:choose>
    </xsl:variable>
    <xsl:if test="string($key)">
      <xsl:call-template name="line">
        <xsl:with-param name="key" select="$key"/>
        <xsl:with-param name="value" select="translate(., $upper, $lower)"/>
      </xsl:call-template>
    </xsl:if>
  </xsl:for-each>
  <xsl:for-each select="*[local-name() = 'reclaim_policy']/*">
    <xsl:text>memory_max_age = </xsl:text>
    <xsl:choose>
      <xsl:when test="local-name() = 'consumed'">consumed</xsl:when>
      <xsl:otherwise><xsl:value-of select="*"/></xsl:otherwise>
    </xsl:choose>
    <xsl:text>&#10;</xsl:text>
  </xsl:for-each>
  <xsl:if test="$domain != 'KERNEL'">
    <xsl:for-each select="*[local-name() = 'blocking_timeout' and
      not(../*[local-name() = 'overwrite_mode'] = 'OVERWRITE')]">
      <xsl:call-template name="line">
        <xsl:with-param name="key">blocking_timeout</xsl:with-param>
        <xsl:with-param name="value"><xsl:choose>
          <xsl:when test=". &lt; 0">inf</xsl:when>
          <xsl:otherwise><xsl:value-of select="."/></xsl:otherwise>
        </xsl:choose></xsl:with-param>
      </xsl:call-template>
    </xsl:for-each>
    <xsl:if test="$buffers = 'PER_PID'">buffering = process&#10;</xsl:if>
  </xsl:if>
</xsl:template>

<xsl:template match="*[local-name() = 'context']">
  <xsl:variable name="type" select="*[local-name() = 'type']"/>
  <xsl:choose>
    <!-- Every channel of LTTng 2.16 has it; here the packets have the CPU. -->
    <xsl:when test="$type = 'CPU_ID'"/>
    <xsl:when test="*[local-name() = 'app']">
      <xsl:value-of select="concat('contexts = $app.', *[local-name() = 'app']/*[1], ':',
        *[local-name() = 'app']/*[2], '&#10;')"/>
    </xsl:when>
    <xsl:when test="*[local-name() = 'perf']">
      <xsl:call-template name="left-out">
        <xsl:with-param name="what" select="concat('the context ',
          *[local-name() = 'perf']/*[local-name() = 'name'])"/>
      </xsl:call-template>
    </xsl:when>
    <xsl:when test="starts-with($type, 'CALLSTACK')">
      <xsl:value-of select="concat('contexts = ', translate(translate($type, $upper, $lower),
        '_', '-'), '&#10;')"/>
    </xsl:when>
    <xsl:otherwise>
      <xsl:value-of select="concat('contexts = ', translate($type, $upper, $lower), '&#10;')"/>
    </xsl:otherwise>
  </xsl:choose>
</xsl:template>

<!-- ==== rules ==== -->

<xsl:template match="*" mode="rule">
  <xsl:param name="pattern"/>
  <xsl:param name="condition"/>
  <xsl:variable name="kind" select="*[local-name() = 'loglevel_type']"/>
  <xsl:variable name="filter" select="*[local-name() = 'filter']"/>
  <xsl:text>events = </xsl:text>
  <xsl:if test="*[local-name() = 'enabled'] = 'false' or *[local-name() = 'enabled'] = '0'"
    >~</xsl:if>
  <xsl:value-of select="$pattern"/>
  <xsl:for-each select="*[local-name() = 'exclusions']/*">
    <xsl:choose>
      <xsl:when test="position() = 1"> except </xsl:when>
      <xsl:otherwise>,</xsl:otherwise>
    </xsl:choose>
    <xsl:value-of select="."/>
  </xsl:for-each>
  <xsl:if test="not($condition) and $kind and $kind != 'ALL'">
    <xsl:text> loglevel </xsl:text>
    <xsl:if test="$kind = 'RANGE'">&lt;= </xsl:if>
    <xsl:value-of select="*[local-name() = 'loglevel']"/>
  </xsl:if>
  <xsl:choose>
    <xsl:when test="string($condition) and string($filter)">
      <xsl:value-of select="concat(' if ', $condition, ' &amp;&amp; (', normalize-space($filter),
        ')')"/>
    </xsl:when>
    <xsl:when test="string($condition)">
      <xsl:value-of select="concat(' if ', $condition)"/>
    </xsl:when>
    <xsl:when test="string($filter)">
      <xsl:value-of select="concat(' if ', normalize-space($filter))"/>
    </xsl:when>
  </xsl:choose>
  <xsl:text>&#10;</xsl:text>
</xsl:template>

<!-- What an agent logs is an event, with the logger and the level as fields. -->
<xsl:template match="*" mode="logger">
  <xsl:param name="domain"/>
  <xsl:variable name="name" select="*[local-name() = 'name']"/>
  <xsl:variable name="kind" select="*[local-name() = 'loglevel_type']"/>
  <xsl:variable name="level" select="*[local-name() = 'loglevel']"/>
  <xsl:variable name="of-name">
    <xsl:if test="$name != '*'">logger_name == "<xsl:value-of select="$name"/>"</xsl:if>
  </xsl:variable>
  <xsl:variable name="of-level">
    <xsl:if test="$kind and $kind != 'ALL'">
      <xsl:text>int_loglevel </xsl:text>
      <xsl:choose>
        <xsl:when test="$kind = 'SINGLE'">== </xsl:when>
        <xsl:when test="$domain = 'log4j2'">&lt;= </xsl:when>
        <xsl:otherwise>&gt;= </xsl:otherwise>
      </xsl:choose>
      <xsl:value-of select="$level"/>
    </xsl:if>
  </xsl:variable>
  <xsl:apply-templates select="." mode="rule">
    <xsl:with-param name="pattern" select="concat('lttng_', $domain, ':event')"/>
    <xsl:with-param name="condition">
      <xsl:value-of select="$of-name"/>
      <xsl:if test="string($of-name) and string($of-level)"> &amp;&amp; </xsl:if>
      <xsl:value-of select="$of-level"/>
    </xsl:with-param>
  </xsl:apply-templates>
</xsl:template>

<xsl:template match="*" mode="kernel">
  <xsl:variable name="name" select="*[local-name() = 'name']"/>
  <xsl:variable name="type" select="*[local-name() = 'type']"/>
  <xsl:variable name="probe" select=".//*[local-name() = 'probe_attributes']"/>
  <xsl:variable name="user" select=".//*[starts-with(local-name(), 'userspace_probe_')]"/>
  <xsl:variable name="at">
    <xsl:value-of select="$probe/*[local-name() = 'symbol_name']"/>
    <xsl:if test="$probe/*[local-name() = 'offset'] &gt; 0">+<xsl:value-of
      select="$probe/*[local-name() = 'offset']"/></xsl:if>
  </xsl:variable>
  <xsl:choose>
    <xsl:when test="$type = 'SYSCALL'">
      <xsl:apply-templates select="." mode="rule">
        <xsl:with-param name="pattern" select="concat('syscall:', $name)"/>
      </xsl:apply-templates>
    </xsl:when>
    <xsl:when test="$type = 'TRACEPOINT' or not($type)">
      <xsl:apply-templates select="." mode="rule">
        <xsl:with-param name="pattern" select="$name"/>
      </xsl:apply-templates>
    </xsl:when>
    <xsl:when test="($type = 'PROBE' or $type = 'KPROBE') and string($at)">
      <xsl:apply-templates select="." mode="rule">
        <xsl:with-param name="pattern" select="concat('kprobe:', $at)"/>
      </xsl:apply-templates>
    </xsl:when>
    <xsl:when test="$user/*[local-name() = 'function_name']">
      <xsl:apply-templates select="." mode="rule">
        <xsl:with-param name="pattern" select="concat('uprobe:', $user/*[local-name() =
          'binary_path'], ':', $user/*[local-name() = 'function_name'])"/>
      </xsl:apply-templates>
    </xsl:when>
    <xsl:when test="$user/*[local-name() = 'probe_name']">
      <xsl:apply-templates select="." mode="rule">
        <xsl:with-param name="pattern" select="concat('usdt:', $user/*[local-name() =
          'binary_path'], ':', $user/*[local-name() = 'provider_name'], ':',
          $user/*[local-name() = 'probe_name'])"/>
      </xsl:apply-templates>
    </xsl:when>
    <xsl:otherwise>
      <xsl:call-template name="left-out">
        <xsl:with-param name="what" select="concat('the rule ', $name, ' of the type ', $type)"/>
      </xsl:call-template>
    </xsl:otherwise>
  </xsl:choose>
</xsl:template>
</xsl:stylesheet>
