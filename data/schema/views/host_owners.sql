-- Whom each host belongs to, as far as names tell: its registrable domain, or the host itself where it has none, as an IP
-- address.
-- host: the host
-- owner_domain: the domain that stands for its owner
SELECT host, coalesce(registrable_domain, host) AS owner_domain FROM hosts
