"""Tickgate, the software side: captures, the twin, the card, the command. Needs no HDL package."""
