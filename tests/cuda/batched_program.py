"""Batches of small matrices on the made-up GPU of test_batched_launches.py, where cuBLAS and cuSOLVER are NumPy."""

import ctypes
import json

import numpy as np
import programs_on_host

import mindtorch_v2 as torch

programs_on_host.install()
TYPES = {"S": np.float32, "D": np.float64, "C": np.complex64, "Z": np.complex128}
called = []


def array(address, dtype, *sizes):
    count = int(np.prod(sizes))
    room = (ctypes.c_char * (np.dtype(dtype).itemsize * count)).from_address(address)
    return np.frombuffer(room, dtype).reshape(sizes)


def matrices(addresses, dtype, leading, columns, count):
    """By columns: transposed."""
    return [array(int(at), dtype, columns, leading).T for at in array(addresses, np.int64, count)]


def operated(a, operation):
    return (a, a.T, a.conj().T)[operation]


def getrf(dtype, n, addresses, leading, pivots, infos, count):
    for i, a in enumerate(matrices(addresses, dtype, leading, n, count)):
        for k in range(n):
            best = k + int(np.argmax(np.abs(a[k:, k])))
            array(pivots, np.int32, count, n)[i, k] = best + 1
            a[[k, best]] = a[[best, k]]
            if k + 1 < n:
                a[k + 1 :, k] /= a[k, k]
                a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    array(infos, np.int32, count)[:] = 0


def getrs(dtype, operation, n, columns, addresses, leading, pivots, sides, side_leading, info, count):
    factors = matrices(addresses, dtype, leading, n, count)
    for i, (lu, b) in enumerate(
        zip(factors, matrices(sides, dtype, side_leading, columns, count), strict=True)
    ):
        a = (np.tril(lu, -1) + np.eye(n)) @ np.triu(lu)
        for k in reversed(range(n)):
            other = array(pivots, np.int32, count, n)[i, k] - 1
            a[[k, other]] = a[[other, k]]
        b[:] = np.linalg.solve(operated(a, operation), b)
    array(info, np.int32, 1)[:] = 0


def potrf(dtype, upper, n, addresses, leading, infos, count):
    for a in matrices(addresses, dtype, leading, n, count):
        lower = np.linalg.cholesky(a.conj().T if upper else a)
        a[:] = lower.conj().T if upper else lower
    array(infos, np.int32, count)[:] = 0


def trsm(dtype, right, upper, operation, unit, m, n, one, addresses, leading, sides, side_leading, count):
    assert array(one, dtype, 1)[0] == 1
    size = n if right else m
    for a, b in zip(
        matrices(addresses, dtype, leading, size, count),
        matrices(sides, dtype, side_leading, n, count),
        strict=True,
    ):
        t = np.triu(a) if upper else np.tril(a)
        if unit:
            np.fill_diagonal(t, 1)
        t = operated(t, operation)
        b[:] = np.linalg.solve(t.T, b.T).T if right else np.linalg.solve(t, b)


@ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char, ctypes.POINTER(ctypes.c_int64), ctypes.c_int)
def run(name, letter, arguments, number):
    called.append(name.decode())
    globals()[name.decode()](TYPES[letter.decode()], *arguments[:number])


for library in ("libcublas.so.13", "libcusolver.so.12"):
    ctypes.CDLL(library).fake_functions(run)

torch.manual_seed(0)
for dtype in (torch.float32, torch.complex128):
    near = {"rtol": 1e-4, "atol": 1e-4} if dtype == torch.float32 else {}

    def both(function, *given, near=near):
        wanted, made = function(*given), function(*(t.cuda() for t in given))
        if isinstance(wanted, torch.Tensor):
            wanted, made = [wanted], [made]
        for want, mine in zip(wanted, made, strict=True):
            torch.testing.assert_close(mine.cpu(), want, **near)

    a = torch.randn(2, 2, 4, 4, dtype=dtype) + 3 * torch.eye(4, dtype=dtype)
    b = torch.randn(2, 2, 4, 3, dtype=dtype)
    both(torch.linalg.inv, a)
    both(torch.linalg.solve, a, b)
    both(lambda a, b: torch.linalg.solve(a.mT, b.mT, left=False), a, b)
    both(torch.linalg.lu_factor, a)
    both(lambda a, b: torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b, adjoint=True), a, b)
    whole = a @ a.mH
    both(torch.linalg.cholesky, whole)
    both(lambda a: torch.linalg.cholesky(a, upper=True), whole)
    both(lambda a, b: torch.linalg.solve_triangular(a, b, upper=True), a, b)
    both(
        lambda a, b: torch.linalg.solve_triangular(a, b.mT, upper=False, left=False, unitriangular=True), a, b
    )
print(json.dumps(called))
