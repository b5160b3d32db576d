"""Values that describe tensors: sizes, memory formats, layouts, limits of dtypes, and dtypes' older names."""
