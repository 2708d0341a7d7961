"""Gateware of Tickgate, left to right: net, feed, book, dma; csr beside them; board/core.py joins all."""
