"""linalg.eig on the made-up GPU of test_eig_launches.py, where cuSOLVER is NumPy."""

import ctypes
import json

import numpy as np
import programs_on_host

import mindtorch_v2 as torch

launched = programs_on_host.install()
solver = ctypes.CDLL("libcusolver.so.12")
SIZES, POINTER = ctypes.c_int64, ctypes.c_void_p
TYPES = {0: np.float32, 1: np.float64, 4: np.complex64, 5: np.complex128}
asked = []


def array(address, type_, count):
    bytes_ = np.dtype(TYPES[type_]).itemsize * count
    return np.frombuffer((ctypes.c_char * bytes_).from_address(address), TYPES[type_])


@ctypes.CFUNCTYPE(
    None, ctypes.c_int, SIZES, ctypes.c_int, POINTER, ctypes.c_int, POINTER, ctypes.c_int, POINTER
)
def geev(right, n, type_, a, values_type, values, vectors_type, vectors):
    """As LAPACK: columns, and of real matrices conjugate pairs as their two parts."""
    asked.append((right, n, type_, values_type, vectors_type))
    w, v = np.linalg.eig(array(a, type_, n * n).reshape(n, n).T)
    array(values, values_type, n)[:] = w
    if not right:
        return
    columns = v.T.copy()
    if type_ in (0, 1):
        second = np.flatnonzero(w.imag < 0)
        columns[second] = columns[second - 1].imag
    array(vectors, vectors_type, n * n)[:] = columns.astype(TYPES[vectors_type]).ravel()


solver.fake_geev(geev)
rotation = torch.tensor([[0.0, -2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
torch.manual_seed(0)
for dtype in (torch.float32, torch.complex128):
    a = torch.stack([rotation.to(dtype), torch.randn(3, 3, dtype=dtype), torch.randn(3, 3, dtype=dtype)])
    values, vectors = (t.cpu() for t in torch.linalg.eig(a.cuda()))
    near = {"rtol": 1e-4, "atol": 1e-4} if dtype == torch.float32 else {}
    torch.testing.assert_close(a.to(vectors.dtype) @ vectors, vectors * values.unsqueeze(-2), **near)
    torch.testing.assert_close(torch.linalg.eigvals(a.cuda().mT).cpu(), torch.linalg.eigvals(a.mT), **near)
for bad in (float("nan"), float("inf")):
    try:
        torch.linalg.eig(torch.tensor([[1.0, bad], [0.0, 1.0]]).cuda())
    except RuntimeError as error:
        assert "should not contain infs or NaNs" in str(error)
    else:
        raise AssertionError(bad)
assert torch.linalg.eig(torch.ones(0, 0).cuda())[1].shape == (0, 0)
assert asked[:3] == [(1, 3, 0, 4, 0)] * 3
print(json.dumps(launched))
