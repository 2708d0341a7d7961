"""Seeded random stimulus: symbols, ITCH messages, MoldUDP64 frames. Everything follows from the seed alone."""
from .frames import FAULTS, Stream, frames, udp_frame
from .maker import Maker
from .profiles import PROFILES, Profile
from .universe import universe

__all__ = ["FAULTS", "Maker", "PROFILES", "Profile", "Stream", "frames", "udp_frame", "universe"]
