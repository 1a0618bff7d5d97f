"""The compiled core: the table of entries, how it is built, how it is loaded."""
