"""HAR files of any recorder to columns: decoded into typed structs, gathered as lists, finished as whole columns."""
