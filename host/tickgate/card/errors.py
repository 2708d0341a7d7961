"""What can go wrong between host and card."""


class CardError(Exception):
    """The card is not there, is another one than expected, or was asked for what it cannot do. The message is one line."""
