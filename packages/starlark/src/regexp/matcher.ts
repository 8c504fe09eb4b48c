import { runeAt, runeWidth } from '../text/utf8.js';

/** Start and end of the match and of each group, in bytes; -1 for a group that did not take part. */
export type Match = readonly number[];

/** What RE2JS compiles a pattern to. */
export interface Program {
  readonly inst: readonly {
    readonly op: number;
    readonly out: number;
    readonly arg: number;
    matchRune(rune: number): boolean;
  }[];
  readonly start: number;
  /** Returns the assertions that a match starts with. */
  startCond(): number;
}

/** The kinds of instructions and the zero-width assertions of RE2. */
const OP = {
  alternative: 1,
  alternativeMatch: 2,
  capture: 3,
  assertion: 4,
  fail: 5,
  match: 6,
  nop: 7,
} as const;
const ASSERTION = { lineStart: 1, lineEnd: 2, textStart: 4, textEnd: 8, boundary: 16, inside: 32 } as const;

/** The threads at one position, in the order of their priority, each with its slots. */
class ThreadList {
  private readonly positions: Uint32Array;
  readonly states: Uint32Array;
  readonly slots: (readonly number[])[] = [];
  size = 0;

  constructor(instructions: number) {
    this.positions = new Uint32Array(instructions);
    this.states = new Uint32Array(instructions);
  }

  has(state: number): boolean {
    const position = this.positions[state] as number;
    return position < this.size && this.states[position] === state;
  }

  add(state: number, slots: readonly number[]): void {
    this.positions[state] = this.size;
    this.states[this.size] = state;
    this.slots[this.size] = slots;
    this.size++;
  }
}

/**
 * Finds matches in linear time: it follows all alternatives at once (Thompson's construction with the slots of Pike's
 * machine), so a text takes at most a step per code point and instruction. The engine of RE2JS does not count steps.
 */
export class Matcher {
  private current: ThreadList;
  private next: ThreadList;
  private readonly stack: (number | readonly number[])[] = [];
  private readonly anchored: boolean;
  /** Slots that were copied since the last step. */
  private copied = 0;

  /** Calls `step` with the number of steps; it may throw to end the search. */
  constructor(
    private readonly program: Program,
    private readonly groups: number,
    private readonly step: (count: number) => void,
  ) {
    this.current = new ThreadList(program.inst.length);
    this.next = new ThreadList(program.inst.length);
    this.anchored = (program.startCond() & ASSERTION.textStart) !== 0;
  }

  /** Returns the leftmost match at or behind an index; the text before it counts for assertions. */
  find(text: string, from: number): Match | undefined {
    const empty: readonly number[] = new Array(this.groups * 2).fill(-1);
    let found: number[] | undefined;
    this.current.size = 0;
    for (let index = from; ; ) {
      if (found === undefined && (!this.anchored || index === 0)) {
        const slots = empty.slice();
        slots[0] = index;
        this.follow(this.current, this.program.start, slots, text, index);
      }
      if (this.current.size === 0 && (found !== undefined || this.anchored)) break;
      this.step(1 + this.current.size + this.copied / 4);
      this.copied = 0;
      const atEnd = index >= text.length;
      const rune = atEnd ? -1 : runeAt(text, index);
      const following = atEnd ? index : index + runeWidth(text, index);
      this.next.size = 0;
      for (let thread = 0; thread < this.current.size; thread++) {
        const slots = this.current.slots[thread] as readonly number[];
        const instruction = this.program.inst[this.current.states[thread] as number]!;
        if (instruction.op === OP.match) {
          // Threads behind have a lower priority.
          found = slots.slice();
          found[1] = index;
          break;
        }
        if (!atEnd && instruction.op > OP.nop && instruction.matchRune(rune)) {
          this.follow(this.next, instruction.out, slots, text, following);
        }
      }
      if (atEnd) break;
      [this.current, this.next] = [this.next, this.current];
      index = following;
    }
    return found;
  }

  /** Adds the threads that a state leads to without reading. */
  private follow(
    list: ThreadList,
    state: number,
    slots: readonly number[],
    text: string,
    index: number,
  ): void {
    const { stack } = this;
    stack.push(slots, state);
    while (stack.length > 0) {
      const at = stack.pop() as number;
      const held = stack.pop() as readonly number[];
      if (list.has(at)) continue;
      const instruction = this.program.inst[at]!;
      list.add(at, held);
      switch (instruction.op) {
        case OP.alternative:
        case OP.alternativeMatch:
          stack.push(held, instruction.arg, held, instruction.out);
          break;
        case OP.capture: {
          this.copied += held.length;
          const changed = held.slice();
          changed[instruction.arg] = index;
          stack.push(changed, instruction.out);
          break;
        }
        case OP.assertion:
          if (holds(instruction.arg, text, index)) stack.push(held, instruction.out);
          break;
        case OP.nop:
          stack.push(held, instruction.out);
          break;
      }
    }
  }
}

/** Reports whether all of the zero-width assertions hold. */
function holds(assertions: number, text: string, index: number): boolean {
  const asks = (assertion: number) => (assertions & assertion) !== 0;
  const isBoundary = isWord(text, index - 1) !== isWord(text, index);
  return !(
    (asks(ASSERTION.lineStart) && index > 0 && text[index - 1] !== '\n') ||
    (asks(ASSERTION.lineEnd) && index < text.length && text[index] !== '\n') ||
    (asks(ASSERTION.textStart) && index > 0) ||
    (asks(ASSERTION.textEnd) && index < text.length) ||
    (asks(ASSERTION.boundary) && !isBoundary) ||
    (asks(ASSERTION.inside) && isBoundary)
  );
}

/** Words are ASCII only. */
function isWord(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return (
    (code >= 0x30 && code <= 0x39) ||
    (code >= 0x41 && code <= 0x5a) ||
    code === 0x5f ||
    (code >= 0x61 && code <= 0x7a)
  );
}
