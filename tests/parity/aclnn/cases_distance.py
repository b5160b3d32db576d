"""Distances between rows."""

import torch

from .harness import EXACT, OUT, case


@case("aclnnCdist", dtypes=EXACT, tolerance=8)
def distances_between_rows(make):
    a, b = make(2, 5, 3), make(2, 4, 3)
    for p in (0.0, 1.0, 2.0, 3.0, float("inf")):
        yield [a, b, p, 2, OUT], torch.cdist(a, b, p, compute_mode="donot_use_mm_for_euclid_dist")


@case("aclnnCdistBackward", dtypes=EXACT, tolerance=8)
def the_gradient_of_distances(make):
    a, b, grad = make(2, 5, 3), make(2, 4, 3), make(2, 5, 4)
    for p in (1.0, 2.0, 3.0):
        x = a.clone().requires_grad_()
        distances = torch.cdist(x, b, p)
        distances.backward(grad)
        yield [grad, a, b, distances.detach(), p, OUT], x.grad


@case("aclnnPdist", "aclnnPdistForward", dtypes=EXACT, tolerance=8)
def distances_within_a_set_of_rows(make):
    x = make(5, 3)
    for p in (1.0, 2.0, float("inf")):
        yield [x, p, OUT], torch.pdist(x, p)
