// The kernels of products of floats by name, for tests that run them on the host.
#include "emulated.h"

#include "backends/cuda/device/float_products.h"

#include "named_kernels.h"

#define MT_FORM(TILE, LEFT_ALONG, RIGHT_ALONG, LEFT_WHOLE, RIGHT_WHOLE)                           \
  MT_KERNEL(TILE##_##LEFT_ALONG##_##RIGHT_ALONG##_##LEFT_WHOLE##_##RIGHT_WHOLE, FloatProductCall, \
            FloatProduct<TILE, LEFT_ALONG, RIGHT_ALONG, LEFT_WHOLE, RIGHT_WHOLE>::run)
#define MT_WHOLE(TILE, LEFT_ALONG, RIGHT_ALONG)      \
  MT_FORM(TILE, LEFT_ALONG, RIGHT_ALONG, true, true) \
  MT_FORM(TILE, LEFT_ALONG, RIGHT_ALONG, false, false)
MT_WHOLE(FloatProductWide, true, true)
MT_WHOLE(FloatProductWide, true, false)
MT_WHOLE(FloatProductWide, false, true)
MT_WHOLE(FloatProductWide, false, false)
MT_WHOLE(FloatProductNarrow, true, true)
MT_WHOLE(FloatProductNarrow, true, false)
MT_FORM(FloatProductWide, false, false, false, true)
MT_KERNEL(added, FloatProductCall, float_product_added)
