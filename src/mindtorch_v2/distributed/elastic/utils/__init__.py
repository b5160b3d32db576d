"""What launchers need of a machine."""
