"""What tests of graphs share."""

import mindtorch_v2 as torch


def captured(function, **options):
    """A graph of what the function does, and what it returned."""
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph, **options):
        result = function()
    return graph, result
