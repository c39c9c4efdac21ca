/* cakejit: the C ABI's common part. Conventions, stated once:
 *
 *  - Every struct that crosses this ABI starts with `size_t struct_size`; set it to sizeof(the struct). Fields that a
 *    later version appends read as zero from an older caller.
 *  - Handles are opaque. Whoever creates one destroys it. NULL where a cake_context* is wanted means the process'
 *    default context, made on first use from the environment (see docs/configuration.md) and never destroyed.
 *  - Every function is thread-safe. A context may be shared by any number of threads and CUDA contexts.
 *  - No function synchronises with the device, allocates device memory or reads device memory on the host, except with
 *    CAKEJIT_CHECK_CU_SEQLENS=on (a debug switch). All device work goes to the stream that the caller gives.
 *  - On failure nothing is launched and nothing is written, with one exception: if the driver refuses the second of a
 *    backward's two launches (which it does only when the CUDA context is lost), dx and the workspace may be written.
 */
#ifndef CAKEJIT_CAKEJIT_H
#define CAKEJIT_CAKEJIT_H

#include <stddef.h>
#include <stdint.h>

#include "cakejit/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CAKEJIT_VERSION_MAJOR 0
#define CAKEJIT_VERSION_MINOR 1
#define CAKEJIT_VERSION_PATCH 0
#define CAKEJIT_VERSION_STRING "0.1.0"
/* Grows whenever a kernel's parameter list or its meaning changes; part of every digest. */
#define CAKEJIT_KERNEL_ABI 1

/* "0.1.0". Never NULL; static storage. */
CAKE_API const char* cake_version(void);

/* The message of the last failed call on this thread; "" if none failed. Valid until this thread's next failing call.
 */
CAKE_API const char* cake_last_error(void);

typedef CAKE_ENUM(cake_dtype) {
  CAKE_DTYPE_NONE = 0, /* only where a tensor is optional and absent */
  CAKE_DTYPE_BF16 = 1,
  CAKE_DTYPE_FP16 = 2,
  CAKE_DTYPE_FP32 = 3,
  CAKE_DTYPE_INT32 = 4,
  CAKE_DTYPE_INT64 = 5
} cake_dtype;

typedef CAKE_ENUM(cake_activation) { CAKE_ACTIVATION_IDENTITY = 0, CAKE_ACTIVATION_SILU = 1 } cake_activation;

typedef CAKE_ENUM(cake_device) {
  CAKE_DEVICE_HOST = 0, /* every pointer is host memory; the stream is ignored; the call returns when done */
  CAKE_DEVICE_CUDA = 1  /* pointers are memory of the calling thread's current CUDA context */
} cake_device;

/* A CUstream (or cudaStream_t) of the current context; NULL is the default stream. */
typedef void* cake_stream;

typedef struct cake_context cake_context;

/* Where a field is NULL or 0, the environment variable named beside it decides, then the default. Strings are copied.
 */
typedef struct cake_context_options {
  size_t struct_size;
  const char* cache_dir;    /* CAKEJIT_CACHE_DIR; default $XDG_CACHE_HOME/cakejit or ~/.cache/cakejit */
  const char* aot_path;     /* CAKEJIT_AOT_PATH; read-only layers, ':' between them, searched before cache_dir */
  const char* toolkit_path; /* CAKEJIT_TOOLKIT_PATH; folder that holds libnvrtc and libnvJitLink, or a toolkit's root */
  const char* jit;          /* CAKEJIT_JIT; "on" (default) or "off": a miss is then an error */
  const char* compiler_policy; /* CAKEJIT_COMPILER_POLICY; "any" (default) or "match" */
  const char* log_level;       /* CAKEJIT_LOG; "off", "error", "warn" (default), "info", "debug" */
  int32_t host_threads;        /* CAKEJIT_HOST_THREADS; threads of the host route; default: the process' CPUs */
  int32_t check_cu_seqlens; /* CAKEJIT_CHECK_CU_SEQLENS; 1: read device cu_seqlens back and check them (synchronises) */
  int32_t host_cache_entries; /* CAKEJIT_HOST_CACHE_ENTRIES; launch plans kept per context; default 1024 */
  const char* cache_max_size; /* CAKEJIT_CACHE_MAX_SIZE; of cache_dir: "2G", "500M", bytes, "0" for any; default "1G" */
} cake_context_options;

/* Makes a context from `options` (may be NULL: environment and defaults only). Touches no GPU, no compiler, no file. */
CAKE_API cake_status cake_context_create(const cake_context_options* options, cake_context** context);

/* Unloads the context's kernels. No call on the context may be running, none of its launches pending. NULL is allowed.
 */
CAKE_API cake_status cake_context_destroy(cake_context* context);

/* Counters of a context since its creation; for tests and monitoring. */
typedef struct cake_context_statistics {
  size_t struct_size;
  uint64_t plan_hits;        /* calls answered by the host cache alone */
  uint64_t plan_misses;      /* launch plans built and committed */
  uint64_t plan_entries;     /* launch plans held now */
  uint64_t libraries_loaded; /* kernel libraries loaded into the driver */
  uint64_t disk_hits;        /* kernel libraries taken from a cache layer */
  uint64_t libraries_built;  /* kernel libraries compiled and linked */
} cake_context_statistics;

CAKE_API cake_status cake_context_get_statistics(cake_context* context, cake_context_statistics* statistics);

#ifdef __cplusplus
}
#endif
#endif
