// What leaves the libraries: the C functions of the ABI, and the C++ parts that libnnopbase and libopapi
// share.
#pragma once

// The prototypes in acl_abi.h already have C linkage, so this only makes the definition visible.
#define SOFTNPU_EXPORT __attribute__((visibility("default")))
// C++ of the runtime used by the other two libraries; not part of any ABI.
#define SOFTNPU_SHARED __attribute__((visibility("default")))
