import { commentLines, countCommentLines } from './comment-lines.js';
import { field, isNull, scalarText } from './fields.js';
import { type FieldKeys, findMergeKeys, ListKeys } from './merge-keys.js';
import { documentRoot, type ResourceNode, STYLE } from './node.js';

type Keys = FieldKeys | ListKeys | undefined;
/** Undefined: as kyaml. */
type Lost = LostComments | undefined;

export interface CopyOptions {
  /**
   * Whether comments also go to other fields, as in kyaml: with the index of a list to another item, and where a list or
   * a map changed its style, to a field below.
   */
  asKyaml?: boolean;
}

/**
 * Copies comments to the same fields of another version of a resource, where they have none: after a function that lost
 * them. One that the other version has in another place is not lost. Items of a list are matched by index and, in types of
 * Kubernetes, also by their merge keys, as kyaml does. Does not change `from`. Where the kind of a value changed, its
 * comments stay away; kyaml fails.
 */
export function copyComments(
  from: ResourceNode,
  to: ResourceNode,
  { asKyaml = false }: CopyOptions = {},
): void {
  copyAll(from, to, asKyaml ? undefined : new LostComments(from, to));
}

/** The lines of comments that a tree has more often than its other version. */
class LostComments {
  private readonly counts: Map<string, number>;

  constructor(from: ResourceNode, to: ResourceNode) {
    this.counts = countCommentLines(from, to);
  }

  /** Whether a line of a comment is lost; it then no longer is. */
  take(text: string): boolean {
    const lines = commentLines(text);
    if (!lines.some((line) => this.counts.get(line)! > 0)) return false;
    for (const line of lines) this.counts.set(line, this.counts.get(line)! - 1);
    return true;
  }
}

function copyAll(from: ResourceNode, to: ResourceNode, lost: Lost): void {
  copyOwn(from, to, lost);
  copyBelow(documentRoot(from), documentRoot(to), undefined, lost);
}

function copyOwn(from: ResourceNode, to: ResourceNode, lost: Lost): void {
  for (const place of ['line', 'head', 'foot'] as const) {
    if (to[place] !== '' || from[place] === '') continue;
    if (lost === undefined || lost.take(from[place])) to[place] = from[place];
  }
}

/** Their own comments have been copied. */
function copyBelow(from: ResourceNode | undefined, to: ResourceNode, keys: Keys, lost: Lost): void {
  if (from === undefined || to.kind === 'scalar') unfold(to);
  if (from === undefined) return;
  const kind = isNull(from) ? to.kind : from.kind;
  if (kind !== to.kind) return;
  if (kind === 'map') copyMap(from, to, keys ?? findMergeKeys(isNull(from) ? to : from), lost);
  else if (kind === 'list') {
    copyByIndex(from, to, lost);
    if (keys instanceof ListKeys) copyByKeys(from, to, keys, lost);
    if (lost !== undefined) for (const item of to.content) if (isBlock(item)) item.line = '';
  }
}

/** go-yaml writes a comment beside a folded scalar in the wrong place, so kyaml puts the scalar in quotes. */
function unfold(node: ResourceNode): void {
  if (node.kind === 'scalar' && node.style === STYLE.folded) node.style = STYLE.doubleQuoted;
}

function copyPair(from: ResourceNode, to: ResourceNode, keys: Keys, lost: Lost): void {
  const kind = isNull(from) ? to.kind : from.kind;
  if (kind === 'alias' || (kind !== to.kind && !isNull(to))) return;
  copyOwn(from, to, lost);
  copyBelow(from, to, keys, lost);
}

/** The writer leaves the comment on the line of a field only here: of a collection, it writes others on a line below. */
function keepOnLine(key: ResourceNode, value: ResourceNode): void {
  const [place, other] = isBlock(value) ? [key, value] : [value, key];
  if (other.line === '' || (value.kind === 'scalar' && place.line === '')) return;
  if (place.line === '') place.line = other.line;
  other.line = '';
}

function isBlock({ kind, style, content }: ResourceNode): boolean {
  return (kind === 'map' || kind === 'list') && (style & STYLE.flow) === 0 && content.length > 0;
}

function copyMap(from: ResourceNode, to: ResourceNode, keys: Keys, lost: Lost): void {
  const { content } = to;
  const fields = keys instanceof ListKeys ? undefined : keys;
  const find = keyFinder(from);
  for (let i = 0; i + 1 < content.length; i += 2) {
    const key = content[i]!;
    // Most functions keep the order.
    const index = from.content[i]?.value === key.value ? i : find(key.value);
    if (index === -1) copyBelow(undefined, content[i + 1]!, undefined, lost);
    else {
      copyOwn(from.content[index]!, key, lost);
      const below = fields !== undefined && Object.hasOwn(fields, key.value) ? fields[key.value] : undefined;
      copyPair(from.content[index + 1]!, content[i + 1]!, below, lost);
      if (lost !== undefined) keepOnLine(key, content[i + 1]!);
    }
  }
}

/** Larger maps get an index. */
const LARGE = 64;

function keyFinder(map: ResourceNode): (name: string) => number {
  if (map.content.length < LARGE) return (name) => keyIndex(map, name);
  let indexes: Map<string, number> | undefined;
  return (name) => {
    if (indexes === undefined) {
      indexes = new Map();
      for (let i = map.content.length - 2; i >= 0; i -= 2) indexes.set(map.content[i]!.value, i);
    }
    return indexes.get(name) ?? -1;
  };
}

function keyIndex(map: ResourceNode, name: string): number {
  for (let i = 0; i + 1 < map.content.length; i += 2) if (map.content[i]!.value === name) return i;
  return -1;
}

function copyByIndex(from: ResourceNode, to: ResourceNode, lost: Lost): void {
  const length = Math.min(from.content.length, to.content.length);
  for (let i = 0; i < length; i++) {
    const [item, other] = [from.content[i]!, to.content[i]!];
    if (item.value !== other.value) continue;
    if (lost === undefined || isSameItem(item, other, from.content.length === to.content.length)) {
      copyAll(item, other, lost);
    }
  }
}

/** Reports whether items at the same index are versions of one item, and not those before and after a removed one. */
function isSameItem(item: ResourceNode, other: ResourceNode, hasSameLength: boolean): boolean {
  const [name, otherName] = [item, other].map((one) => scalarText(field(one, 'name')));
  return name === otherName && (name !== undefined || hasSameLength || item.kind === 'scalar');
}

function copyByKeys(from: ResourceNode, to: ResourceNode, { keys, item }: ListKeys, lost: Lost): void {
  const identities: string[][] = [];
  const seen = new Set<string>();
  for (const node of [...from.content, ...to.content]) {
    const values = keys.map((key) => keyValue(node, key));
    const identity = JSON.stringify(values);
    if (!seen.has(identity)) identities.push(values);
    seen.add(identity);
  }
  if (keys.length > 1 && identities.length <= MAX_JOINED) joinIdentities(identities);
  const fromItems = itemIndex(from, keys);
  const toItems = itemIndex(to, keys);
  for (const values of identities) {
    const a = fromItems.find(values);
    const b = toItems.find(values);
    if (a !== undefined && b !== undefined) copyPair(a, b, item, lost);
  }
}

function keyValue(node: ResourceNode, key: string): string {
  if (key === '') return node.value;
  const index = node.kind === 'map' ? keyIndex(node, key) : -1;
  return index === -1 || isNull(node.content[index + 1]) ? '' : node.content[index + 1]!.value;
}

/** The first item with these values. A value that is empty is not compared, unless all are. */
function itemIndex(
  list: ResourceNode,
  keys: readonly string[],
): { find(values: string[]): ResourceNode | undefined } {
  const indexes = new Map<string, Map<string, ResourceNode>>();
  return {
    find(values) {
      const used = keys.filter((_, i) => values[i] !== '' || values.every((value) => value === ''));
      const name = used.join(' ');
      let items = indexes.get(name);
      if (items === undefined) {
        items = new Map();
        for (const item of list.content) {
          if (!used.every((key) => key === '' || keyIndex(item, key) !== -1)) continue;
          const identity = JSON.stringify(used.map((key) => keyValue(item, key)));
          if (!items.has(identity)) items.set(identity, item);
        }
        indexes.set(name, items);
      }
      return items.get(JSON.stringify(used.map((key) => values[keys.indexOf(key)])));
    },
  };
}

/** All are compared with each other. */
const MAX_JOINED = 500;

/** Two identities that differ only in values that one of them has not are the same. */
function joinIdentities(identities: string[][]): void {
  for (let i = 0; i < identities.length; i++) {
    for (let j = 0; j < identities.length; j++) {
      const joined = join(identities[i]!, identities[j]!);
      if (joined === undefined) continue;
      identities[i] = joined;
      identities[j] = joined;
    }
  }
}

function join(a: readonly string[], b: readonly string[]): string[] | undefined {
  if (!a.some((value, i) => value === b[i])) return undefined;
  if (a.some((value, i) => value !== b[i] && value !== '' && b[i] !== '')) return undefined;
  return a.map((value, i) => (value === '' ? b[i]! : value));
}
