#define CAKEJIT_HOST_KERNELS avx512_kernels
#define CAKEJIT_HOST_KERNELS_NAME "avx512"
#include "runtime/host/kernels_impl.hpp"
