"""The HTML report of a replay: ``series`` collects during the run, ``plots`` draws, ``page`` makes one self-contained page of it."""
