"""NetLog files, as chrome://net-export and ``--log-net-log`` write them, into rows of a study."""
