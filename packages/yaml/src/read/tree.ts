import type { PathSegment } from '../diagnostic.js';
import type { JsonObject, JsonValue } from '../json-value.js';
import { scalarValue } from '../nodes/json.js';
import { type ResourceNode, STYLE } from '../nodes/node.js';
import { LONG_TAG } from '../parse/resolve-tag.js';
import { hasBareTag, valueOffsets } from './locate.js';
import type { Reporter } from './reporter.js';
import { checkPlainScalar, hasType, isPlainNonString, shorten } from './scalars.js';

/** Tags of the YAML core schema. */
const CORE_TAG = /^!!(?:map|seq|str|int|float|bool|null)$/;

/** Converts the nodes of a document to JSON, and reports everything that krmhub rejects. */
export class TreeReader {
  /** Whether a key is not a scalar, so that the value has fewer keys than the text. */
  lacksKeys = false;
  private readonly path: PathSegment[] = [];
  /** Anchored nodes around the current one. */
  private readonly open = new Set<ResourceNode>();
  private aliasDepth = 0;
  private readonly text: string;
  private readonly reporter: Reporter;

  constructor(text: string, reporter: Reporter) {
    this.text = text;
    this.reporter = reporter;
  }

  read(node: ResourceNode): JsonValue {
    if (node.kind === 'alias') return this.readAlias(node);
    // The anchored nodes of an alias were checked at their definition.
    const check = this.aliasDepth === 0;
    if (check && (node.style & STYLE.tagged) !== 0) this.checkTag(node, matchesTag(node));
    if (node.kind === 'scalar') return this.readScalar(node, check);
    if (node.anchor !== '') this.open.add(node);
    const value = node.kind === 'map' ? this.readMap(node, check) : this.readItems(node);
    this.open.delete(node);
    return value;
  }

  private readAlias(node: ResourceNode): JsonValue {
    const name = shorten(node.value);
    const { target } = node;
    if (target === undefined) {
      this.report('yaml/alias', `the alias *${name} has no anchor &${name} before it`, node);
      return null;
    }
    if (this.open.has(target)) {
      this.report('yaml/alias', `the alias *${name} is inside its own anchor`, node);
      return null;
    }
    this.aliasDepth++;
    const value = this.read(target);
    this.aliasDepth--;
    return value;
  }

  private readScalar(node: ResourceNode, check: boolean): JsonValue {
    if (check && node.style === 0) {
      if (hasBareTag(node, this.text)) this.checkUntyped(node);
      else this.checkPlain(node);
    }
    return scalarValue(node);
  }

  private readItems({ content }: ResourceNode): JsonValue[] {
    return content.map((item, index) => {
      this.path.push(index);
      const value = this.read(item);
      this.path.pop();
      return value;
    });
  }

  private readMap({ content }: ResourceNode, check: boolean): JsonObject {
    const object: JsonObject = {};
    const seen = check ? new Map<string, ResourceNode>() : undefined;
    for (let i = 0; i + 1 < content.length; i += 2) {
      const key = content[i]!;
      if (key.kind !== 'scalar') {
        const [start] = valueOffsets(key, this.text);
        this.reporter.report('yaml/non-string-key', 'the key is not a string', start, start + 1, this.path);
        this.lacksKeys = true;
        continue;
      }
      const name = key.value;
      this.path.push(name);
      if (seen === undefined || this.checkKey(key, name, seen)) object[name] = this.read(content[i + 1]!);
      this.path.pop();
    }
    return object;
  }

  /** Reports whether the key is allowed in the object. */
  private checkKey(key: ResourceNode, name: string, seen: Map<string, ResourceNode>): boolean {
    const earlier = seen.get(name);
    if (earlier !== undefined) {
      const { line, column } = this.reporter.position(valueOffsets(earlier, this.text)[0]);
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
    if (key.style !== 0) {
      if ((key.style & STYLE.tagged) !== 0) this.checkTag(key, key.tag === '!!str');
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

  private checkPlain(node: ResourceNode): void {
    const problem = checkPlainScalar(node.value);
    if (problem !== undefined) this.report(problem.code, problem.message, node);
  }

  /** The tag `!` makes every scalar a string, but not in Go. */
  private checkUntyped(node: ResourceNode): void {
    if (node.tag === '!!str' || node.tag === '!!timestamp') return;
    const message = `"${shorten(node.value)}" after ! is a string, and not to Go parsers`;
    this.report('yaml/ambiguous-scalar', message, node);
  }

  private checkTag(node: ResourceNode, matches: boolean): void {
    const { tag } = node;
    if (!CORE_TAG.test(tag)) {
      const long = tag.startsWith('!!') ? `${LONG_TAG}${tag.slice(2)}` : tag;
      this.report('yaml/tag', `the tag ${shorten(long)} is not one of the YAML core schema`, node);
    } else if (!matches) {
      this.report('yaml/tag', `the value does not match its tag ${tag}`, node);
    } else if (tag === '!!int' || tag === '!!float') this.checkPlain(node);
  }

  private report(code: Parameters<Reporter['report']>[0], message: string, node: ResourceNode): void {
    const [start, end] = valueOffsets(node, this.text);
    this.reporter.report(code, message, start, end, this.path);
  }
}

function matchesTag({ kind, tag, value }: ResourceNode): boolean {
  return kind === 'scalar' ? hasType(value, tag) : tag === (kind === 'map' ? '!!map' : '!!seq');
}
