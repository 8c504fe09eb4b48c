import { runeAt, runeWidth } from '../text/utf8.js';
import type { Instruction } from './program.js';
import type { Assertion } from './tree.js';

/** Start and end of the match and of each group, in bytes; -1 for a group that did not take part. */
export type Match = readonly number[];

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
 * machine), so a text takes at most a step per code point and instruction.
 */
export class Matcher {
  private current: ThreadList;
  private next: ThreadList;
  private readonly stack: (number | readonly number[])[] = [];
  private readonly anchored: boolean;
  /** Slots that were copied since the last step. */
  private copied = 0;

  /** `step` is told how many steps were made, and may throw to end the search. */
  constructor(
    private readonly program: readonly Instruction[],
    private readonly groups: number,
    private readonly step: (count: number) => void,
  ) {
    this.current = new ThreadList(program.length);
    this.next = new ThreadList(program.length);
    this.anchored = startsAtTextStart(program);
  }

  /** Returns the leftmost match at or behind an index; the text before it counts for assertions. */
  find(text: string, from: number): Match | undefined {
    const start = this.program.length - 1;
    const empty: readonly number[] = new Array(this.groups * 2).fill(-1);
    let found: readonly number[] | undefined;
    this.current.size = 0;
    for (let index = from; ; ) {
      if (found === undefined && (!this.anchored || index === 0)) {
        this.follow(this.current, start, empty, text, index);
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
        const instruction = this.program[this.current.states[thread] as number] as Instruction;
        if (instruction.code === 'match') {
          // Threads behind have a lower priority.
          found = slots;
          break;
        }
        if (atEnd) continue;
        if (instruction.code === 'rune' ? instruction.rune === rune : accepts(instruction, rune)) {
          this.follow(this.next, (instruction as { next: number }).next, slots, text, following);
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
      const instruction = this.program[at] as Instruction;
      list.add(at, held);
      switch (instruction.code) {
        case 'split':
          stack.push(held, instruction.other, held, instruction.next);
          break;
        case 'save': {
          this.copied += held.length;
          const changed = held.slice();
          changed[instruction.slot] = index;
          stack.push(changed, instruction.next);
          break;
        }
        case 'assertion':
          if (holds(instruction.assertion, text, index)) stack.push(held, instruction.next);
          break;
      }
    }
  }
}

function accepts(instruction: Instruction, rune: number): boolean {
  return instruction.code === 'class' && instruction.test(rune);
}

function holds(assertion: Assertion, text: string, index: number): boolean {
  switch (assertion) {
    case 'textStart':
      return index === 0;
    case 'textEnd':
      return index === text.length;
    case 'lineStart':
      return index === 0 || text[index - 1] === '\n';
    case 'lineEnd':
      return index === text.length || text[index] === '\n';
    case 'boundary':
      return isWord(text, index - 1) !== isWord(text, index);
    case 'inside':
      return isWord(text, index - 1) === isWord(text, index);
  }
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

/** Reports whether each match starts at the start of the text, so that no other start is tried. */
function startsAtTextStart(program: readonly Instruction[]): boolean {
  let instruction = program[program.length - 1];
  while (instruction?.code === 'save') instruction = program[instruction.next];
  return instruction?.code === 'assertion' && instruction.assertion === 'textStart';
}
