// libhcomm.so: newer releases of CANN have part of HCCL's functions there, and programs look for HcclGroupStart in it.
// It defines none itself: who opens it finds those of libhccl.so, which it depends on.
