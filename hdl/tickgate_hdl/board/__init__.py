"""The whole core and what joins it to a card."""
