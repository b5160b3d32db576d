"""Where programs of the first versions of DTensor import meshes from."""

from ..device_mesh import DeviceMesh as DeviceMesh
from ..device_mesh import init_device_mesh as init_device_mesh

__all__ = ["DeviceMesh", "init_device_mesh"]
