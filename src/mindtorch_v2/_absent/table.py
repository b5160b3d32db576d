ABSENT = {"fx": ("because", "Graph @wrap symbolic_trace Kind=A,B ?is_x"), "": ("why", "sparse_coo_tensor")}
