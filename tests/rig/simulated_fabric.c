// A libcuda.so.1 that knows devices and multicast objects and nothing else: signatures as in cuda.h of CUDA 12.1 to 13.0.
//
// SIMULATED_FABRIC: words of the form name=number
//   gpus=N         how many GPUs there are (8)
//   without=A      GPU A does not support multicast
//   create=CODE    cuMulticastCreate returns it
//   refuses=A      cuMulticastAddDevice of GPU A returns 801
// SIMULATED_FABRIC_LOG names a file that gets a line for each object made, joined and released.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { unsigned int devices; size_t size; unsigned long long handles, flags; } Properties;
enum { INVALID_VALUE = 1, INVALID_DEVICE = 101, NOT_SUPPORTED = 801, GRAIN = 2 << 20, MULTICAST_SUPPORTED = 132 };

static unsigned long long alive;

static int given(const char *name, int otherwise) {
  const char *text = getenv("SIMULATED_FABRIC"), *at = text ? strstr(text, name) : 0;
  return at ? atoi(at + strlen(name)) : otherwise;
}

static void note(const char *what, long long one, long long two) {
  const char *path = getenv("SIMULATED_FABRIC_LOG");
  FILE *file = path ? fopen(path, "a") : 0;
  if (!file) return;
  fprintf(file, "%s %lld %lld\n", what, one, two);
  fclose(file);
}

static int is_device(int device) { return device >= 0 && device < given("gpus=", 8); }

int cuInit(unsigned int flags) { return flags ? INVALID_VALUE : 0; }
int cuDriverGetVersion(int *version) { return *version = 12080, 0; }
int cuDeviceGetCount(int *count) { return *count = given("gpus=", 8), 0; }
int cuGetErrorName(int code, const char **name) {
  return *name = code == NOT_SUPPORTED ? "CUDA_ERROR_NOT_SUPPORTED" : "CUDA_ERROR_SOME", 0;
}
int cuGetErrorString(int code, const char **text) { return *text = code == NOT_SUPPORTED ? "operation not supported" : "some", 0; }

int cuDeviceGet(int *device, int ordinal) {
  if (!is_device(ordinal)) return INVALID_DEVICE;
  return *device = ordinal, 0;
}

int cuDeviceGetPCIBusId(char *bus, int length, int device) {
  if (!is_device(device) || length < 13) return INVALID_VALUE;
  return snprintf(bus, length, "0000:%02X:00.0", 0x1a + device), 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
  if (!is_device(device) || attribute != MULTICAST_SUPPORTED) return INVALID_VALUE;
  return *value = given("without=", -1) != device, 0;
}

#ifndef OLD
int cuMulticastGetGranularity(size_t *grain, const Properties *wanted, int which) {
  if (wanted->flags || which > 1) return INVALID_VALUE;
  return *grain = GRAIN, 0;
}

int cuMulticastCreate(unsigned long long *handle, const Properties *wanted) {
  if (wanted->flags || !wanted->size || wanted->size % GRAIN || wanted->handles != 1) return INVALID_VALUE;
  if (given("create=", 0)) return given("create=", 0);
  note("created", wanted->devices, (long long)wanted->size);
  return *handle = alive = 0x1234567890abcdefULL, 0;
}

int cuMulticastAddDevice(unsigned long long handle, int device) {
  if (handle != alive || !is_device(device)) return INVALID_VALUE;
  if (given("refuses=", -1) == device) return NOT_SUPPORTED;
  note("joined", device, 0);
  return 0;
}
#endif

int cuMemRelease(unsigned long long handle) {
  if (handle != alive) return INVALID_VALUE;
  note("released", 0, 0);
  return alive = 0, 0;
}
