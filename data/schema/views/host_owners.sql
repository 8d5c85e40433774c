-- The owner of each host, by its name: its registrable domain, or the host itself if it has none, such as an IP address.
-- host: the host
-- owner_domain: the domain that identifies the owner
SELECT host, coalesce(registrable_domain, host) AS owner_domain FROM hosts
