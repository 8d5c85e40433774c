"""The browsers' rules of connection reuse, pinned by small scenarios and observed in real browsers.

``texts/RULE.md`` has a scenario, one situation each, and below it what each browser did. ``make rules`` loads each of
them five times in Chromium and Firefox, third-party cookies allowed and blocked, and writes what the servers saw.

For those who check a model against it: ``rule_catalogue.observations()`` has what was observed, cell by cell, as
partitions of the requests into connections; ``rule_catalogue.scenario(rule)`` what there was to know (answers,
certificates, ORIGIN sets, protocols, and by ``rule_catalogue.page(rule).walk()`` the requests in order with their
credentials); ``python -m originset.crawler.testbed.rules --captures DIR`` keeps Chromium's captures, five for
each rule with the setting of third-party cookies as vantage.
"""
