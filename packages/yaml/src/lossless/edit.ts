import {
  type Document,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  type Node,
  Pair,
  parseDocument,
  Scalar,
  visit,
  YAMLMap,
  YAMLSeq,
} from 'yaml';
import { LOSSLESS_LIMITS } from './read.js';
import type { YamlChange } from './splice.js';
import { isCertainlyText, type YamlList, type YamlMap, type YamlNode, type YamlScalar } from './tree.js';

export type { YamlChange } from './splice.js';

/**
 * Writes a change into the text of one block-style document: comments, quotes, and the order of keys remain where the
 * values remain. Returns undefined if the text cannot be edited; then `writeYamlTree` writes it without comments.
 */
export function editYaml(text: string, { before, after, originOf }: YamlChange): string | undefined {
  // Without types: every plain scalar is written as it was. A key that occurs twice is an error.
  const options = { schema: 'failsafe', logLevel: 'silent', prettyErrors: false } as const;
  const document = parseDocument(text, options);
  if (document.errors.length > 0 || document.contents === null) return undefined;
  const paired = new Map<YamlNode, Node>();
  if (!pair(before, document.contents as Node, paired, 0)) return undefined;
  if (/:[ \t]+#/.test(text)) keepKeyComments(document, text);
  document.contents = new Editor(paired, originOf).node(after, document.contents as Node) as never;
  return document.toString({
    lineWidth: 0,
    indentSeq: hasIndentedLists(text),
    flowCollectionPadding: /\{ /.test(text),
  });
}

/** Pairs nodes of two trees of the same text. Returns false for what the tree does not have, such as aliases. */
function pair(tree: YamlNode, node: Node, paired: Map<YamlNode, Node>, depth: number): boolean {
  if (depth > LOSSLESS_LIMITS.maxDepth || node.anchor !== undefined) return false;
  paired.set(tree, node);
  // A library that reads another value would write it.
  if (tree.kind === 'scalar') return isScalar(node) && String(node.value ?? '') === tree.value;
  if (tree.kind === 'list') {
    return (
      isSeq(node) &&
      node.items.length === tree.items.length &&
      tree.items.every((item, index) => pair(item, node.items[index] as Node, paired, depth + 1))
    );
  }
  return (
    isMap(node) &&
    node.items.length === tree.entries.length &&
    tree.entries.every(([key, value], index) => {
      const { key: other, value: child } = node.items[index]!;
      return isScalar(other) && other.value === key.value && pair(value, asNode(child), paired, depth + 1);
    })
  );
}

/** Gives `key: # comment` before a block to its key: the library takes it for a comment of the block, below the key. */
function keepKeyComments(document: Document.Parsed, text: string): void {
  visit(document, {
    Pair(_, { key, value }) {
      if (!isScalar(key) || !isCollection(value) || value.flow === true) return;
      const [first = '', ...rest] = value.commentBefore?.split('\n') ?? [];
      const afterKey = /[ \t]*:[ \t]+#([^\r\n]*)/y;
      afterKey.lastIndex = key.range?.[1] ?? text.length;
      if (first === '' || afterKey.exec(text)?.[1] !== first) return;
      key.comment = first;
      value.commentBefore = rest.length === 0 ? null : rest.join('\n');
    },
  });
}

function asNode(value: unknown): Node {
  return (value ?? new Scalar('')) as Node;
}

class Editor {
  readonly #paired: ReadonlyMap<YamlNode, Node>;
  readonly #originOf: YamlChange['originOf'];
  readonly #used = new Set<Node>();

  constructor(paired: ReadonlyMap<YamlNode, Node>, originOf: YamlChange['originOf']) {
    this.#paired = paired;
    this.#originOf = originOf;
  }

  /** Returns the node of a value. `old` is the node in its place, whose comments it takes over. */
  node(value: YamlNode, old: Node | undefined): Node {
    const same = this.#paired.get(value);
    if (same !== undefined) {
      if (this.#used.has(same)) return this.#copy(value, same);
      this.#used.add(same);
      return same;
    }
    if (value.kind === 'scalar') return this.#scalar(value, old);
    const own = this.#origin(value);
    const origin = own ?? (old !== undefined && !this.#used.has(old) ? old : undefined);
    if (value.kind === 'map') return this.#map(value, isMap(origin) ? origin : undefined);
    return this.#list(value, isSeq(origin) ? origin : undefined);
  }

  #origin(value: YamlNode): Node | undefined {
    const before = this.#originOf(value);
    const node = before === undefined ? undefined : this.#paired.get(before);
    return node === undefined || this.#used.has(node) ? undefined : node;
  }

  /** The value occurs twice. */
  #copy(value: YamlNode, node: Node): Node {
    const copy = node.clone() as Node;
    if (value.kind === 'scalar') this.#used.add(copy);
    return copy;
  }

  #scalar(value: YamlScalar, old: Node | undefined): Node {
    const node = isScalar(old) && !this.#used.has(old) ? old : new Scalar('');
    this.#used.add(node);
    const style = chooseStyle(value, node.type);
    node.value = value.value;
    if (style === undefined) delete node.type;
    else node.type = style;
    delete node.tag;
    return node;
  }

  #map(value: YamlMap, origin: YAMLMap | undefined): Node {
    const node = origin ?? new YAMLMap();
    this.#used.add(node);
    const old = new Map(node.items.map((item) => [isScalar(item.key) ? item.key.value : undefined, item]));
    const wanted = new Map(value.entries.map(([key, child]) => [key.value, child]));
    const kept = node.items.filter((item) => isScalar(item.key) && wanted.has(item.key.value as string));
    for (const item of kept) {
      const child = wanted.get((item.key as Scalar<string>).value)!;
      item.value = this.node(child, item.value === null ? undefined : (item.value as Node));
    }
    const added = value.entries.filter(([key]) => !old.has(key.value));
    node.items = [...kept, ...added.map(([key, child]) => this.#entry(key, child))];
    if (node.items.length > 0 && origin !== undefined && old.size === 0) node.flow = false;
    return node;
  }

  #entry(key: YamlScalar, child: YamlNode): Pair {
    return new Pair(this.#scalar(key, undefined), this.node(child, undefined));
  }

  #list(value: YamlList, origin: YAMLSeq | undefined): Node {
    const node = origin ?? new YAMLSeq();
    this.#used.add(node);
    const old = node.items as Node[];
    const claimed = new Set<Node>();
    for (const item of value.items) {
      const found = this.#paired.get(item) ?? this.#origin(item);
      if (found !== undefined) claimed.add(found);
    }
    const free = old.filter((item) => !claimed.has(item));
    const items = value.items.map((item, index) => {
      if (this.#paired.has(item) || this.#origin(item) !== undefined) return this.node(item, undefined);
      const equal = free.findIndex(
        (one) => isScalar(one) && item.kind === 'scalar' && one.value === item.value,
      );
      const place = old[index];
      const at = equal !== -1 ? equal : place === undefined ? -1 : free.indexOf(place);
      return this.node(item, at === -1 ? undefined : free.splice(at, 1)[0]);
    });
    if (items.length > 0 && old.length === 0) node.flow = false;
    node.items = items;
    return node;
  }
}

function chooseStyle(
  { value, plain, literal }: YamlScalar,
  old: Scalar.Type | undefined,
): Scalar.Type | undefined {
  if (plain) return 'PLAIN';
  if (value.includes('\n') && (literal === true || old === undefined || old === 'BLOCK_LITERAL'))
    return 'BLOCK_LITERAL';
  if (old === 'QUOTE_SINGLE' || old === 'QUOTE_DOUBLE') return old;
  return isCertainlyText(value) ? 'PLAIN' : 'QUOTE_DOUBLE';
}

/** Reports whether the first list below a key is indented. Without a list: as kustomize writes. */
function hasIndentedLists(text: string): boolean {
  const found = /^([ \t]*)(?:- )*[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\n(?:[ \t]*(?:#[^\n]*)?\n)*([ \t]*)- /m.exec(
    text,
  );
  return found !== null && found[2]!.length > found[1]!.length;
}
