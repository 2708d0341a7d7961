"""Order table, price ladders, top of book, records."""
