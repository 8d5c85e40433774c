-- What several models say in the same words.

-- An IP address in a URL's host, which no wildcard covers and no certificate gets as a name.
CREATE TEMP MACRO is_ip_literal(host) AS contains(host, ':') OR regexp_full_match(host, '[0-9.]+');

-- A sum that is not known if one of its terms is not.
CREATE TEMP MACRO sum_if_all_known(term) AS CASE WHEN count(*) = count(term) THEN sum(term) END;

-- h1, h2 or h3 for what the recorder calls a protocol; NULL for any other.
CREATE TEMP MACRO http_version(protocol) AS CASE
  WHEN protocol IN ('h2', 'h3') THEN protocol
  WHEN protocol IN ('http/1.1', 'http/1.0') THEN 'h1'
END;

-- An answer that sends the browser elsewhere. One whose status is not known does not.
CREATE TEMP MACRO is_redirect(status) AS coalesce(status BETWEEN 300 AND 399, false);

-- What a request queues for where its connection is not known; NULL where its origin is not known either.
CREATE TEMP MACRO queue_origin(connection_id, scheme, host, port) AS
  CASE WHEN connection_id IS NULL THEN scheme || '://' || host || ':' || port END;

-- Whether what certificate_coverage has of a host and a certificate counts: wildcards may be taken to cover nothing.
CREATE TEMP MACRO is_counted_as_covered(by_exact_name) AS by_exact_name OR getvariable('wildcards') = 'cover';

-- The wildcard that covers a host name (RFC 9525 section 6.3); NULL for a single label.
CREATE TEMP MACRO wildcard_above(host) AS CASE WHEN contains(host, '.') THEN '*' || substr(host, instr(host, '.')) END;

-- A connection in the words of colocation_evidence.source.
CREATE TEMP MACRO connection_source(connection_id, visit_id) AS 'connection ' || connection_id || ' of visit ' || visit_id;

-- Whether answers on a connection show that its server serves the host: those with a 2xx or 3xx status do, and any others but
-- 421 on the connection that was opened for the host. An error on another's may mean that the server does not know the host.
CREATE TEMP MACRO shows_host(succeeded, answered, host, first_host) AS
  succeeded > 0 OR (answered > 0 AND coalesce(first_host = host, false));
