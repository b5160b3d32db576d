"""Convolutions on a made-up GPU (fake_driver.c, fake_cudnn.c): what cuDNN is given, and complex numbers by parts."""

import pytest
from made_up_gpu import HERE, made_up_gpu, ran


@pytest.mark.timeout(400)  # a loaded machine
def test_results_and_gradients_are_those_of_the_host(tmp_path):
    environment = made_up_gpu(tmp_path, {"libcudnn.so.9": HERE / "fake_cudnn.c"})
    done = ran(environment, str(HERE / "convolution_program.py"))
    assert done.returncode == 0, done.stderr
