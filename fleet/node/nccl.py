"""One rank of NCCL on one GPU: point to point or collective, timed on the device in sub-windows.

The id of the communicator goes from rank 0 to the others over the operator's connections; no MPI, nothing installed.
Lines: head, warm, one `w` a window, counters, foot, closed. A window is event, M operations, event on one stream; all
ranks agree on M. After the last line this process ends (`spent`): NCCL reads its settings once, so that every task
needs a process that has not loaded it.
Runs on the node: Python 3.6+, standard library only.
"""

import os
import time

import cuda
import cuda_copy
import edge_counters
import nccl_binding
import nccl_find
import nccl_log
import nccl_party
import nccl_plan
import placement
import watch

FIND = "find"
MOST_OPERATIONS = 256  # a window
AHEAD = 2
RESERVE, RESERVE_SHARE = 3.5, 0.3  # of the deadline: kept for leaving NCCL before the supervisor calls us hung
CLOSING, PARTING = 2.0, 0.4  # seconds: with all ranks well, after one has failed


def run(arguments, bench):
    """Run one rank, or `find`, on the bench: it keeps devices, emits lines, knows barrier, deadline and other ranks."""
    if arguments.get("op") == FIND:
        nccl_find.find(nccl_plan.library_wanted(arguments), bench)
        return
    began = time.monotonic()
    plan = nccl_plan.Plan(arguments)
    left = bench.end - watch.moment()
    supervisor_end, bench.end = bench.end, bench.end - min(RESERVE, RESERVE_SHARE * left)
    rank = Rank(plan, bench)
    try:
        rank.measure(began)
    except cuda.Failed as failure:
        rank.give_up(failure, supervisor_end)
        raise
    rank.leave(supervisor_end)
    bench.emit(end="spent", seconds=round(time.monotonic() - began, 6))
    os._exit(0)


class Rank(object):
    """This process's part in the trial. What it allocates is never freed: the process ends with the task, and freeing
    would wait for an operation that may never complete."""

    def __init__(self, plan, bench):
        self.plan, self.bench = plan, bench
        self.party = nccl_party.Party(bench, plan.rank, plan.ranks)
        self.log = nccl_log.Log()
        self.comm = None

    def measure(self, began):
        """Meet the other ranks, warm up with them, time the windows, say all of it."""
        plan, bench = self.plan, self.bench
        set_environment(dict(plan.settings, **self.log.environment()))
        driver, device = bench.driver(), bench.device(plan.gpus[0])
        place = placement.run_beside(plan.gpus[0])
        library, candidate, unique = self.meet(driver.version())
        device.use()
        joined = time.monotonic()
        self.comm = nccl_binding.Communicator(library, bench.heed)
        self.comm.join(unique, plan.rank, plan.ranks, bench.end)
        joined = time.monotonic() - joined
        transfer = Transfer(plan, device, self.comm, bench)
        before = counters(bench, plan)  # the warm-up is load as well
        count = self.warm_up(transfer)
        head = {
            "op": plan.op,
            "rank": plan.rank,
            "ranks": plan.ranks,
            "bytes": plan.bytes,
            "windows": plan.windows,
            "driver": driver.version(),
            "devices": [device.facts()],
            "place": place,
            "nccl": dict(candidate.facts(), version=library.version()),
            "init_s": round(joined, 3),
            "start_s": round(time.monotonic() - began, 3),
        }
        bench.emit(head=dict(head, **nccl_log.facts(self.log.text())))
        bench.barrier()
        foot = measure(transfer, count, plan, bench)
        for rows in moved(before, counters(bench, plan)):
            bench.emit(counters=rows)
        bench.emit(foot=foot)

    def meet(self, driver):
        """Load one NCCL on all ranks, and have an id of rank 0 that all can reach. -> library, candidate, id"""
        if self.plan.rank == 0:
            library, candidate = nccl_binding.load(self.plan.wanted, driver)
            unique = library.new_id()
            self.party.invite(unique, library.version())
        else:
            unique, version = self.party.invited()
            library, candidate = nccl_binding.load(self.plan.wanted, driver, version)
            if library.version() != version:
                text = "rank 0 has NCCL %s, this node's %s is %s" % (version, candidate.path, library.version())
                raise cuda.Failed("ncclGetVersion", "VERSIONS_DIFFER", text=text)
            nccl_party.reach(unique)
        self.party.say("ready")
        self.party.gather("ready")
        return library, candidate, unique

    def warm_up(self, transfer):
        """Connect, and wake clocks and links, with operations nobody reports. -> operations that fill a window

        The slowest rank decides, for all must make as many."""
        plan = self.plan
        transfer.milliseconds_of_one(1)
        one = self.slowest("first", transfer.milliseconds_of_one(2))
        one = self.slowest("warm", transfer.milliseconds_of_one(at_most(plan.warm_ms / one)))
        count = at_most(plan.window_ms / one)
        self.bench.emit(warm={"operations_per_window": count, "operation_ms": round(one, 4)})
        return count

    def slowest(self, step, mine):
        """What an operation takes on the slowest rank, in milliseconds."""
        self.party.say(step, ms=mine)
        told = [message.get("ms") for message in self.party.gather(step).values()]
        return max([mine] + [ms for ms in told if type(ms) in (int, float) and 0 < ms < 1e6])

    def leave(self, end):
        """Part when all ranks have their windows: a rank whose data are still on their way must find the others."""
        try:
            self.party.say("finished")
            self.party.gather("finished")
            how = self.comm.close(min(end, watch.moment() + CLOSING))
        except cuda.Failed as failure:
            how = str(failure)
        self.bench.emit(closed=how)

    def give_up(self, failure, end):
        """Say what NCCL wrote, and get out of it; soon where another rank failed, for then nobody waits long for us."""
        self.bench.emit(log=nccl_log.facts(self.log.text()))
        if self.comm is not None:
            soon = watch.moment() + (PARTING if failure.report["name"] == "PARTNER" else RESERVE)
            self.bench.emit(abort=self.comm.abort(min(end, soon)))


def set_environment(values):
    """Set variables, and take away those without a value, before NCCL is loaded."""
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


class Transfer(object):
    """One operation of the plan, ready to be enqueued again and again; all ranks must enqueue as many."""

    def __init__(self, plan, device, comm, bench):
        self.plan, self.device, self.comm, self.bench = plan, device, comm, bench
        self.driver = device.driver
        scratch = cuda.Scratch(self.driver)
        self.stream = scratch.stream(device)
        self.source, self.target = (scratch.device_memory(device, plan.bytes) for _ in range(2))
        self.edges = [(scratch.event(device), scratch.event(device)) for _ in range(plan.windows + 1)]
        device.use()

    def issue(self):
        """Enqueue one operation."""
        if self.plan.op == nccl_plan.ALL_REDUCE:
            self.comm.all_reduce(self.source, self.target, self.plan.bytes // 4, self.stream, self.bench.end)
        else:
            self.comm.exchange(self.sends(), self.receives(), self.stream, self.bench.end)

    def sends(self):
        """What this rank sends: (pointer, bytes, rank) each."""
        plan = self.plan
        if plan.op == nccl_plan.ALL_TO_ALL:
            part = plan.bytes // plan.ranks
            return [(self.source + part * rank, part, rank) for rank in range(plan.ranks)]
        return [(self.source, plan.bytes, 1 - plan.rank)] if plan.op == nccl_plan.BOTH_WAYS or plan.rank == 0 else []

    def receives(self):
        """What this rank receives: (pointer, bytes, rank) each."""
        plan = self.plan
        if plan.op == nccl_plan.ALL_TO_ALL:
            part = plan.bytes // plan.ranks
            return [(self.target + part * rank, part, rank) for rank in range(plan.ranks)]
        return [(self.target, plan.bytes, 1 - plan.rank)] if plan.op == nccl_plan.BOTH_WAYS or plan.rank == 1 else []

    def enqueue(self, before, count, after):
        """`count` operations between two events."""
        self.driver.cuEventRecord(before, self.stream)
        for _ in range(count):
            self.issue()
        self.driver.cuEventRecord(after, self.stream)

    def milliseconds_of_one(self, count):
        """How long one operation takes, of so many."""
        before, after = self.edges[-1]
        self.enqueue(before, count, after)
        cuda.wait_for(self.driver, after, self.bench.end, self.plan.op + " warm-up")
        return max(cuda.milliseconds(self.driver, before, after) / count, cuda_copy.SHORTEST_COPY_MS)


def at_most(operations):
    """A number of operations the queue can hold, at least one."""
    return max(1, min(MOST_OPERATIONS, int(round(operations))))


def measure(transfer, count, plan, bench):
    """Time the windows and emit a line for each. -> the foot: what they say together

    An operation goes before them that nobody reports: with it the ranks start together."""
    driver, edges = transfer.driver, transfer.edges
    late, rates = set(), []
    began = time.monotonic()
    transfer.issue()
    for turn in range(plan.windows + AHEAD):
        if turn < plan.windows:
            if turn and cuda.is_over(driver, edges[turn - 1][1], plan.op):
                late.add(turn)  # the GPU ran dry before we came
            transfer.enqueue(edges[turn][0], count, edges[turn][1])
        window = turn - AHEAD
        if window >= 0:
            cuda.wait_for(driver, edges[window][1], bench.end, "%s window %d" % (plan.op, window))
            line = cuda_copy.timing(driver, edges, window)
            rates.append(count * plan.moved() / line["ms"] * 1e-6)
            bench.emit(gbps=round(rates[-1], 3), **dict(line, late=1) if window in late else line)
    foot = cuda_copy.summary(rates)
    foot["late"] = len(late)
    foot["events_ms"] = round(cuda.milliseconds(driver, edges[0][0], edges[plan.windows - 1][1]), 3)
    foot["host_ms"] = round((time.monotonic() - began) * 1e3, 3)
    return foot


def counters(bench, plan):
    """The error counters of what the operations load: the GPU's lanes and PCIe link, and the NICs. -> (GPU's, NICs')"""
    found, nvml = {}, bench.nvml()
    for read in (nvml.lane_errors, nvml.pcie_replays) if nvml is not None else ():
        try:
            found.update(read(plan.gpus[0]))
        except edge_counters.Missing:
            pass  # this GPU has no such counter: it is absent from the lines
    return found, nic_counters().read(plan.nics) if plan.nics else None


def moved(before, after):
    """Yield the rows of counters read at both edges."""
    if before[0] and after[0]:
        yield edge_counters.moved(before[0], after[0])
    if before[1] and after[1]:
        yield nic_counters().moved(before[1], after[1])


def nic_counters():
    """The module that reads NICs, loaded where a task names some."""
    import nic_counters as module

    return module
