/* The C ABI in one call: a forward over two documents on the CPU, checked against a plain loop. Exits 0 if right. */
#include <math.h>
#include <stdio.h>

#include "cakejit/cake_causal_conv1d_det_train.h"

enum { kTokens = 7, kChannels = 3 };

int main(void) {
  const int32_t offsets[] = {0, 4, kTokens};
  float x[kTokens][kChannels], weight[kChannels][4], bias[kChannels], y[kTokens][kChannels];
  for (int c = 0; c < kChannels; ++c) {
    for (int t = 0; t < kTokens; ++t) x[t][c] = 0.25f * (float)(t - c);
    for (int k = 0; k < 4; ++k) weight[c][k] = 0.5f - 0.125f * (float)(c + k);
    bias[c] = 0.1f * (float)c;
  }

  const cake_causal_conv1d_det_train_problem problem = {
      .struct_size = sizeof problem,
      .device = CAKE_DEVICE_HOST,
      .tokens = kTokens,
      .channels = kChannels,
      .documents = 2,
      .dtype = CAKE_DTYPE_FP32,
      .weight_dtype = CAKE_DTYPE_FP32,
      .bias_dtype = CAKE_DTYPE_FP32,
      .cu_seqlens_dtype = CAKE_DTYPE_INT32,
      .activation = CAKE_ACTIVATION_SILU,
      .x_row_stride = kChannels,
      .y_row_stride = kChannels,
  };
  const cake_causal_conv1d_det_train_forward_args args = {
      .struct_size = sizeof args, .x = x, .weight = weight, .bias = bias, .cu_seqlens = offsets, .y = y};
  if (cake_causal_conv1d_det_train_forward(NULL, &problem, &args, NULL) != CAKE_STATUS_OK) {
    fprintf(stderr, "%s\n", cake_last_error());
    return 1;
  }

  double difference = 0;
  for (int t = 0; t < kTokens; ++t) {
    for (int c = 0; c < kChannels; ++c) {
      double z = bias[c];
      for (int k = 0; k < 4; ++k) {
        const int from = t - 3 + k;
        if (from >= (t < offsets[1] ? 0 : offsets[1])) z += (double)weight[c][k] * x[from][c];
      }
      difference = fmax(difference, fabs(z / (1 + exp(-z)) - y[t][c]));
    }
  }
  printf("cakejit %s from C: largest difference %.1e  %s\n", cake_version(), difference,
         difference < 1e-6 ? "right" : "WRONG");
  return difference < 1e-6 ? 0 : 1;
}
