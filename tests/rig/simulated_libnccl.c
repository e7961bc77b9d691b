// A libnccl.so.2 without GPUs, for tests: signatures as in nccl.h of 2.18 to 2.32, no bytes move, time is a model.
// Ranks meet as NCCL's do: rank 0 listens where its id says, the others connect with the id's magic. As in 2.18 a
// connection that closes without a word ends the meeting, and one with a wrong magic is passed over. An operation is
// on its stream (of simulated_libcuda.c) once ncclCommGetAsyncError has said so, and takes bytes / rate there.
// Settings are read when the library is loaded. NCCL_DEBUG_FILE gets the lines of a real log.
//
// SIMULATED_NCCL holds rules, separated by ';'. R is a rank or '*'; the last rule that fits stands.
//   version N              what ncclGetVersion says (22707)
//   rate GBPS R            of what rank R moves (45)
//   slow FACTOR R          times the rate, in the ninth of every 16 stretches of 30 ms
//   fail FUNCTION CODE R   the call returns CODE
//   hang FUNCTION R        the call does not return; of ncclCommInitRankConfig: its rank never joins
//   stall R                operations are enqueued and never complete
//   shut R                 nobody listens where the id says
//   via TRANSPORT          what the log says instead of what the settings allow
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SUCCESS, CUDA_ERROR, SYSTEM_ERROR, INTERNAL_ERROR, INVALID_ARGUMENT, INVALID_USAGE, REMOTE_ERROR, IN_PROGRESS };
enum { ID_BYTES = 128, MOST_RULES = 32, MOST_RANKS = 64, WHOLE = 0x77, SETTLING_LOOKS = 3 };

typedef struct { char bytes[ID_BYTES]; } UniqueId;
typedef struct { size_t size; unsigned magic, version; int blocking; } Config;
typedef struct { int device, stalled; double ms; long marked; } Stream;  // as in simulated_libcuda.c
typedef struct { int rank, ranks, looks, logged; volatile int state; double ms; Stream *stream; UniqueId id; } Comm;
typedef struct { char verb[8], name[40]; int rank; double value; } Rule;
typedef struct { uint64_t magic; int rank, ranks; } Greeting;

__attribute__((used)) static const char built[] = "NCCL version 2.27.7+cuda12.9";
static Rule rules[MOST_RULES];
static int rule_count;
static char last_error[160], way[48];
static __thread int depth;
static __thread Comm *pending;
static __thread double sent, received;

static int rank_of(const char *word) { return !word || *word == '*' ? -1 : atoi(word); }

static int is_on(const char *name) { const char *value = getenv(name); return value && *value == '1'; }

__attribute__((constructor)) static void read_settings(void) {
  const char *given = getenv("SIMULATED_NCCL");
  char *rest, *line, *text = strdup(given ? given : "");
  for (line = strtok_r(text, ";", &rest); line; line = strtok_r(0, ";", &rest)) {
    char *inner, *word[4] = {0};
    int count = 0;
    for (char *w = strtok_r(line, " ", &inner); w && count < 4; w = strtok_r(0, " ", &inner)) word[count++] = w;
    if (count < 2 || rule_count == MOST_RULES) continue;
    Rule *rule = &rules[rule_count++];
    snprintf(rule->verb, sizeof rule->verb, "%s", word[0]);
    snprintf(rule->name, sizeof rule->name, "%s", word[1]);
    int named = !strcmp(word[0], "fail"), alone = !strcmp(word[0], "stall") || !strcmp(word[0], "shut");
    rule->value = atof(named && word[2] ? word[2] : word[1]);
    rule->rank = rank_of(alone ? word[1] : named ? word[3] : word[2]);
  }
  const char *net = getenv("NCCL_NET");
  const char *chosen = net && !strcmp(net, "Socket") ? "NET/Socket/0" : "NET/IB";
  if (!is_on("NCCL_SHM_DISABLE")) chosen = "SHM/direct/direct";
  if (!is_on("NCCL_P2P_DISABLE")) chosen = "P2P/CUMEM";
  snprintf(way, sizeof way, "%s", chosen);
}

static Rule *rule_for(const char *verb, const char *name, int rank) {
  for (int i = rule_count; i-- > 0;) {
    Rule *rule = &rules[i];
    if (strcmp(rule->verb, verb) || (name && strcmp(rule->name, name))) continue;
    if (rule->rank < 0 || rule->rank == rank) return rule;
  }
  return 0;
}

static int gate(const char *function, int rank) {
  if (rule_for("hang", function, rank)) for (;;) pause();
  Rule *rule = rule_for("fail", function, rank);
  if (!rule) return SUCCESS;
  snprintf(last_error, sizeof last_error, "simulated: %s fails on rank %d", function, rank);
  return (int)rule->value;
}
#define GATE(rank) do { int code = gate(__func__, rank); if (code) return code; } while (0)

static void write_log(const char *text, int rank) {
  const char *path = getenv("NCCL_DEBUG_FILE");
  FILE *file = path ? fopen(path, "a") : 0;
  if (!file) return;
  fprintf(file, "node-01:1:1 [%d] NCCL INFO %s\n", rank, text);
  fclose(file);
}

static int read_all(int file, void *into, size_t size) {
  size_t got = 0;
  while (got < size) {
    ssize_t n = read(file, (char *)into + got, size - got);
    if (n <= 0) return 0;
    got += n;
  }
  return 1;
}

typedef struct { int file; uint64_t magic; } Door;

static void *welcome_ranks(void *argument) {
  Door *door = argument;
  int ranks[MOST_RANKS], count = 0, all = 1;
  while (count < all) {
    Greeting greeting;
    int rank = accept(door->file, 0, 0);
    if (!read_all(rank, &greeting.magic, sizeof greeting.magic)) break;
    if (greeting.magic != door->magic) { close(rank); continue; }
    if (!read_all(rank, &greeting.rank, 2 * sizeof(int)) || greeting.ranks > MOST_RANKS) break;
    all = greeting.ranks, ranks[count++] = rank;
  }
  for (int i = 0; i < count; i++) {
    if (count == all && write(ranks[i], "!", 1) != 1) abort();
    close(ranks[i]);
  }
  close(door->file);
  free(door);
  return 0;
}

static struct sockaddr_in *address_in(UniqueId *id) { return (struct sockaddr_in *)(id->bytes + 8); }

int ncclGetVersion(int *version) {
  Rule *rule = rule_for("version", 0, -1);
  *version = rule ? (int)rule->value : 22707;
  return SUCCESS;
}
const char *ncclGetLastError(Comm *comm) { return comm ? 0 : last_error; }
int ncclGetUniqueId(UniqueId *id) {
  GATE(0);
  Door *door = malloc(sizeof *door);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  pthread_t thread;
  door->file = socket(AF_INET, SOCK_STREAM, 0);
  int bound = !bind(door->file, (void *)&address, size) && !listen(door->file, 16);
  if (!bound || getsockname(door->file, (void *)&address, &size)) return SYSTEM_ERROR;
  door->magic = 0x5eed000000000000u + getpid();
  memset(id, WHOLE, sizeof *id);
  memcpy(id->bytes, &door->magic, 8);
  memcpy(address_in(id), &address, size);
  if (rule_for("shut", 0, 0)) return close(door->file);
  return pthread_create(&thread, 0, welcome_ranks, door) || pthread_detach(thread) ? SYSTEM_ERROR : SUCCESS;
}

static int meet(Comm *comm) {
  Greeting greeting = {.rank = comm->rank, .ranks = comm->ranks};
  memcpy(&greeting.magic, comm->id.bytes, 8);
  char answer;
  int file = socket(AF_INET, SOCK_STREAM, 0);
  int met = !connect(file, (void *)address_in(&comm->id), sizeof(struct sockaddr_in)) &&
            write(file, &greeting, sizeof greeting) == sizeof greeting && read_all(file, &answer, 1);
  close(file);
  if (!met) snprintf(last_error, sizeof last_error, "simulated: rank 0 is gone");
  return met ? SUCCESS : REMOTE_ERROR;
}

// The NICs of NCCL_IB_HCA (`=mlx5_0,mlx5_3`), each with its number. -> how many
static int list_nics(char *into, size_t size) {
  const char *hca = getenv("NCCL_IB_HCA");
  char names[256], *rest;
  int count = 0, used = 0;
  snprintf(names, sizeof names, "%s", hca && *hca == '=' ? hca + 1 : "mlx5_0");
  for (char *name = strtok_r(names, ",", &rest); name && used < (int)size; name = strtok_r(0, ",", &rest))
    used += snprintf(into + used, size - used, " [%d]%s:1/IB", count++, name);
  return count;
}

static void describe(Comm *comm) {
  char nics[300], line[400];
  list_nics(nics, sizeof nics);
  snprintf(line, sizeof line, "NET/IB : Using%s [RO]; OOB eth0:127.0.0.1<0>", nics);
  write_log(line, comm->rank);
  write_log("Using network IB", comm->rank);
  if (is_on("NCCL_P2P_DISABLE")) write_log("NCCL_P2P_DISABLE set by environment to 1.", comm->rank);
  int nvls = !getenv("NCCL_NVLS_ENABLE");
  write_log(nvls ? "16 coll channels, 16 nvls channels" : "16 coll channels, 0 nvls channels", comm->rank);
}

static void *join(void *argument) {
  Comm *comm = argument;
  while (rule_for("hang", "ncclCommInitRankConfig", comm->rank)) pause();
  int state = gate("ncclCommInitRankConfig", comm->rank);
  if (!state) state = meet(comm);
  describe(comm);
  comm->state = state;
  return 0;
}
int ncclCommInitRankConfig(Comm **out, int ranks, UniqueId id, int rank, Config *config) {
  pthread_t thread;
  int whole = id.bytes[ID_BYTES - 1] == WHOLE;
  if (config->magic != 0xcafebeef || config->size != 20 || config->blocking || !whole || rank >= ranks)
    return INVALID_ARGUMENT;
  Comm *comm = *out = calloc(1, sizeof *comm);
  comm->rank = rank, comm->ranks = ranks, comm->id = id, comm->state = IN_PROGRESS;
  return pthread_create(&thread, 0, join, comm) || pthread_detach(thread) ? SYSTEM_ERROR : IN_PROGRESS;
}

static void put_on_stream(Comm *comm) {
  Stream *stream = comm->stream;
  Rule *slow = rule_for("slow", 0, comm->rank);
  stream->ms += comm->ms / (slow && (long)(stream->ms / 30) % 16 == 8 ? slow->value : 1);
  if (rule_for("stall", 0, comm->rank)) stream->stalled = 1;
  comm->stream = 0;
  comm->state = SUCCESS;
}
int ncclCommGetAsyncError(Comm *comm, int *state) {
  if (comm->stream && ++comm->looks >= SETTLING_LOOKS) put_on_stream(comm);
  *state = comm->state;
  return SUCCESS;
}

static void log_channel(Comm *comm) {
  Rule *said = rule_for("via", 0, -1);
  char nics[300], line[160], net[32];
  snprintf(net, sizeof net, "NET/IB/%d/GDRDMA", comm->rank % list_nics(nics, sizeof nics));
  const char *chosen = said ? said->name : !strcmp(way, "NET/IB") ? net : way;
  int peer = (comm->rank + 1) % comm->ranks;
  snprintf(line, sizeof line, "Channel 00/0 : %d[0] -> %d[0] [send] via %s", comm->rank, peer, chosen);
  write_log(line, comm->rank);
}

static int launch(Comm *comm) {
  if (!comm) return SUCCESS;
  Rule *rate = rule_for("rate", 0, comm->rank);
  comm->ms = (sent > received ? sent : received) / (rate ? rate->value : 45) * 1e-6;
  comm->state = IN_PROGRESS, comm->looks = 0, sent = received = 0;
  if (!comm->logged) log_channel(comm);
  comm->logged = 1;
  return IN_PROGRESS;
}
int ncclGroupStart(void) { depth++; return SUCCESS; }
int ncclGroupEnd(void) {
  if (!depth) return INVALID_USAGE;
  if (--depth) return SUCCESS;
  Comm *comm = pending;
  pending = 0;
  return launch(comm);
}
static int add(Comm *comm, double out, double in, Stream *stream) {
  if (comm->state != SUCCESS) {
    snprintf(last_error, sizeof last_error, "simulated: used before it had settled");
    return INVALID_USAGE;
  }
  sent += out, received += in;
  comm->stream = stream;
  pending = comm;
  if (depth) return SUCCESS;
  pending = 0;
  return launch(comm);
}
int ncclSend(uint64_t from, size_t count, int type, int peer, Comm *comm, Stream *stream) {
  GATE(comm->rank);
  if (!from || type != 0 || peer >= comm->ranks) return INVALID_ARGUMENT;
  return add(comm, peer == comm->rank ? 0 : count, 0, stream);
}
int ncclRecv(uint64_t to, size_t count, int type, int peer, Comm *comm, Stream *stream) {
  GATE(comm->rank);
  if (!to || type != 0 || peer >= comm->ranks) return INVALID_ARGUMENT;
  return add(comm, 0, peer == comm->rank ? 0 : count, stream);
}
int ncclAllReduce(uint64_t from, uint64_t to, size_t count, int type, int sum, Comm *comm, Stream *stream) {
  GATE(comm->rank);
  double bytes = count * 4.0 * 2 * (comm->ranks - 1) / comm->ranks;
  return from && to && type == 7 && !sum ? add(comm, bytes, bytes, stream) : INVALID_ARGUMENT;
}
int ncclCommFinalize(Comm *comm) { GATE(comm->rank); return SUCCESS; }
int ncclCommDestroy(Comm *comm) { GATE(comm->rank); free(comm); return SUCCESS; }
int ncclCommAbort(Comm *comm) { GATE(comm->rank); return SUCCESS; }
