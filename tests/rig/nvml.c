// A libnvidia-ml.so.1 without a GPU, for tests: signatures and layouts as in nvml.h, answers from a text file.
//
// SIMULATED_NVML names the file. One rule a line, `PLACE KEY VALUE`; the last rule that fits stands, `*` fits all:
//   node driver_version 570.124.06          node count 8
//   gpu3 temperature_c 55                   gpu*/nvlink7 recovery_errors 40
//   gpu3/nvlink7 recovery_errors+ /marks    as many more as that file has bytes, at this moment
//   gpu5 return 15                          every call on this GPU gives this code ("GPU is lost")
//   gpu5 return.nvmlDeviceGetName 3         this call does
//   gpu5 delay_ms.nvmlDeviceGetName 40      this call takes so long
//   gpu0 block.nvmlDeviceGetTemperature /fifo   this call opens and reads that file first: a FIFO that nobody writes
//                                           to keeps it for ever, as a driver that hangs does
// The file is read again when it changed. What no rule names is NOT_SUPPORTED, never 0.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };
enum { ANY = -1, NODE = -2, NO_LANE = -3, MOST_RULES = 2048, MOST_LANES = 18, UNSIGNED_LONG_LONG = 3 };

typedef struct { int gpu, lane; char key[64], value[256]; } Rule;
typedef struct Gpu Gpu;  // the handle: a GPU's index + 1, so that it is never null

static Rule rules[MOST_RULES];
static int rule_count;
static struct timespec read_of;  // modification time of the file as it was read

static int index_of(const char *text) { return *text == '*' ? ANY : atoi(text); }

static void add_rule(const char *place, const char *key, const char *value) {
  if (rule_count == MOST_RULES) return;
  Rule *rule = &rules[rule_count++];
  const char *lane = strstr(place, "/nvlink");
  rule->gpu = strncmp(place, "gpu", 3) ? NODE : index_of(place + 3);
  rule->lane = lane ? index_of(lane + 7) : NO_LANE;
  snprintf(rule->key, sizeof rule->key, "%s", key);
  snprintf(rule->value, sizeof rule->value, "%s", value);
}

static void read_rules_if_changed(void) {
  const char *path = getenv("SIMULATED_NVML");
  struct stat status;
  if (!path || stat(path, &status)) return;
  if (status.st_mtim.tv_sec == read_of.tv_sec && status.st_mtim.tv_nsec == read_of.tv_nsec) return;
  FILE *file = fopen(path, "r");
  if (!file) return;
  char line[512], place[64], key[64], value[256];
  read_of = status.st_mtim;
  rule_count = 0;
  while (fgets(line, sizeof line, file))
    if (sscanf(line, "%63s %63s %255[^\n]", place, key, value) == 3) add_rule(place, key, value);
  fclose(file);
}

static const char *text_of(int gpu, int lane, const char *key) {
  for (int i = rule_count; i-- > 0;) {
    Rule *rule = &rules[i];
    if ((rule->gpu == gpu || (rule->gpu == ANY && gpu >= 0)) && (rule->lane == lane || (rule->lane == ANY && lane >= 0)) &&
        !strcmp(rule->key, key))
      return rule->value;
  }
  return 0;
}

static int number_of(int gpu, int lane, const char *key, double *number) {
  char growing[66];
  struct stat status;
  const char *text = text_of(gpu, lane, key);
  if (!text) return 0;
  *number = strtod(text, 0);
  snprintf(growing, sizeof growing, "%s+", key);
  if ((text = text_of(gpu, lane, growing)) && !stat(text, &status)) *number += (double)status.st_size;
  return 1;
}

static const char *rule_on(const char *what, const char *function, int gpu) {
  char key[128];
  snprintf(key, sizeof key, "%s.%s", what, function);
  return text_of(gpu, NO_LANE, key);
}

static int gate(const char *function, int gpu) {
  const char *rule;
  read_rules_if_changed();
  if ((rule = rule_on("delay_ms", function, gpu))) usleep((useconds_t)(strtod(rule, 0) * 1000));
  if ((rule = rule_on("block", function, gpu))) {
    char byte;
    int file = open(rule, O_RDWR);  // of a FIFO, so that the open returns and the read does not
    if (file >= 0 && read(file, &byte, 1) < 0) {}
    if (file >= 0) close(file);
  }
  if ((rule = rule_on("return", function, gpu)) || (rule = text_of(gpu, NO_LANE, "return"))) return atoi(rule);
  return SUCCESS;
}
static int gpu_of(const Gpu *handle) { return (int)(intptr_t)handle - 1; }
static Gpu *handle_of(int gpu) { return (Gpu *)(intptr_t)(gpu + 1); }

#define ENTER(handle) int gpu = gpu_of(handle), code = gate(__func__, gpu); if (code) return code
#define ANSWER(type, key, out) do { \
    double number; \
    if (!number_of(gpu, NO_LANE, key, &number)) return NOT_SUPPORTED; \
    *(out) = (type)number; \
  } while (0)

static int say(int gpu, const char *key, char *out, unsigned size) {
  const char *text = text_of(gpu, NO_LANE, key);
  if (text) snprintf(out, size, "%s", text);
  return text ? SUCCESS : NOT_SUPPORTED;
}

// The library and the node.

static int gpu_count(void) { double count = 0; number_of(NODE, NO_LANE, "count", &count); return (int)count; }
int nvmlInitWithFlags(unsigned flags) { (void)flags; return gate(__func__, NODE); }
int nvmlInit_v2(void) { return gate(__func__, NODE); }
int nvmlShutdown(void) { return SUCCESS; }
const char *nvmlErrorString(int code) { return code ? "simulated" : "Success"; }
int nvmlSystemGetDriverVersion(char *out, unsigned size) { gate(__func__, NODE); return say(NODE, "driver_version", out, size); }
int nvmlSystemGetNVMLVersion(char *out, unsigned size) { gate(__func__, NODE); return say(NODE, "nvml_version", out, size); }
int nvmlSystemGetCudaDriverVersion(int *out) { int gpu = NODE; gate(__func__, NODE); ANSWER(int, "cuda_driver_version", out); return SUCCESS; }
int nvmlSystemGetCudaDriverVersion_v2(int *out) { return nvmlSystemGetCudaDriverVersion(out); }
int nvmlDeviceGetCount_v2(unsigned *out) { int code = gate(__func__, NODE); *out = (unsigned)gpu_count(); return code; }

// Which GPU.

typedef struct {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
} PciInfo;

static int fill_pci_info(const char *address, PciInfo *out) {
  if (!address || sscanf(address, "%x:%x:%x", &out->domain, &out->bus, &out->device) != 3) return NOT_SUPPORTED;
  snprintf(out->bus_id_legacy, sizeof out->bus_id_legacy, "%04X:%02X:%02X.0", out->domain & 0xFFFF, out->bus & 0xFF, out->device & 0x1F);
  snprintf(out->bus_id, sizeof out->bus_id, "%08X:%02X:%02X.0", out->domain, out->bus, out->device);
  out->pci_device_id = 0x233010DE;
  return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Gpu **out) {
  if ((int)index >= gpu_count()) return INVALID_ARGUMENT;
  *out = handle_of((int)index);
  return gate(__func__, (int)index);
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *asked, Gpu **out) {
  unsigned domain, bus, device;
  if (sscanf(asked, "%x:%x:%x", &domain, &bus, &device) != 3) return INVALID_ARGUMENT;
  read_rules_if_changed();
  for (int gpu = 0; gpu < gpu_count(); gpu++) {
    PciInfo info = {0};
    if (fill_pci_info(text_of(gpu, NO_LANE, "bus_address"), &info)) continue;
    if (info.domain != domain || info.bus != bus || info.device != device) continue;
    *out = handle_of(gpu);
    return gate(__func__, gpu);
  }
  return NOT_FOUND;
}

int nvmlDeviceGetPciInfo_v3(Gpu *handle, PciInfo *out) { ENTER(handle); return fill_pci_info(text_of(gpu, NO_LANE, "bus_address"), out); }
int nvmlDeviceGetName(Gpu *handle, char *out, unsigned size) { ENTER(handle); return say(gpu, "name", out, size); }
int nvmlDeviceGetUUID(Gpu *handle, char *out, unsigned size) { ENTER(handle); return say(gpu, "uuid", out, size); }
int nvmlDeviceGetSerial(Gpu *handle, char *out, unsigned size) { ENTER(handle); return say(gpu, "serial", out, size); }
int nvmlDeviceGetBoardPartNumber(Gpu *handle, char *out, unsigned size) { ENTER(handle); return say(gpu, "part_number", out, size); }
int nvmlDeviceGetVbiosVersion(Gpu *handle, char *out, unsigned size) { ENTER(handle); return say(gpu, "vbios", out, size); }
int nvmlDeviceGetMigMode(Gpu *handle, unsigned *now, unsigned *next) { ENTER(handle); ANSWER(unsigned, "mig", now); *next = *now; return SUCCESS; }

typedef struct { unsigned version; unsigned char cluster[16]; int status; unsigned clique; unsigned char state; unsigned health; } FabricInfo;

// A GPU whose fabric spans nodes has `cluster`, a byte that fills the id of the fabric; others have all zeros.
int nvmlDeviceGetGpuFabricInfoV(Gpu *handle, FabricInfo *out) {
  ENTER(handle);
  ANSWER(unsigned char, "fabric_state", &out->state);
  double number;
  memset(out->cluster, number_of(gpu, NO_LANE, "cluster", &number) ? (int)number : 0, sizeof out->cluster);
  out->clique = number_of(gpu, NO_LANE, "clique", &number) ? (unsigned)number : 0;
  return SUCCESS;
}

// What a GPU shows at this moment.

typedef struct { unsigned gpu, memory; } Utilization;
typedef struct { unsigned long long total, free, used; } Memory;
typedef unsigned long long Wide;

int nvmlDeviceGetTemperature(Gpu *handle, unsigned sensor, unsigned *out) { ENTER(handle); if (sensor) return INVALID_ARGUMENT; ANSWER(unsigned, "temperature_c", out); return SUCCESS; }
int nvmlDeviceGetPowerUsage(Gpu *handle, unsigned *out) { ENTER(handle); ANSWER(unsigned, "power_mw", out); return SUCCESS; }
int nvmlDeviceGetPowerManagementLimit(Gpu *handle, unsigned *out) { ENTER(handle); ANSWER(unsigned, "power_limit_mw", out); return SUCCESS; }
int nvmlDeviceGetClockInfo(Gpu *handle, unsigned kind, unsigned *out) {
  ENTER(handle);
  if (kind != 1 && kind != 2) return NOT_SUPPORTED;
  ANSWER(unsigned, kind == 1 ? "sm_clock_mhz" : "memory_clock_mhz", out);
  return SUCCESS;
}
int nvmlDeviceGetUtilizationRates(Gpu *handle, Utilization *out) { ENTER(handle); ANSWER(unsigned, "utilization_pct", &out->gpu); out->memory = 0; return SUCCESS; }
int nvmlDeviceGetMemoryInfo(Gpu *handle, Memory *out) {
  ENTER(handle);
  ANSWER(Wide, "memory_bytes", &out->total);
  ANSWER(Wide, "memory_used_bytes", &out->used);
  out->free = out->total - out->used;
  return SUCCESS;
}
int nvmlDeviceGetCurrentClocksEventReasons(Gpu *handle, Wide *out) { ENTER(handle); ANSWER(Wide, "clocks_event_reasons", out); return SUCCESS; }
int nvmlDeviceGetPerformanceState(Gpu *handle, unsigned *out) { ENTER(handle); ANSWER(unsigned, "performance_state", out); return SUCCESS; }
int nvmlDeviceGetTotalEnergyConsumption(Gpu *handle, Wide *out) { ENTER(handle); ANSWER(Wide, "energy_mj", out); return SUCCESS; }
int nvmlDeviceGetComputeRunningProcesses_v3(Gpu *handle, unsigned *count, void *found) {
  ENTER(handle);
  unsigned running;
  ANSWER(unsigned, "compute_processes", &running);
  code = running && (!found || *count < running) ? INSUFFICIENT_SIZE : SUCCESS;
  *count = running;
  return code;
}

// Memory errors and the PCIe link.

int nvmlDeviceGetTotalEccErrors(Gpu *handle, unsigned kind, unsigned lifetime, Wide *out) { ENTER(handle); if (lifetime) return NOT_SUPPORTED; ANSWER(Wide, kind ? "ecc_uncorrected" : "ecc_corrected", out); return SUCCESS; }
int nvmlDeviceGetRemappedRows(Gpu *handle, unsigned *correctable, unsigned *uncorrectable, unsigned *pending, unsigned *failure) {
  ENTER(handle);
  ANSWER(unsigned, "remapped_correctable", correctable);
  ANSWER(unsigned, "remapped_uncorrectable", uncorrectable);
  ANSWER(unsigned, "remap_pending", pending);
  ANSWER(unsigned, "remap_failure", failure);
  return SUCCESS;
}
int nvmlDeviceGetPcieReplayCounter(Gpu *handle, unsigned *out) { ENTER(handle); ANSWER(unsigned, "replays", out); return SUCCESS; }
int nvmlDeviceGetCurrPcieLinkGeneration(Gpu *handle, unsigned *out) { ENTER(handle); ANSWER(unsigned, "generation", out); return SUCCESS; }
int nvmlDeviceGetCurrPcieLinkWidth(Gpu *handle, unsigned *out) { ENTER(handle); ANSWER(unsigned, "width", out); return SUCCESS; }
int nvmlDeviceGetMaxPcieLinkGeneration(Gpu *handle, unsigned *out) { ENTER(handle); ANSWER(unsigned, "max_generation", out); return SUCCESS; }
int nvmlDeviceGetMaxPcieLinkWidth(Gpu *handle, unsigned *out) { ENTER(handle); ANSWER(unsigned, "max_width", out); return SUCCESS; }

// NVLink.

typedef struct {
  unsigned field, scope;
  int64_t timestamp_us, latency_us;
  unsigned type, code;
  union { double real; Wide whole; } value;
} FieldValue;

enum { LINK_COUNT = 91 };
static const struct { unsigned field; const char *key; } FIELDS[] = {
    {138, "tx_kib"}, {139, "rx_kib"}, {161, "replay_errors"}, {162, "recovery_errors"},
    {163, "crc_errors"}, {164, "speed_mbps"}, {165, "state"}};

static const char *key_of(unsigned field) {
  for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++)
    if (FIELDS[i].field == field) return FIELDS[i].key;
  return "";
}

static int64_t microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

int nvmlDeviceGetFieldValues(Gpu *handle, int count, FieldValue *values) {
  ENTER(handle);
  for (int i = 0; i < count; i++) {
    FieldValue *value = &values[i];
    double number = 0;
    int lane = value->field == LINK_COUNT ? NO_LANE : (int)value->scope;
    const char *key = value->field == LINK_COUNT ? "lanes" : key_of(value->field);
    value->timestamp_us = microseconds();
    value->latency_us = 1;
    value->type = UNSIGNED_LONG_LONG;
    value->code = lane < MOST_LANES && number_of(gpu, lane, key, &number) ? SUCCESS : NOT_SUPPORTED;
    value->value.whole = (Wide)number;
  }
  return SUCCESS;
}

static int lane_number(int gpu, unsigned lane, const char *key, unsigned *out) {
  double number;
  if (lane >= MOST_LANES || !number_of(gpu, (int)lane, key, &number)) return NOT_SUPPORTED;
  *out = (unsigned)number;
  return SUCCESS;
}

int nvmlDeviceGetNvLinkState(Gpu *handle, unsigned lane, unsigned *out) { ENTER(handle); return lane_number(gpu, lane, "state", out); }
int nvmlDeviceGetNvLinkRemoteDeviceType(Gpu *handle, unsigned lane, unsigned *out) { ENTER(handle); return lane_number(gpu, lane, "remote_type", out); }
int nvmlDeviceGetNvLinkRemotePciInfo_v2(Gpu *handle, unsigned lane, PciInfo *out) { ENTER(handle); return fill_pci_info(text_of(gpu, (int)lane, "remote_address"), out); }
int nvmlDeviceGetNvLinkErrorCounter(Gpu *handle, unsigned lane, unsigned counter, Wide *out) {
  ENTER(handle);
  static const char *const KEYS[] = {"replay_errors", "recovery_errors", "crc_errors"};
  double number;
  if (counter > 2 || !number_of(gpu, (int)lane, KEYS[counter], &number)) return NOT_SUPPORTED;
  *out = (Wide)number;
  return SUCCESS;
}
