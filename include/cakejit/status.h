/* Status codes shared by the C ABI, the C++ API and the command lines. */
#ifndef CAKEJIT_STATUS_H
#define CAKEJIT_STATUS_H

/* Marks what the shared library exports. */
#if defined(__GNUC__)
#define CAKE_API __attribute__((visibility("default")))
#else
#define CAKE_API
#endif

/* Enums are ints on both sides of the ABI: in C++ a value that is none of the names is then still a value, which can be
 * checked and refused. */
#ifdef __cplusplus
#define CAKE_ENUM(name) enum name : int
#else
#define CAKE_ENUM(name) enum name
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Every entry point returns one of these. On anything but CAKE_STATUS_OK, cake_last_error() holds the
 * message: what was wrong, where, the value found, what is allowed, what to do. Numbers never change. */
typedef CAKE_ENUM(cake_status) {
  CAKE_STATUS_OK = 0,
  CAKE_STATUS_INVALID_ARGUMENT = 1,  /* an argument is outside its documented range; nothing was written */
  CAKE_STATUS_UNSUPPORTED = 2,       /* valid, but this build, device or target cannot do it */
  CAKE_STATUS_TOOLCHAIN_MISSING = 3, /* a compile was needed and no NVRTC / nvJitLink was found */
  CAKE_STATUS_COMPILE_FAILED = 4,    /* NVRTC or nvJitLink failed; the message carries its log */
  CAKE_STATUS_JIT_DISABLED = 5,      /* a compile was needed and CAKEJIT_JIT=off forbids it */
  CAKE_STATUS_CACHE = 6,             /* the on-disk cache could not be read or written */
  CAKE_STATUS_DRIVER_MISSING = 7,    /* no CUDA driver (libcuda.so.1), or no current CUDA context */
  CAKE_STATUS_DRIVER = 8,            /* a CUDA driver call failed; the message names the call and its error */
  CAKE_STATUS_CAPTURE = 9,           /* set-up was needed while the stream was being captured: call prepare first */
  CAKE_STATUS_OUT_OF_MEMORY = 10,    /* host memory ran out */
  CAKE_STATUS_INTERNAL = 11          /* a fault of this library */
} cake_status;

/* Name of a status ("CAKE_STATUS_OK", ...); "unknown" for any other number. Never NULL; static storage. */
CAKE_API const char* cake_status_name(cake_status status);

#ifdef __cplusplus
}
#endif
#endif
