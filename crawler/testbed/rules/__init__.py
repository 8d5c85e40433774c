"""The browsers' rules of connection reuse, pinned by small scenarios and observed in real browsers.

``texts/RULE.toml`` are the scenarios, one situation each. ``make rules`` loads each of them five times in Chromium and
Firefox, third-party cookies allowed and blocked, and stores what the servers saw.

For those who check a model against it: :func:`originset.data.reference.browser_observations.read` has what was
observed, cell by cell, as partitions of the requests into connections; ``catalogue.scenario(rule)`` what there was to
know (answers, certificates, ORIGIN sets, protocols, and by ``catalogue.page(rule).walk()`` the requests in order with
their credentials); ``python -m originset.crawler.testbed.rules --captures DIR`` keeps Chromium's captures, five for
each rule with the setting of third-party cookies as vantage.
"""
