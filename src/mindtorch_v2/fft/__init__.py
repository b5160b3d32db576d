"""Discrete Fourier transforms (torch.fft)."""

from .._C._fft import (
    fft as fft,
)
from .._C._fft import (
    fft2 as fft2,
)
from .._C._fft import (
    fftfreq as fftfreq,
)
from .._C._fft import (
    fftn as fftn,
)
from .._C._fft import (
    fftshift as fftshift,
)
from .._C._fft import (
    hfft as hfft,
)
from .._C._fft import (
    hfft2 as hfft2,
)
from .._C._fft import (
    hfftn as hfftn,
)
from .._C._fft import (
    ifft as ifft,
)
from .._C._fft import (
    ifft2 as ifft2,
)
from .._C._fft import (
    ifftn as ifftn,
)
from .._C._fft import (
    ifftshift as ifftshift,
)
from .._C._fft import (
    ihfft as ihfft,
)
from .._C._fft import (
    ihfft2 as ihfft2,
)
from .._C._fft import (
    ihfftn as ihfftn,
)
from .._C._fft import (
    irfft as irfft,
)
from .._C._fft import (
    irfft2 as irfft2,
)
from .._C._fft import (
    irfftn as irfftn,
)
from .._C._fft import (
    rfft as rfft,
)
from .._C._fft import (
    rfft2 as rfft2,
)
from .._C._fft import (
    rfftfreq as rfftfreq,
)
from .._C._fft import (
    rfftn as rfftn,
)
