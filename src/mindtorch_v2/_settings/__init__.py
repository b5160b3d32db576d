"""What a program sets for the whole process, and the checks and questions of torch itself."""
