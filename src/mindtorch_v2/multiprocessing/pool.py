"""torch.multiprocessing.pool: Python's pool, whose queues pickle with our reductions."""

from multiprocessing.pool import Pool as Pool
