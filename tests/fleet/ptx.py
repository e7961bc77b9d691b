"""An interpreter for the few PTX instructions that the node's kernels use, one thread after the other."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

ALL32, ALL64 = (1 << 32) - 1, (1 << 64) - 1
Memory = dict[int, int]
"""Address -> word of 32 bits."""


@dataclass
class Thread:
    """One thread at work."""

    registers: dict[str, float]
    parameters: Mapping[str, int]
    memory: Memory

    def value(self, operand: str) -> float:
        """Of a register or a number."""
        if operand.startswith("%"):
            return self.registers[operand]
        return single(int(operand[2:], 16)) if operand.startswith("0f") else int(operand, 0)

    def whole(self, operand: str) -> int:
        """The same, a whole number."""
        value = self.value(operand)
        assert isinstance(value, int)
        return value

    def address(self, operand: str) -> int:
        """Of `[%d5+8]`."""
        register, _, offset = operand.strip("[]").partition("+")
        return self.whole(register) + int(offset or 0)

    def load(self, address: int, bits: int) -> int:
        low = self.memory[address]
        return low if bits == 32 else low | self.memory[address + 4] << 32

    def store(self, address: int, value: int, bits: int) -> None:
        assert address % (bits // 8) == 0, "a real GPU refuses an address that is not aligned"
        self.memory[address] = value & ALL32
        if bits == 64:
            self.memory[address + 4] = value >> 32


def single(bits: int) -> float:
    """A number of single precision by its bits."""
    value: float = struct.unpack("<f", struct.pack("<I", bits))[0]
    return value


def bits_of(value: float) -> int:
    """The other way round, rounded to single precision."""
    bits: int = struct.unpack("<I", struct.pack("<f", value))[0]
    return bits


def rounded(value: float) -> float:
    return single(bits_of(value))


COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}
ARITHMETIC: Mapping[str, Callable[..., float]] = {
    "mul.wide.u32": lambda a, b: a * b,
    "mul.lo.u32": lambda a, b: a * b & ALL32,
    "mad.lo.u32": lambda a, b, c: (a * b + c) & ALL32,
    "add.u32": lambda a, b: (a + b) & ALL32,
    "add.u64": lambda a, b: (a + b) & ALL64,
    "sub.u32": lambda a, b: (a - b) & ALL32,
    "rem.u32": lambda a, b: a % b,
    "max.u32": max,
    "xor.b32": lambda a, b: a ^ b,
    "and.b32": lambda a, b: a & b,
    "shr.u32": lambda a, b: a >> b,
    "shl.b64": lambda a, b: a << b & ALL64,
    "fma.rn.f32": lambda a, b, c: rounded(a * b + c),
    "cvta.to.global.u64": lambda a: a,
    "mov.u32": lambda a: a,
    "mov.b32": lambda a: bits_of(a) if isinstance(a, float) else a,
    "cvt.u64.u32": lambda a: a,
    "cvt.u32.u64": lambda a: a & ALL32,
    "cvt.rn.f32.u32": float,
}


def run(text: str, entry: str, arguments: list[int], blocks: int, threads: int, memory: Memory, sm: int = 0) -> None:
    """Run a kernel to its end."""
    parameters, program, labels = read(text, entry)
    given = dict(zip(parameters, arguments, strict=True))
    for block in range(blocks):
        for thread in range(threads):
            places = {"%ctaid.x": block, "%ntid.x": threads, "%tid.x": thread, "%nctaid.x": blocks, "%smid": sm}
            follow(Thread(dict(places), given, memory), program, labels)


def read(text: str, entry: str) -> tuple[list[str], list[str], dict[str, int]]:
    """Parameters, statements and labels of an entry."""
    text = text[text.index(f".entry {entry}(") :]
    parameters = re.findall(r"\.param \.u\d+ (\w+)", text[: text.index("{")])
    body = text[text.index("{") + 1 : text.index("ret;") + 4]
    program: list[str] = []
    labels: dict[str, int] = {}
    for label, statement in re.findall(r"(\w+):|([^;:]+);", body):
        if label:
            labels[label] = len(program)
        elif not statement.strip().startswith(".reg"):
            program.append(statement.strip())
    return parameters, program, labels


def follow(thread: Thread, program: list[str], labels: Mapping[str, int]) -> None:
    """Run one thread."""
    at = 0
    while True:
        statement = program[at]
        at += 1
        if guarded := re.match(r"@(%\w+)\s+(.*)", statement, re.DOTALL):
            if not thread.registers[guarded[1]]:
                continue
            statement = guarded[2]
        name, _, rest = statement.partition(" ")
        operands = list(operands_of(rest))
        if name == "ret":
            return
        if name == "bra":
            at = labels[operands[0]]
        else:
            perform(thread, name, operands)


def operands_of(text: str) -> Iterator[str]:
    for operand in re.findall(r"\[[^\]]*\]|[^,]+", text):
        yield operand.strip()


def perform(thread: Thread, name: str, operands: list[str]) -> None:
    """One instruction."""
    bits = 64 if name.endswith("64") else 32
    if name.startswith("ld.param"):
        thread.registers[operands[0]] = thread.parameters[operands[1].strip("[]")]
    elif name.startswith("ld.global"):
        thread.registers[operands[0]] = thread.load(thread.address(operands[1]), bits)
    elif name.startswith("st.global"):
        thread.store(thread.address(operands[0]), thread.whole(operands[1]), bits)
    elif name.startswith(("red.global", "atom.global")):
        change_memory(thread, name, operands, bits)
    elif name.startswith("setp."):
        one, other = (thread.value(operand) for operand in operands[1:])
        thread.registers[operands[0]] = COMPARE[name.split(".")[1]](one, other)
    elif name == "selp.b32":
        thread.registers[operands[0]] = thread.value(operands[1] if thread.registers[operands[3]] else operands[2])
    else:
        thread.registers[operands[0]] = ARITHMETIC[name](*[thread.value(operand) for operand in operands[1:]])


def change_memory(thread: Thread, name: str, operands: list[str], bits: int) -> None:
    """`atom` keeps what stood there, `red` does not."""
    kept = operands.pop(0) if name.startswith("atom") else ""
    address, change = thread.address(operands[0]), thread.whole(operands[1])
    before = thread.load(address, bits)
    thread.store(address, before | change if ".or." in name else before + change, bits)
    if kept:
        thread.registers[kept] = before
