// A libcuda.so.1 without a GPU, for tests: signatures as in cuda.h, no bytes move, time is a model.
// Each stream has a clock of its own that a copy advances by bytes / rate; events read it. The first look at an event is
// always too early, as on a device that is still busy.
//
// SIMULATED_GPU holds rules, separated by ';'. A and B are device numbers or '*'; the last rule that fits stands.
//   devices N              how many GPUs there are (8)
//   rate OP A B GBPS       h2d, d2h, p2p or staged
//   slow OP A B FACTOR     times the rate, in the ninth of every 16 stretches of 30 ms
//   apart A B              A can't reach B directly
//   fail FUNCTION CODE A   the call returns CODE
//   hang FUNCTION A        the call does not return
//   stall OP A B           copies are enqueued and never complete
//   dry FUNCTION           events are over at the first look
//   at ADDRESS A           GPU A sits at this bus address (where no rule says: GPU n at bus 0x10 + n)
// SIMULATED_MARKS names a file that grows by one byte in each stretch that `slow` slowed.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_CONTEXT = 201, NOT_READY = 600 };
enum { PEER_UNSUPPORTED = 217, PEER_ALREADY_ENABLED = 704, MOST_RULES = 64, MOST_DEVICES = 16 };

typedef struct { char verb[12], name[40]; int a, b; double value; } Rule;
typedef struct { int device, reaches[MOST_DEVICES]; } Context;
typedef struct { int device, stalled; double ms; long marked; } Stream;
typedef struct { double ms; int recorded, stalled, looks; } Event;
typedef struct { int device; } Block;

static Rule rules[MOST_RULES];
static int rule_count, device_count = 8;
static Context contexts[MOST_DEVICES];
static __thread Context *current;

static int device_of(const char *word) { return !word || *word == '*' ? -1 : atoi(word); }

static void add_rule(char **word) {
  Rule *rule = &rules[rule_count++];
  snprintf(rule->verb, sizeof rule->verb, "%s", word[0]);
  rule->a = rule->b = -1;
  if (!strcmp(rule->verb, "apart")) {
    rule->a = device_of(word[1]), rule->b = device_of(word[2]);
    return;
  }
  snprintf(rule->name, sizeof rule->name, "%s", word[1]);
  if (!strcmp(rule->verb, "fail")) rule->value = atof(word[2]), rule->a = device_of(word[3]);
  else if (!strcmp(rule->verb, "hang") || !strcmp(rule->verb, "dry")) rule->a = device_of(word[2]);
  else rule->a = device_of(word[2]), rule->b = device_of(word[3]), rule->value = word[4] ? atof(word[4]) : 0;
}

__attribute__((constructor)) static void read_rules(void) {
  const char *given = getenv("SIMULATED_GPU");
  char *rest, *line, *text = strdup(given ? given : "");
  for (line = strtok_r(text, ";", &rest); line; line = strtok_r(0, ";", &rest)) {
    char *inner, *word[6] = {0};
    int count = 0;
    for (char *w = strtok_r(line, " ", &inner); w && count < 5; w = strtok_r(0, " ", &inner)) word[count++] = w;
    if (!count || rule_count == MOST_RULES) continue;
    if (!strcmp(word[0], "devices")) device_count = atoi(word[1]);
    else add_rule(word);
  }
}

static Rule *rule_for(const char *verb, const char *name, int a, int b) {
  for (int i = rule_count; i-- > 0;) {
    Rule *rule = &rules[i];
    if (!strcmp(rule->verb, verb) && (!name || !strcmp(rule->name, name)) && (rule->a < 0 || rule->a == a) &&
        (rule->b < 0 || rule->b == b))
      return rule;
  }
  return 0;
}

static int gate(const char *function, int device) {
  if (rule_for("hang", function, device, -1)) for (;;) pause();
  Rule *rule = rule_for("fail", function, device, -1);
  return rule ? (int)rule->value : SUCCESS;
}
#define GATE(device) do { int code = gate(__func__, device); if (code) return code; } while (0)

static void leave_mark(void) {
  const char *path = getenv("SIMULATED_MARKS");
  int file = path ? open(path, O_WRONLY | O_APPEND) : -1;
  if (file < 0) return;
  if (write(file, "!", 1) != 1) abort();
  close(file);
}

static int copy(const char *op, int a, int b, size_t bytes, Stream *stream) {
  double rate = !strcmp(op, "p2p") ? 400 : !strcmp(op, "staged") ? 20 : 55;
  Rule *rule = rule_for("rate", op, a, b);
  if (rule) rate = rule->value;
  rule = rule_for("slow", op, a, b);
  long stretch = (long)(stream->ms / 30);
  if (rule && stretch % 16 == 8) {
    rate *= rule->value;
    if (stretch != stream->marked) leave_mark();
    stream->marked = stretch;
  }
  stream->ms += bytes / rate * 1e-6;
  if (rule_for("stall", op, a, b)) stream->stalled = 1;
  return SUCCESS;
}

int cuInit(unsigned flags) { GATE(-1); return flags ? INVALID_VALUE : device_count ? SUCCESS : NO_DEVICE; }
int cuDriverGetVersion(int *version) { *version = 13000; return SUCCESS; }
int cuGetErrorName(int code, const char **name) {
  *name = code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : code == 719 ? "CUDA_ERROR_LAUNCH_FAILED" :
          code == 802 ? "CUDA_ERROR_SYSTEM_NOT_READY" : code == NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : 0;
  return *name ? SUCCESS : INVALID_VALUE;
}
int cuGetErrorString(int code, const char **text) { *text = "simulated"; return code < 0; }
int cuDeviceGetCount(int *count) { *count = device_count; return SUCCESS; }
int cuDeviceGetByPCIBusId(int *device, const char *id) {
  unsigned domain, bus;
  for (int i = rule_count; i-- > 0;)
    if (!strcmp(rules[i].verb, "at") && !strcasecmp(rules[i].name, id)) return *device = rules[i].a, SUCCESS;
  if (sscanf(id, "%x:%x", &domain, &bus) != 2 || bus < 0x10 || (int)bus - 0x10 >= device_count) return INVALID_DEVICE;
  *device = (int)bus - 0x10;
  return SUCCESS;
}
int cuDeviceGetName(char *name, int size, int device) { snprintf(name, size, "Simulated GPU"); return device < 0; }
int cuDeviceGetUuid_v2(unsigned char *uuid, int device) { memset(uuid, 0xA0 + device, 16); return SUCCESS; }
int cuDeviceCanAccessPeer(int *can, int a, int b) { *can = a != b && !rule_for("apart", 0, a, b); return SUCCESS; }
int cuDevicePrimaryCtxRetain(Context **context, int device) {
  GATE(device);
  contexts[device].device = device;
  *context = &contexts[device];
  return SUCCESS;
}
int cuCtxSetCurrent(Context *context) { current = context; return SUCCESS; }
int cuCtxEnablePeerAccess(Context *peer, unsigned flags) {
  if (flags || !current) return INVALID_CONTEXT;
  if (rule_for("apart", 0, current->device, peer->device)) return PEER_UNSUPPORTED;
  if (current->reaches[peer->device]) return PEER_ALREADY_ENABLED;
  current->reaches[peer->device] = 1;
  return SUCCESS;
}
static int allocate(void **pointer) {
  if (!current) return INVALID_CONTEXT;
  Block *block = calloc(1, sizeof *block);
  block->device = current->device;
  *pointer = block;
  return SUCCESS;
}
int cuMemAlloc_v2(uint64_t *pointer, size_t size) { GATE(current ? current->device : -1); return size ? allocate((void **)pointer) : INVALID_VALUE; }
int cuMemFree_v2(uint64_t pointer) { free((void *)pointer); return SUCCESS; }
int cuMemHostAlloc(void **pointer, size_t size, unsigned flags) { GATE(current ? current->device : -1); return size && flags == 1 ? allocate(pointer) : INVALID_VALUE; }
int cuMemFreeHost(void *pointer) { free(pointer); return SUCCESS; }
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t size, Stream *stream) {
  int device = ((Block *)to)->device;
  GATE(device);
  return from ? copy("h2d", device, -1, size, stream) : INVALID_VALUE;
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, Stream *stream) {
  int device = ((Block *)from)->device;
  GATE(device);
  return to ? copy("d2h", device, -1, size, stream) : INVALID_VALUE;
}
int cuMemcpyPeerAsync(uint64_t to, Context *there, uint64_t from, Context *here, size_t size, Stream *stream) {
  int source = ((Block *)from)->device, target = ((Block *)to)->device;
  if (source != here->device || target != there->device) return INVALID_VALUE;
  GATE(source);
  return copy(here->reaches[target] ? "p2p" : "staged", source, target, size, stream);
}
int cuStreamCreate(Stream **stream, unsigned flags) {
  if (!current || flags != 1) return INVALID_CONTEXT;
  *stream = calloc(1, sizeof **stream);
  (*stream)->device = current->device;
  return SUCCESS;
}
int cuStreamDestroy_v2(Stream *stream) { free(stream); return SUCCESS; }
int cuEventCreate(Event **event, unsigned flags) { *event = calloc(1, sizeof **event); return flags ? INVALID_VALUE : SUCCESS; }
int cuEventRecord(Event *event, Stream *stream) { *event = (Event){stream->ms, 1, stream->stalled, 0}; return SUCCESS; }
int cuEventQuery(Event *event) {
  GATE(-1);
  if (event->stalled) return NOT_READY;
  return event->looks++ || rule_for("dry", __func__, -1, -1) ? SUCCESS : NOT_READY;
}
int cuEventElapsedTime(float *ms, Event *first, Event *second) {
  if (!first->recorded || !second->recorded || second->stalled) return INVALID_VALUE;
  *ms = (float)(second->ms - first->ms);
  return SUCCESS;
}
int cuEventDestroy_v2(Event *event) { free(event); return SUCCESS; }
