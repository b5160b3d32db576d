// libge_runner, libgraph and libacl_tdt_channel: programs name them when they are linked and use no function of
// theirs, so the files must exist and have nothing in them.
