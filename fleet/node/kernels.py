"""The kernels that probes run, as PTX that every driver since CUDA 10.1 translates for its GPU, and what they compute.

`.version 6.4 .target sm_70` is the oldest that has all instructions used here; ptxas 11.8 and 12.9 take it for sm_70 to
sm_120. `fill` and `check` walk over memory word by word; `fma`, `integer` and `wmma` load the cores, and every warp of
them computes the same.
Runs on the node: Python 3.6+, standard library only.
"""

import ctypes

HEAD = ".version 6.4\n.target sm_70\n.address_size 64\n"
THREADS = 256  # of a block
WARP = 32
WORD_BYTES = 4

# Memory.

CONSTANT, MIXED = 0, 1
LISTED = 16  # wrong words that `check` tells apart; it counts them all
REPORT_BYTES = 16 + 16 * LISTED
PERIOD = 16411  # words, a prime: an aliased address does not meet its own pattern
_FACTOR, _SECOND_FACTOR = 0x9E3779B1, 0x85EBCA6B
_ALL = 0xFFFFFFFF

_WALK_PARAMETERS = (
    ".param .u64 base, .param .u64 words, .param .u32 seed, .param .u32 mode, .param .u32 start, .param .u32 period"
)
_WALK = """{
  .reg .pred %p<5>;
  .reg .b32 %r<12>;
  .reg .b64 %d<8>;
  ld.param.u64 %d0, [base];
  cvta.to.global.u64 %d0, %d0;
  ld.param.u64 %d1, [words];
  ld.param.u32 %r0, [seed];
  ld.param.u32 %r1, [mode];
  ld.param.u32 %r2, [start];
  ld.param.u32 %r3, [period];
  OPENING
  mov.u32 %r4, %ctaid.x;
  mov.u32 %r5, %ntid.x;
  mov.u32 %r6, %tid.x;
  mov.u32 %r7, %nctaid.x;
  mul.wide.u32 %d2, %r4, %r5;
  cvt.u64.u32 %d3, %r6;
  add.u64 %d2, %d2, %d3;
  mul.wide.u32 %d3, %r7, %r5;
  setp.eq.u32 %p1, %r1, 0;
  setp.eq.u32 %p2, %r3, 0;
  max.u32 %r3, %r3, 1;
LOOP:
  setp.ge.u64 %p0, %d2, %d1;
  @%p0 bra DONE;
  cvt.u32.u64 %r8, %d2;
  add.u32 %r8, %r8, %r2;
  rem.u32 %r9, %r8, %r3;
  selp.b32 %r8, %r8, %r9, %p2;
  mul.lo.u32 %r8, %r8, 0x9E3779B1;
  xor.b32 %r8, %r8, %r0;
  shr.u32 %r9, %r8, 16;
  xor.b32 %r8, %r8, %r9;
  mul.lo.u32 %r8, %r8, 0x85EBCA6B;
  shr.u32 %r9, %r8, 13;
  xor.b32 %r8, %r8, %r9;
  selp.b32 %r8, %r0, %r8, %p1;
  shl.b64 %d4, %d2, 2;
  add.u64 %d4, %d0, %d4;
  BODY
NEXT:
  add.u64 %d2, %d2, %d3;
  bra LOOP;
DONE:
  ret;
}
"""
_STORE = "st.global.u32 [%d4], %r8;"
_REPORT = "ld.param.u64 %d5, [report];\n  cvta.to.global.u64 %d5, %d5;"
_COMPARE = """ld.global.cv.u32 %r10, [%d4];
  setp.eq.u32 %p3, %r10, %r8;
  @%p3 bra NEXT;
  xor.b32 %r11, %r8, %r10;
  red.global.or.b32 [%d5+8], %r11;
  atom.global.add.u64 %d6, [%d5], 1;
  setp.ge.u64 %p4, %d6, 16;
  @%p4 bra NEXT;
  shl.b64 %d6, %d6, 4;
  add.u64 %d6, %d5, %d6;
  st.global.u64 [%d6+16], %d2;
  st.global.u32 [%d6+24], %r8;
  st.global.u32 [%d6+28], %r10;"""  # past the caches: what they hold is not what the memory holds
MEMORY = (
    HEAD
    + ".visible .entry fill(%s)\n" % _WALK_PARAMETERS
    + _WALK.replace("OPENING", "").replace("BODY", _STORE)
    + ".visible .entry check(%s, .param .u64 report)\n" % _WALK_PARAMETERS
    + _WALK.replace("OPENING", _REPORT).replace("BODY", _COMPARE)
)


class Pattern(object):
    """What `fill` writes and `check` expects: one value everywhere, or values mixed from seed and place.

    With `period` (words) the mixed values come again; `start` is the place of the first word in them."""

    def __init__(self, name, seed, mode=MIXED, start=0, period=0):
        self.name = name
        self.seed, self.mode, self.start, self.period = seed & _ALL, mode, start & _ALL, period

    def arguments(self, base, words):
        """The parameters of a kernel that walks over `words` words at `base`."""
        numbers = [ctypes.c_uint32(value) for value in (self.seed, self.mode, self.start, self.period)]
        return [ctypes.c_uint64(base), ctypes.c_uint64(words)] + numbers

    def word(self, index):
        """The value of a word."""
        if self.mode == CONSTANT:
            return self.seed
        place = (index + self.start) & _ALL
        return mixed(place % self.period if self.period else place, self.seed)

    def one_period(self):
        """-> bytes of the period, from its first word"""
        words = (ctypes.c_uint32 * self.period)(*[mixed(place, self.seed) for place in range(self.period)])
        return bytes(words)


def mixed(place, seed):
    """The word that belongs to a place."""
    value = (place * _FACTOR & _ALL) ^ seed
    value ^= value >> 16
    value = value * _SECOND_FACTOR & _ALL
    return value ^ value >> 13


class Report(ctypes.Structure):
    """What `check` leaves: how many words are wrong, in which bits, and some of them in no order."""

    class Row(ctypes.Structure):
        """A wrong word."""

        _fields_ = [("index", ctypes.c_uint64), ("expected", ctypes.c_uint32), ("got", ctypes.c_uint32)]

    _fields_ = [
        ("count", ctypes.c_uint64),
        ("bits", ctypes.c_uint32),
        ("unused", ctypes.c_uint32),
        ("rows", Row * LISTED),
    ]


# Load.

TURN_FLOP = {"fma": 256, "integer": 256, "wmma": 4 * 8192 // WARP}  # operations of one thread in one turn
BLOCKS = {"fma": 8, "integer": 8, "wmma": 4}  # of a multiprocessor: what its registers have room for at once
SMS = 4096  # counters of wrong results by multiprocessor

_LOAD_OPENING = """.visible .entry NAME(
  .param .u64 out, .param .u64 reference, .param .u64 by_warp, .param .u64 by_sm, .param .u32 turns)
{
  .reg .pred %p<3>;
  .reg .b32 %r<8>;
  .reg .b64 %d<6>;
  .reg .f32 %x<40>;
  .reg .b32 %y<8>;
  .reg .b32 %a<8>;
  .reg .b32 %b<8>;
  ld.param.u32 %r0, [turns];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  and.b32 %r5, %r3, 31;
  cvt.rn.f32.u32 %x39, %r5;
"""
_LOAD_TURN_OVER = """  sub.u32 %r0, %r0, 1;
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra LOOP;
"""
_LOAD_CLOSING = """  ld.param.u64 %d0, [reference];
  setp.eq.u64 %p1, %d0, 0;
  @%p1 bra KEEP;
  cvta.to.global.u64 %d0, %d0;
  mul.wide.u32 %d1, %r5, 4;
  add.u64 %d1, %d0, %d1;
  ld.global.u32 %r7, [%d1];
  setp.eq.u32 %p2, %r7, %r6;
  @%p2 bra DONE;
  ld.param.u64 %d2, [by_warp];
  cvta.to.global.u64 %d2, %d2;
  shr.u32 %r7, %r4, 5;
  mul.wide.u32 %d1, %r7, 4;
  add.u64 %d2, %d2, %d1;
  red.global.add.u32 [%d2], 1;
  ld.param.u64 %d3, [by_sm];
  cvta.to.global.u64 %d3, %d3;
  mov.u32 %r7, %smid;
  and.b32 %r7, %r7, 4095;
  mul.wide.u32 %d1, %r7, 4;
  add.u64 %d3, %d3, %d1;
  red.global.add.u32 [%d3], 1;
  bra DONE;
KEEP:
  ld.param.u64 %d4, [out];
  cvta.to.global.u64 %d4, %d4;
  mul.wide.u32 %d1, %r4, 4;
  add.u64 %d4, %d4, %d1;
  st.global.u32 [%d4], %r6;
DONE:
  ret;
}
"""
CHAINS, STEPS = 8, 16  # of a turn


def _load(name, opening, turn, result):
    """One kernel: its own opening, the turn that it repeats, and the word (%r6) that a thread ends with."""
    text = HEAD + _LOAD_OPENING.replace("NAME", name)
    return text + opening + "LOOP:\n" + turn + _LOAD_TURN_OVER + result + _LOAD_CLOSING


def _fma():
    """Chains of multiplications by sqrt(3) and its inverse, addends that cancel: all bits at work, values bounded."""
    steps = ("0f3FDDB3D7, 0f3F490FDB", "0f3F13CD3A, 0fBEE83A1C")
    opening = "".join(
        "  fma.rn.f32 %%x%d, %%x39, 0f3D4CCCCD, 0f%08X;\n" % (chain, 0x3F800000 + chain * 0x12345)
        for chain in range(CHAINS)
    )
    turn = "".join(
        "  fma.rn.f32 %%x%d, %%x%d, %s;\n" % (chain, chain, steps[step % 2])
        for step in range(STEPS)
        for chain in range(CHAINS)
    )
    return _load("fma", opening, turn, _folded(CHAINS))


def _folded(count):
    """All bits of the first `count` floating-point registers, so that one wrong bit of one of them shows."""
    first = "  mov.b32 %r6, %x0;\n"
    return first + "".join(
        "  mov.b32 %%r7, %%x%d;\n  xor.b32 %%r6, %%r6, %%r7;\n" % number for number in range(1, count)
    )


_MULTIPLIERS = tuple(0x41C64E6D + 8 * 0x10325 * chain for chain in range(CHAINS))
_ADDENDS = tuple(0x3039 + 2 * 0x7F4A7 * chain for chain in range(CHAINS))


def _integer():
    """Chains of multiplications modulo 2**32, of which the end is known beforehand."""
    opening = "".join("  add.u32 %%y%d, %%r5, %d;\n" % (chain, chain + 1) for chain in range(CHAINS))
    turn = "".join(
        "  mad.lo.u32 %%y%d, %%y%d, 0x%X, 0x%X;\n" % (chain, chain, _MULTIPLIERS[chain], _ADDENDS[chain])
        for step in range(STEPS)
        for chain in range(CHAINS)
    )
    result = "  mov.u32 %r6, %y0;\n" + "".join("  xor.b32 %%r6, %%r6, %%y%d;\n" % chain for chain in range(1, CHAINS))
    return _load("integer", opening, turn, result)


def integer_results(turns):
    """What the 32 lanes of a warp end with: each chain is one multiplication and one addition, raised to a power."""
    ends = []
    for lane in range(WARP):
        value = 0
        for chain in range(CHAINS):
            factor, addend = _repeated(_MULTIPLIERS[chain], _ADDENDS[chain], turns * STEPS)
            value ^= ((lane + chain + 1) * factor + addend) & _ALL
        ends.append(value)
    return ends


def _repeated(factor, addend, times):
    """x -> factor x + addend, done `times` times. -> the factor and addend that do it at once"""
    whole_factor, whole_addend = 1, 0
    while times:
        if times & 1:
            whole_factor, whole_addend = whole_factor * factor & _ALL, (whole_addend * factor + addend) & _ALL
        factor, addend = factor * factor & _ALL, (addend * factor + addend) & _ALL
        times >>= 1
    return whole_factor, whole_addend


def _wmma():
    """Four independent 16x16x16 products a turn on the tensor cores: half precision in, single precision summed."""
    opening = "".join(
        "  mad.lo.u32 %%r6, %%r5, %d, %d;\n  and.b32 %%r6, %%r6, 0x8FFF8FFF;\n  or.b32 %%%s%d, %%r6, 0x30003000;\n"
        % (2654435761 % (1 << 31) + 77777 * number, 40503 * (number + 1), fragment, number)
        for fragment in "ab"
        for number in range(8)
    )
    opening += "".join("  mov.f32 %%x%d, 0f00000000;\n" % number for number in range(32))
    turn = "".join(
        "  wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 %s, %s, %s, %s;\n"
        % (_registers("x", 8 * tile), _registers("a", 0), _registers("b", 0), _registers("x", 8 * tile))
        for tile in range(4)
    )
    return _load("wmma", opening, turn, _folded(32))


def _registers(letter, first):
    return "{" + ", ".join("%%%s%d" % (letter, first + number) for number in range(8)) + "}"


LOADS = {"fma": _fma(), "integer": _integer(), "wmma": _wmma()}
