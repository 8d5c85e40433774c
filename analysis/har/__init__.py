"""HAR files of any recorder to columns: decoded into structs, collected as columns, interpreted as whole columns."""
