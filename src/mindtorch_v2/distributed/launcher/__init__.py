"""Starting a function or a command as many processes, from a program."""

from .api import LaunchConfig as LaunchConfig
from .api import elastic_launch as elastic_launch
from .api import launch_agent as launch_agent
