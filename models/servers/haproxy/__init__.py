"""HAProxy's configurations: sections, conditions, certificates, and who answers then."""
