"""The rules in other versions of the browsers than those installed: ``make rules BROWSER=chromium@88``.

``packages.toml`` lists the versions that can be had as packages. What they did stands in the rules' own files, below
what the installed browsers did, and in docs/browser-rules.md for each rule that ever changed.
"""
