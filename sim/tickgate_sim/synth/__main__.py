"""Scratch."""
import sys, time
from tickgate.spec.presets import PRESETS
from .flow import synthesise
preset = PRESETS[sys.argv[1]]
paths = int(sys.argv[2])
for hop in sys.argv[3:]:
    t=time.time()
    r, e = synthesise(hop, preset, paths=paths)
    print(hop, r, f"{time.time()-t:.0f} s")
    for c, x in e.items():
        print(f"  {c}: {x.mhz:.0f} MHz, deepest {x.deepest}")
    for p in e["typical"].worst:
        print(f"    {p.period} ps  {p.levels} levels  {p.start} -> {p.end}   {' '.join(p.cells)}")
