-- Macros that several models use.

-- Whether the host of a URL is an IP address. No wildcard covers one, and none is added to a certificate.
CREATE TEMP MACRO is_ip_literal(host) AS contains(host, ':') OR regexp_full_match(host, '[0-9.]+');

-- A sum that is NULL if one of its terms is NULL.
CREATE TEMP MACRO sum_if_all_known(term) AS CASE WHEN count(*) = count(term) THEN sum(term) END;

-- The HTTP version, h1, h2 or h3, of a recorded protocol; NULL for any other protocol.
CREATE TEMP MACRO http_version(protocol) AS CASE
  WHEN protocol IN ('h2', 'h3') THEN protocol
  WHEN protocol IN ('http/1.1', 'http/1.0') THEN 'h1'
END;

-- Whether an answer is a redirect. An answer with an unknown status is not.
CREATE TEMP MACRO is_redirect(status) AS coalesce(status BETWEEN 300 AND 399, false);

-- The origin that a request queues for if its connection is not known; NULL if its connection is known, or its origin is not.
CREATE TEMP MACRO queue_origin(connection_id, scheme, host, port) AS
  CASE WHEN connection_id IS NULL THEN scheme || '://' || host || ':' || port END;

-- Whether a row of certificate_coverage counts: the parameter wildcards can say that wildcards cover nothing.
CREATE TEMP MACRO is_counted_as_covered(by_exact_name) AS by_exact_name OR getvariable('wildcards') = 'cover';

-- The wildcard that covers a host name (RFC 9525 section 6.3); NULL for a single label.
CREATE TEMP MACRO wildcard_above(host) AS CASE WHEN contains(host, '.') THEN '*' || substr(host, instr(host, '.')) END;

-- A connection as colocation_evidence.source writes it.
CREATE TEMP MACRO connection_source(connection_id, visit_id) AS 'connection ' || connection_id || ' of visit ' || visit_id;

-- Whether the answers on a connection show that its server serves the host. An answer with a 2xx or 3xx status does. Any other
-- but 421 does if the connection was opened for the host; on another host's connection, an error can mean that the server does
-- not know the host.
CREATE TEMP MACRO shows_host(succeeded, answered, host, first_host) AS
  succeeded > 0 OR (answered > 0 AND coalesce(first_host = host, false));
