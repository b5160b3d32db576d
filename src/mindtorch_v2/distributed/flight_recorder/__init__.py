"""``torch.distributed.flight_recorder``: the last collectives of each group, for the day when processes wait for ever.

``recorder.py`` keeps them and writes them to files, ``watch.py`` finds out who is behind while the processes are still
there, ``fr_trace.py`` from the files afterwards.
"""
