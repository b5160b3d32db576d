"""The Ascend NPU: which libraries are used, the runtime and memory of each device, ACLNN by name.

Importing this loads no library and touches no driver; the first use of the device does.
"""


def may_be_there() -> bool:
    """True: whether there is one is asked when it is used."""
    return True
