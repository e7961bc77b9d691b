"""The children of the probe worker and the jobs they are given.

A child is forked, holds the CUDA contexts of the GPUs it has used, and runs one job at a time. A child that fails, or
that sits in a call past the deadline or after a partner of its job has failed, is let go; a child that even KILL can't
end is reported.
Runs on the node: Python 3.6+, standard library only.
"""

import json
import os
import select
import signal

import bench
import mail
import tree
import watch

GRACE = 1.0  # seconds past the deadline before a silent child is called hung: it may say more itself
PATIENCE = 2.0  # seconds between TERM and KILL
LAST_WAIT = 1.0  # seconds at the end for children to be gone
START_WITHOUT = 0.4  # share of the deadline after which jobs start without those that are not ready
PARTING = 0.7  # seconds a child has to end by itself once a partner of its job has failed
LONGEST_LINE = 1 << 20
MOST_UNREAD = 1 << 20  # bytes told to a child that does not listen
MOST_STUCK = 8


class Job(object):
    """One run of a program."""

    def __init__(self, name, program, arguments, end):
        self.name, self.program, self.arguments = name, program, arguments
        self.began, self.end = watch.moment(), end
        self.waits = self.started = self.ended = False
        self.partner_failed, self.part_at = "", None
        self.hear = None

    def say(self, **line):
        """Pass a line on; the `end` line is the last."""
        self.ended = self.ended or "end" in line
        self.hear(self, line)


class Child(object):
    """A forked process, seen from its supervisor."""

    def __init__(self, pid, orders, answers, page):
        self.pid, self.orders, self.answers, self.page = pid, orders, answers, page
        self.partial, self.gpus, self.job = b"", set(), None
        self.unsent = b""
        self.kill_at = None
        os.set_blocking(orders, False)  # a child at work does not read, and must not hold us up

    def order(self, **order):
        """Send an order, as far as the child takes it now; the rest goes with `send_rest`."""
        self.unsent += json.dumps(order).encode() + b"\n"
        self.send_rest()

    def send_rest(self):
        """Send what the child has not taken; one that is gone is noticed by the end of its answers."""
        while self.unsent:
            try:
                self.unsent = self.unsent[os.write(self.orders, self.unsent) :]
            except BlockingIOError:
                return
            except OSError:
                self.unsent = b""


class Crew(object):
    """All children."""

    def __init__(self, private):
        self.private = private  # files of the supervisor that no child may hold
        self.children, self.leaving, self.jobs = [], [], []

    def pids(self):
        """Of all children, those on their way out included."""
        return [child.pid for child in self.children + self.leaving]

    def files(self):
        """Where answers come from."""
        return [child.answers for child in self.children]

    def deal(self, jobs, hear):
        """Give each job to the idle child that knows its GPUs best, or to a new one."""
        self.jobs = jobs
        for job in jobs:
            job.hear = hear
            if len(self.leaving) > MOST_STUCK:
                job.say(error={"call": "fork", "name": "STUCK", "code": 0, "text": "too many children can't be ended"})
                job.say(end="refused", seconds=0.0)
                continue
            gpus = set(job.arguments.get("gpus") or ())
            idle = [child for child in self.children if child.job is None]
            child = max(idle, key=lambda child: len(child.gpus & gpus)) if idle else self.fork()
            child.job, child.gpus = job, child.gpus | gpus
            child.order(program=job.program, arguments=job.arguments, end=job.end)

    def tell(self, name, message):
        """Pass on what another task tells the one of that name. -> whether there is such a job at work"""
        child = next((child for child in self.children if child.job is not None and child.job.name == name), None)
        if child is None:
            return False
        why = mail.why_failed(message)
        if why and child.job.part_at is None:
            child.job.partner_failed, child.job.part_at = why, watch.moment() + PARTING
        if len(child.unsent) > MOST_UNREAD:
            self.break_off(child, {"name": "TOLD_TOO_MUCH", "text": "it does not read what the others tell"}, "failed")
        else:
            child.order(told=message)
        return True

    def fork(self):
        """Make a child."""
        page = watch.new_page()
        order_end, orders = os.pipe()
        answers, answer_end = os.pipe()
        everything = set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}
        signal.pthread_sigmask(signal.SIG_BLOCK, everything)  # until the child has handlers of its own
        pid = os.fork()
        if pid == 0:
            self.become_child(order_end, answer_end, (orders, answers), page)
        child = Child(pid, orders, answers, page)
        self.children.append(child)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, everything)
        os.close(order_end)
        os.close(answer_end)
        return child

    def become_child(self, order_end, answer_end, others, page):
        """In the child: die with the supervisor, hold none of its files, serve. Never returns."""
        tree.die_with_parent(signal.SIGKILL)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(order_end, 0)
        os.dup2(answer_end, 1)
        os.dup2(nothing, 2)  # a child stuck in the kernel must not keep the channel open
        held = [file for child in self.children for file in (child.orders, child.answers)]
        for file in set(held) | set(others) | set(self.private) | {order_end, answer_end, nothing}:
            os.close(file)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, set(signal.Signals))
        watch.write_on(page)
        bench.serve()

    def read(self, file):
        """Take in what a child said."""
        child = next((child for child in self.children if child.answers == file), None)
        if child is None:
            return  # let go while we were reading others
        received = os.read(file, 65536)
        if not received:
            self.bury(child)
            return
        whole, newline, child.partial = (child.partial + received).rpartition(b"\n")
        for line in (whole + newline).splitlines():
            self.heard(child, json.loads(line.decode()))
        if len(child.partial) > LONGEST_LINE:
            self.let_go(child)

    def heard(self, child, line):
        """Act on one line of a child."""
        job = child.job
        if job is None:
            return
        if line.get("at") == "barrier":
            job.waits = True
            self.start_together()
            return
        if "end" in line:
            child.job = None
            line.setdefault("seconds", 0.0)
        job.say(**line)
        if line.get("end", bench.DONE) != bench.DONE:
            self.let_go(child)
        self.start_together()

    def start_together(self):
        """Release the jobs at the barrier once all are there, or when the others have taken too long to come."""
        waiting = [job for job in self.jobs if job.waits and not job.started and not job.ended]
        absent = [job for job in self.jobs if not job.waits and not job.ended]
        if not waiting:
            return
        released = any(job.started for job in self.jobs)
        patience = min(job.began + START_WITHOUT * (job.end - job.began) for job in waiting)
        if absent and not released and watch.moment() < patience:
            return
        for child in self.children:
            if child.job in waiting:
                child.job.started = True
                if absent:
                    child.job.say(started_without=[job.name for job in absent])
                child.order(go=1)

    def look_after(self):
        """What time brings: late starts, hung calls, children that must be killed or are gone."""
        now = watch.moment()
        self.start_together()
        for child in list(self.children):
            child.send_rest()
            job = child.job
            if job is not None and now > job.end + GRACE:
                report = dict(state_of(child.pid), name="HUNG", text="the call did not return")
                self.break_off(child, report, "hung")
            elif job is not None and job.part_at is not None and now > job.part_at:
                self.break_off(child, {"name": "PARTNER", "text": job.partner_failed}, bench.FAILED)
        for child in list(self.leaving):
            if gone(child.pid):
                self.leaving.remove(child)
            elif now > child.kill_at:
                tree.send(child.pid, signal.SIGKILL)

    def bury(self, child):
        """A child has closed its answers: it ended, or something ended it."""
        if child.job is None:
            self.let_go(child)
        else:
            self.break_off(child, {"name": "DIED", "text": "the process ended in this call"}, "died")

    def break_off(self, child, report, how):
        """End a child and its job, which says in which call it was."""
        job, child.job = child.job, None
        job.say(error=dict(report, call=watch.written_on(child.page), code=0))
        job.say(end=how, seconds=round(watch.moment() - job.began, 6))
        self.let_go(child)
        self.start_together()

    def let_go(self, child):
        """Give a child no more work, and see that it ends."""
        if child not in self.children:
            return
        self.children.remove(child)
        os.close(child.orders)
        os.close(child.answers)
        child.orders = child.answers = -1
        child.kill_at = watch.moment() + PATIENCE
        self.leaving.append(child)
        tree.send(child.pid, signal.SIGTERM)

    def end(self):
        """End all children and what they left behind. -> pids of those that can't be ended, with their state"""
        for child in list(self.children):
            self.let_go(child)
        for number in (signal.SIGTERM, signal.SIGKILL):
            until = watch.moment() + LAST_WAIT
            for child in self.leaving:
                tree.send(child.pid, number)
            while self.leaving and watch.moment() < until:
                self.leaving = [child for child in self.leaving if not gone(child.pid)]
                select.select([], [], [], 0.01)
        return [dict(state_of(pid), pid=pid) for pid in tree.end_below(0.0, LAST_WAIT)]


def gone(pid):
    """Whether a child has ended; collects it."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def state_of(pid):
    """What the kernel says a process is doing. -> {"state": "D", "wchan": ...}"""
    found = {"state": "", "wchan": ""}
    try:
        with open("/proc/%d/stat" % pid) as file:
            found["state"] = file.read(4096).rpartition(")")[2].split()[0]
        with open("/proc/%d/wchan" % pid) as file:
            found["wchan"] = file.read(64)
    except (OSError, ValueError, IndexError):
        pass
    return found
