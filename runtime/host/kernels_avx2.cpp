#define CAKEJIT_HOST_KERNELS avx2_kernels
#define CAKEJIT_HOST_KERNELS_NAME "avx2"
#include "runtime/host/kernels_impl.hpp"
