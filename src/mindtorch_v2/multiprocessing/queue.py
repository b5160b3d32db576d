"""torch.multiprocessing.queue: Python's queues, which pickle with our reductions."""

from multiprocessing.queues import Queue as Queue
from multiprocessing.queues import SimpleQueue as SimpleQueue
