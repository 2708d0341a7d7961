"""What the command tells a user who gave it something that cannot work."""
from tickgate.capture.errors import InputError

__all__ = ["InputError"]
