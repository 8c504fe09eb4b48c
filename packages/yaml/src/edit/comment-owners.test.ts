import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { documentRoot, expandAliases, readResources } from '../resources.js';
import { editValues } from '../testing/edit-text.js';
import { Random } from '../testing/random.js';
import { editFile } from './edit-file.js';

const SEEDS = process.env.KRMHUB_TEST_FULL_SIZE === undefined ? 300 : 5_000;

/** Writes maps whose comments say what they belong to: `# at NAME` on its line, `# above NAME` on a line above it. */
class CommentedText {
  private readonly random: Random;
  private count = 0;

  constructor(random: Random) {
    this.random = random;
  }

  private name(): string {
    return `n${++this.count}_`;
  }

  /** A field with a flow collection: in one line, or in several, with comments at all places. */
  flow(column: number): string {
    const { random } = this;
    const key = this.name();
    const isMap = random.chance(0.5);
    const indent = `\n${' '.repeat(column + 1 + random.below(4))}`;
    let text = `${' '.repeat(column)}${key}: ${isMap ? '{' : '['}`;
    let isBroken = random.chance(0.3);
    if (isBroken) text += ` # at ${key}${indent}`;
    const size = 1 + random.below(4);
    for (let i = 0; i < size; i++) {
      const item = this.name();
      if (isBroken && random.chance(0.3)) text += `# above ${item}${indent}`;
      text += isMap ? `${item}: x` : item;
      const isLast = i + 1 === size;
      isBroken = random.chance(0.4);
      const comment = isBroken && random.chance(0.7) ? ` # at ${item}` : '';
      const comma = isLast && random.chance(0.7) ? '' : ',';
      if (comment !== '' && comma !== '' && random.chance(0.2)) text += `${comment}${indent}${comma}`;
      else text += `${comma}${comment}`;
      text += isBroken ? indent : ' ';
    }
    return `${text}${isMap ? '}' : ']'}\n`;
  }

  empty(column: number): string {
    const key = this.name();
    const [open, close] = this.random.pick(['[]', '{}']);
    const inner = this.random.pick(['', ' ', `\n${' '.repeat(column + 1)}# at ${key}\n  `, '\n\n  ']);
    return `${' '.repeat(column)}${key}: ${open}${inner.replace(/\n +$/, `\n${' '.repeat(column + 1)}`)}${close}\n`;
  }

  /** A field with a block map, whose comments can be further left than its keys. */
  block(column: number, depth: number): string {
    const { random } = this;
    const key = this.name();
    let text = `${' '.repeat(column)}${key}: # at ${key}\n`;
    const inner = column + 1 + random.below(4);
    for (let i = random.below(4); i >= 0; i--) {
      const body = this.field(inner, depth + 1);
      const name = /n[0-9]+_/.exec(body)![0];
      if (random.chance(0.4)) text += `${' '.repeat(random.below(inner + 1))}# above ${name}\n`;
      text += body;
    }
    return text;
  }

  field(column: number, depth: number): string {
    const roll = this.random.next();
    if (roll < 0.3 && depth < 3) return this.block(column, depth);
    if (roll < 0.6) return this.flow(column);
    if (roll < 0.7) return this.empty(column);
    const key = this.name();
    return `${' '.repeat(column)}${key}: y # at ${key}\n`;
  }
}

/** What is wrong with the comments of a text, if it still has all names of which a comment speaks. */
function misplaced(text: string): string | undefined {
  const lines = text.split('\n');
  for (const [at, line] of lines.entries()) {
    const [, place, owner] = /# (at|above) (n[0-9]+_)/.exec(line) ?? [];
    if (owner === undefined) continue;
    let from = at;
    if (place === 'above') while (/^ *#/.test(lines[from]!)) from++;
    // In an empty collection, or above a comma.
    else while (/^ *(?:,|#)/.test(lines[from]!)) from--;
    const names = lines[from]!.replace(/#.*/, '').match(/n[0-9]+_|new/g) ?? [];
    if (names.at(place === 'above' ? 0 : -1) !== owner) return `${line}: ${lines[from]}`;
  }
  return undefined;
}

type Value = Record<string, unknown> | unknown[];

/**
 * Removes, adds, or moves something, but empties nothing. What is removed and added in one place is a change of a value,
 * which keeps its comment: each collection changes once.
 */
function change(random: Random, root: Record<string, unknown>, changed: Set<Value>): void {
  const found: Value[] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return;
    found.push(value as Value);
    Object.values(value).forEach(visit);
  };
  visit(root);
  const value = random.pick(found);
  if (changed.has(value)) return;
  changed.add(value);
  const keys = Object.keys(value);
  const at = random.below(keys.length);
  if (Array.isArray(value)) {
    const roll = random.next();
    if (roll < 0.4) value.splice(at, 0, 'new');
    else if (roll < 0.6) value.reverse();
    else if (value.length > 1) value.splice(at, 1);
  } else if (random.chance(0.4) || keys.length === 1) {
    const entries = Object.entries(value);
    for (const key of keys) delete value[key];
    entries.splice(at, 0, ['new', 'new']);
    Object.assign(value, Object.fromEntries(entries));
  } else delete value[keys[at]!];
}

function names(text: string): Set<string> {
  return new Set(text.replace(/#.*/g, '').match(/n[0-9]+_/g));
}

describe('a comment', () => {
  it('stays with what it is about, or goes with it', () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const random = new Random(seed);
      const writer = new CommentedText(random);
      const text = writer.field(0, 0) + writer.block(0, 0) + writer.field(0, 0);
      expect(misplaced(text), text).toBe(undefined);
      let wanted: unknown;
      const changed = new Set<Value>();
      const edited = editValues(text, (value: Record<string, unknown>) => {
        for (let i = random.below(3); i >= 0; i--) change(random, value, changed);
        wanted = value;
      });
      const message = `seed ${seed}\n${text}=====\n${edited.text}`;
      expect(edited.notes, message).toEqual([]);
      expect(misplaced(edited.text), message).toBe(undefined);
      const left = names(edited.text);
      for (const [comment, owner] of text.matchAll(/# (?:at|above) (n[0-9]+_)/g)) {
        expect(edited.text.includes(comment), `${comment}: ${message}`).toBe(left.has(owner!));
      }
      // Stricter on the indentation of flow collections.
      expect(parse(edited.text), message).toEqual(wanted);
    }
  });

  it('that is new changes nothing else', () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const random = new Random(seed);
      const writer = new CommentedText(random);
      const text = `anchor: &x {a:   1}\n${writer.block(0, 0)}${writer.empty(0)}last: *x\nend: 1\n`;
      const [before] = readResources(text, '');
      const after = before!.node.clone();
      const root = random.chance(0.5) ? documentRoot(after) : expandAliases(documentRoot(after));
      root.content.at(-1)!.line = '# new';
      const edited = editFile({ text, documents: [{ before: before!, after: root }] });
      expect(edited).toEqual({ text: text.replace('end: 1', 'end: 1 # new'), notes: [] });
    }
  });
});
