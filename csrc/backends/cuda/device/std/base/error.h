// Stands for base/error.h in code for the device, where nothing is raised: checks are the host's, before the launch.
#pragma once
