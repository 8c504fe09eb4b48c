import { isAlias, isMap, isScalar, isSeq, type Node, type Pair, type Scalar, type YAMLMap } from 'yaml';
import type { Path, PathSegment, Range } from '../diagnostic.js';
import type { JsonObject, JsonValue } from '../json-value.js';
import type { YamlLimits } from '../limits.js';
import type { Reporter } from './reporter.js';
import { checkPlainScalar, isPlainNonString, shorten } from './scalars.js';
import type { SourceText } from './source.js';

const CORE_TAG = /^tag:yaml\.org,2002:(?:map|seq|str|int|float|bool|null)$/;
/** The non-specific tag, which makes a scalar a string. */
const NON_SPECIFIC_TAG = '!';

/**
 * Converts composed YAML nodes to JSON, and reports everything that krmhub rejects. The depth of the nodes is already
 * limited.
 */
export class TreeReader {
  private readonly path: PathSegment[] = [];
  /** Null while the anchored node is being read. */
  private readonly anchors = new Map<string, Node | null>();
  private aliasDepth = 0;
  private aliasedNodes = 0;
  private readonly reporter: Reporter;
  private readonly limits: YamlLimits;

  constructor(reporter: Reporter, limits: YamlLimits) {
    this.reporter = reporter;
    this.limits = limits;
  }

  read(node: Node | null): JsonValue {
    if (node === null) return null;
    if (this.aliasDepth > 0 && ++this.aliasedNodes > this.limits.maxAliases) {
      if (this.aliasedNodes === this.limits.maxAliases + 1) {
        const message = `the aliases of this document expand to more than ${this.limits.maxAliases} values`;
        this.report('yaml/too-many-aliases', message, node);
      }
      return null;
    }
    if (isAlias(node)) return this.readAlias(node.source, node);
    // The anchored nodes of an alias were checked at their definition.
    const first = this.aliasDepth === 0;
    if (first) this.checkTag(node);
    const anchor = first && 'anchor' in node ? node.anchor : undefined;
    if (anchor !== undefined) this.anchors.set(anchor, null);
    const value = this.readContent(node, first);
    if (anchor !== undefined) this.anchors.set(anchor, node);
    return value;
  }

  private readContent(node: Node, check: boolean): JsonValue {
    if (isScalar(node)) return this.readScalar(node, check);
    if (isMap(node)) return this.readMap(node, check);
    return isSeq(node) ? this.readItems(node.items) : null;
  }

  private readAlias(name: string, node: Node): JsonValue {
    const anchored = this.anchors.get(name);
    if (anchored === undefined) {
      this.report(
        'yaml/alias',
        `the alias *${shorten(name)} has no anchor &${shorten(name)} before it`,
        node,
      );
      return null;
    }
    if (anchored === null) {
      this.report('yaml/alias', `the alias *${shorten(name)} is inside its own anchor`, node);
      return null;
    }
    this.aliasDepth++;
    const value = this.read(anchored);
    this.aliasDepth--;
    return value;
  }

  private readScalar(node: Scalar, check: boolean): JsonValue {
    if (check && node.type === 'PLAIN' && node.tag === undefined) this.checkPlain(node);
    const { value } = node;
    if (typeof value === 'number') {
      if (value === 0) return 0; // JSON has no negative zero.
      return Number.isFinite(value) ? value : null;
    }
    if (typeof value === 'string' || typeof value === 'boolean') return value;
    return null;
  }

  private readItems(items: readonly unknown[]): JsonValue[] {
    return items.map((item, index) => {
      this.path.push(index);
      const value = this.read(item as Node | null);
      this.path.pop();
      return value;
    });
  }

  private readMap(map: YAMLMap, check: boolean): JsonObject {
    const object: JsonObject = {};
    const nodes = check ? new Map<string, Node>() : undefined;
    for (const pair of map.items as Pair<Node, Node | null>[]) {
      const { key } = pair;
      // With the option stringKeys of the composer, collections and aliases as keys are syntax errors.
      if (!isScalar(key) || typeof key.value !== 'string') continue;
      const name = key.value;
      this.path.push(name);
      if (nodes === undefined || this.checkKey(key, name, nodes)) object[name] = this.read(pair.value);
      this.path.pop();
    }
    return object;
  }

  /** Reports whether the key is allowed in the object. */
  private checkKey(key: Scalar, name: string, seen: Map<string, Node>): boolean {
    if (key.anchor !== undefined) this.anchors.set(key.anchor, key);
    const earlier = seen.get(name);
    if (earlier !== undefined) {
      const { line, column } = this.reporter.position(earlier.range?.[0] ?? 0);
      this.report(
        'yaml/duplicate-key',
        `duplicate key "${shorten(name)}", first used at ${line}:${column}`,
        key,
      );
      return false;
    }
    seen.set(name, key);
    if (name === '__proto__') {
      this.report('yaml/prototype-key', 'the key __proto__ is not allowed', key);
      return false;
    }
    if (key.type !== 'PLAIN' || key.tag !== undefined) {
      this.checkTag(key);
      return true;
    }
    if (name === '<<') {
      this.report('yaml/merge-key', 'merge keys (<<) are not allowed', key);
      return false;
    }
    if (isPlainNonString(name)) {
      const what = name === '' ? 'an empty key' : `the key ${shorten(name)}`;
      this.report('yaml/non-string-key', `${what} is not a string`, key);
    } else this.checkPlain(key);
    return true;
  }

  private checkPlain(node: Scalar): void {
    const problem = checkPlainScalar(node.source ?? '');
    if (problem !== undefined) this.report(problem.code, problem.message, node);
  }

  private checkTag(node: Node): void {
    const { tag } = node as { tag?: string };
    if (tag === undefined || tag === NON_SPECIFIC_TAG) return;
    if (!CORE_TAG.test(tag)) {
      this.report('yaml/tag', `the tag ${shorten(tag)} is not one of the YAML core schema`, node);
      return;
    }
    if (!isScalar(node)) return;
    const kind = tag.slice('tag:yaml.org,2002:'.length);
    if (!hasTaggedType(kind, node.value)) {
      this.report('yaml/tag', `the value does not match its tag !!${kind}`, node);
    } else if (kind === 'int' || kind === 'float') this.checkPlain(node);
  }

  private report(code: Parameters<Reporter['report']>[0], message: string, node: Node): void {
    const [start, end] = node.range ?? [0, 0];
    this.reporter.report(code, message, start, end, this.path);
  }
}

function hasTaggedType(kind: string, value: unknown): boolean {
  if (kind === 'str') return typeof value === 'string';
  if (kind === 'int' || kind === 'float') return typeof value === 'number';
  if (kind === 'bool') return typeof value === 'boolean';
  return kind === 'null' && value === null;
}

/** Returns the range of the node at `path`, or of the nearest enclosing node. */
export function locateNode(
  root: Node | null,
  source: SourceText,
  path: Path,
  target: 'key' | 'value',
): Range | undefined {
  let node: Node | null = root;
  let key: Node | undefined;
  let last: Node | undefined = root ?? undefined;
  let complete = true;
  for (const segment of path) {
    key = undefined;
    if (typeof segment === 'number' && isSeq(node)) {
      node = (node.items[segment] as Node | null | undefined) ?? null;
    } else if (typeof segment === 'string' && isMap(node)) {
      const pair = (node.items as Pair<Node, Node | null>[]).find(
        (item) => isScalar(item.key) && item.key.value === segment,
      );
      key = pair?.key;
      node = pair?.value ?? null;
    } else node = null;
    last = node ?? key ?? last;
    if (node === null) {
      complete = key !== undefined && segment === path.at(-1);
      break;
    }
  }
  const range = (complete && target === 'key' && key !== undefined ? key : last)?.range;
  return range === undefined || range === null ? undefined : source.range(range[0], range[1]);
}
