"""Settings of torch.fx."""

# Whether get_attr nodes of names that the owner lacks are left to the run without a word.
disable_progress = True
verbose_progress = False
do_not_emit_stack_traces = False
