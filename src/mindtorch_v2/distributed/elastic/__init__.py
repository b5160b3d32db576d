"""Starting a program as many processes, on one machine or several, and starting them again when one fails.

``multiprocessing`` is the processes of one machine, ``meeting`` how machines agree who takes part, ``agent`` the loop
that joins the two. ``torch.distributed.run`` is its command line, ``torch.distributed.launcher`` its functions.
"""
