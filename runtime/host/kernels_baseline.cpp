#define CAKEJIT_HOST_KERNELS baseline_kernels
#define CAKEJIT_HOST_KERNELS_NAME "baseline"
#include "runtime/host/kernels_impl.hpp"
