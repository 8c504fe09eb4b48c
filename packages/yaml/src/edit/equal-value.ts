import { MAX_LEVELS } from '../limits.js';
import { isAmbiguous } from '../nodes/ambiguous-text.js';
import { documentRoot, type ResourceNode, STYLE, TEXT_STYLES } from '../nodes/node.js';
import { resolveTag } from '../parse/resolve-tag.js';
import { Uneditable } from './uneditable.js';

/** A key of a map and its value; of a merged map, from another map. */
export interface Entry {
  name: string;
  key: ResourceNode;
  value: ResourceNode;
}

/** Entries that merge keys may add up to. */
const MAX_MERGED = 1_000_000;

/** Reports whether two values mean the same, whatever their style and the order of their keys is. */
export function equalValue(before: ResourceNode, after: ResourceNode): boolean {
  return new Meanings().equal(before, after);
}

/** Compares values by meaning. Values that mean the same have the same number, so that aliases are looked at once. */
export class Meanings {
  private readonly numbers = new Map<string, number>();
  private readonly known = new Map<ResourceNode, number>();
  private readonly findsQuotes: boolean;
  private levels = 0;
  private merged = 0;

  /** `findsQuotes`: whether text that gets the quotes it needs is another value than before. */
  constructor({ findsQuotes = false } = {}) {
    this.findsQuotes = findsQuotes;
  }

  equal(before: ResourceNode, after: ResourceNode): boolean {
    const { kind } = before;
    if (kind === after.kind && kind === 'scalar') {
      if (this.getsQuotes(before, after)) return false;
      if (before.value === after.value && before.tag === after.tag) return true;
      return scalarMeaning(before) === scalarMeaning(after);
    }
    const isPlain = kind === 'list' || (kind === 'map' && !isMerged(before) && !isMerged(after));
    if (kind !== after.kind || !isPlain) return this.meaning(before) === this.meaning(after);
    const a = before.content;
    const b = after.content;
    if (a.length !== b.length || collectionTag(before) !== collectionTag(after)) return false;
    return kind === 'list' ? a.every((item, i) => this.equal(item, b[i]!)) : this.equalEntries(a, b);
  }

  /**
   * Whether text without quotes, which readers of YAML 1.1 take for something else, gets quotes. Without a place in a
   * text, a node was made by code, and its quotes say nothing.
   */
  getsQuotes(before: ResourceNode, after: ResourceNode): boolean {
    if (!this.findsQuotes || (after.style & TEXT_STYLES) === 0 || after.start === -1) return false;
    if ((before.style & (TEXT_STYLES | STYLE.tagged)) !== 0 || before.value !== after.value) return false;
    return before.tag === '!!str' && isAmbiguous(before.value);
  }

  private equalEntries(a: readonly ResourceNode[], b: readonly ResourceNode[]): boolean {
    let entries: Map<string, Entry> | undefined;
    for (let i = 0; i + 1 < a.length; i += 2) {
      const name = resolved(a[i]!).value;
      let [key, value] = [b[i], b[i + 1]];
      // Most programs keep the order, or sort the keys.
      if (resolved(b[i]!).value !== name) {
        entries ??= new Map(ownEntries({ content: b }).map((entry) => [entry.name, entry]));
        ({ key, value } = entries.get(name) ?? { key, value: undefined });
      }
      if (value === undefined || this.getsQuotes(a[i]!, key!) || !this.equal(a[i + 1]!, value)) return false;
    }
    return true;
  }

  /** A number that equal values share. Throws Uneditable for an alias inside its own anchor. */
  meaning(node: ResourceNode): number {
    const known = this.known.get(node);
    if (known === -1 || ++this.levels > MAX_LEVELS) throw new Uneditable('an alias is inside its own anchor');
    if (known === undefined) this.known.set(node, -1);
    const number = known ?? this.number(node);
    if (known === undefined) this.known.set(node, number);
    this.levels--;
    return number;
  }

  private number(node: ResourceNode): number {
    switch (node.kind) {
      case 'document':
        return this.meaning(documentRoot(node));
      case 'alias':
        return this.meaning(node.target!);
      case 'scalar':
        return this.numberOf(scalarMeaning(node));
      case 'list':
        return this.numberOf(
          `[${collectionTag(node)} ${node.content.map((item) => this.meaning(item)).join()}`,
        );
      default: {
        const entries = this.entries(node).map(
          ({ name, value }) => `${JSON.stringify(name)}:${this.meaning(value)}`,
        );
        return this.numberOf(`{${collectionTag(node)} ${entries.sort().join()}`);
      }
    }
  }

  private numberOf(text: string): number {
    const number = this.numbers.get(text) ?? this.numbers.size;
    this.numbers.set(text, number);
    return number;
  }

  /** The entries of a map, then those that its merge keys add. */
  entries(map: ResourceNode): Entry[] {
    const own = ownEntries(map);
    if (!own.some(({ key }) => isMergeKey(key))) return own;
    const entries = own.filter(({ key }) => !isMergeKey(key));
    const names = new Set(entries.map(({ name }) => name));
    for (const { key, value } of own) {
      if (!isMergeKey(key)) continue;
      for (const source of mergeSources(value)) {
        for (const entry of this.inherited(source)) {
          if (names.has(entry.name)) continue;
          names.add(entry.name);
          entries.push(entry);
        }
      }
    }
    return entries;
  }

  private inherited(source: ResourceNode): Entry[] {
    if (++this.levels > MAX_LEVELS) throw new Uneditable('merge keys are nested too deep');
    const entries = this.entries(source);
    this.levels--;
    this.merged += entries.length;
    if (this.merged > MAX_MERGED) throw new Uneditable('merge keys expand to too many fields');
    return entries;
  }
}

export function ownEntries({ content }: { content: readonly ResourceNode[] }): Entry[] {
  const entries: Entry[] = [];
  for (let i = 0; i + 1 < content.length; i += 2) {
    entries.push({ name: resolved(content[i]!).value, key: content[i]!, value: content[i + 1]! });
  }
  return entries;
}

/** The maps that a merge key names. */
export function mergeSources(value: ResourceNode): ResourceNode[] {
  const source = resolved(value);
  const maps = source.kind === 'list' ? source.content.map(resolved) : [source];
  if (maps.some(({ kind }) => kind !== 'map'))
    throw new Uneditable('a merge key has a value that is not a map');
  return maps;
}

export function isMergeKey(key: ResourceNode): boolean {
  return key.tag === '!!merge' || (key.value === '<<' && key.tag === '' && (key.style & TEXT_STYLES) === 0);
}

export function isMerged({ content }: ResourceNode): boolean {
  for (let i = 0; i < content.length; i += 2) if (isMergeKey(content[i]!)) return true;
  return false;
}

/** The value that an alias refers to. */
export function resolved(node: ResourceNode): ResourceNode {
  return node.kind === 'alias' ? node.target! : node;
}

/** The tag of a map or list, unless it is the usual one. */
export function collectionTag({ tag }: ResourceNode): string {
  return tag === '!!map' || tag === '!!seq' ? '' : tag;
}

/** The tag of a scalar; nodes that were made by code may have none. */
export function scalarTag({ tag, style, value }: ResourceNode): string {
  if (tag !== '' && tag !== '!') return tag === '!!merge' ? '!!str' : tag;
  return (style & TEXT_STYLES) === 0 ? resolveTag(value) : '!!str';
}

function scalarMeaning(node: ResourceNode): string {
  const tag = scalarTag(node);
  switch (tag) {
    case '!!null':
      return 'null';
    case '!!bool':
      return node.value.toLowerCase();
    case '!!int':
    case '!!float':
      return numberMeaning(node.value.replaceAll('_', '').toLowerCase());
    // Most programs read a time as text.
    case '!!timestamp':
    case '!!str':
      return `"${node.value}`;
    default:
      return `${tag} ${node.value}`;
  }
}

/** Longer ones are not converted from other bases. */
const MAX_DIGITS = 100;

/** Sign, digits and exponent, without zeros at either end: exact for numbers of every size. */
function numberMeaning(text: string): string {
  const based = /^([-+]?)0(?:x([0-9a-f]+)|o?([0-7]+)|b([01]+))$/.exec(text);
  if (based !== null && text.length < MAX_DIGITS) {
    const [, sign, hexadecimal, octal, binary] = based;
    const digits = hexadecimal ? `0x${hexadecimal}` : octal ? `0o${octal}` : `0b${binary}`;
    return numberMeaning(`${sign}${BigInt(digits)}`);
  }
  const decimal = /^([-+]?)([0-9]*)(?:\.([0-9]*))?(?:e([-+]?[0-9]{1,9}))?$/.exec(text);
  if (decimal === null) return `number ${text.replace(/^\+/, '')}`;
  const [, sign, whole = '', fraction = '', exponent = '0'] = decimal;
  let digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return 'number 0';
  let end = digits.length;
  while (digits.charCodeAt(end - 1) === 0x30) end--;
  const power = Number(exponent) - fraction.length + digits.length - end;
  digits = digits.slice(0, end);
  return `number ${sign === '-' ? '-' : ''}${digits}e${power}`;
}
