import {
  EVENT_ID,
  type Event,
  getScalarValue,
  parseEvents,
  SCALAR_STYLE,
  type ScalarEvent,
  YAMLException,
} from 'js-yaml';
import { YamlError } from '../error.js';
import { decodeUtf8 } from '../read/source.js';
import { indentLastQuotes } from './last-quotes.js';
import type { YamlList, YamlMap, YamlNode, YamlScalar } from './tree.js';

export const LOSSLESS_LIMITS = {
  /** Nested collections. Schemas in CustomResourceDefinitions reach 40. */
  maxDepth: 200,
  /**
   * Nodes that the aliases of a text expand to, in all its documents. Some emitters write one for every value that
   * occurs twice.
   */
  maxAliased: 100_000,
} as const;

/** Parses a text with one document; undefined if the document is empty. Throws `invalid-document`. */
export function readYamlTree(input: Uint8Array | string, name: string): YamlNode | undefined {
  const [first, ...others] = readYamlTrees(input, name);
  if (others.length > 0) throw invalid(name, `it has ${others.length + 1} documents, expected one`);
  return first;
}

/** Parses all documents of a text, without those that are empty. Throws `invalid-document`. */
export function readYamlTrees(input: Uint8Array | string, name: string): YamlNode[] {
  const text = indentLastQuotes(typeof input === 'string' ? input : decode(input, name));
  let events: Event[];
  try {
    // The library counts the document too.
    events = parseEvents(text, { maxDepth: LOSSLESS_LIMITS.maxDepth + 1 });
  } catch (error) {
    if (!(error instanceof YAMLException)) throw invalid(name, 'the text is not valid YAML', error);
    const line = error.mark === null || error.mark === undefined ? '' : `line ${error.mark.line + 1}: `;
    throw invalid(name, `${line}${error.reason}`, error);
  }
  return new TreeBuilder(text, name).build(events);
}

function decode(input: Uint8Array, name: string): string {
  const decoded = decodeUtf8(input);
  if ('text' in decoded) return decoded.text;
  throw invalid(name, 'it is not UTF-8');
}

function invalid(name: string, reason: string, cause?: unknown): YamlError {
  return new YamlError(`cannot read ${name}: ${reason}`, { cause });
}

/** A collection whose end has not been reached. */
interface Frame {
  node: YamlMap | YamlList | { kind: 'document'; content?: YamlNode };
  /** Of a mapping: the key whose value comes next. */
  key?: YamlScalar;
  anchor: string | undefined;
  /** Nodes in it, those of its aliases included. */
  size: number;
}

/** Without recursion, which hostile text would use up. */
class TreeBuilder {
  readonly #text: string;
  readonly #name: string;
  readonly #frames: Frame[] = [];
  #anchors = new Map<string, { node: YamlNode; size: number }>();
  #aliased = 0;

  constructor(text: string, name: string) {
    this.#text = text;
    this.#name = name;
  }

  build(events: readonly Event[]): YamlNode[] {
    const documents: YamlNode[] = [];
    for (const event of events) {
      switch (event.type) {
        case EVENT_ID.DOCUMENT:
          // A handle for tags would have to be copied with every part of the document.
          if (event.directives.some(({ kind }) => kind === 'tag'))
            throw invalid(this.#name, 'the directive %TAG is not supported');
          this.#anchors = new Map();
          this.#frames.push({ node: { kind: 'document' }, size: 0, anchor: undefined });
          break;
        case EVENT_ID.POP: {
          const { node, anchor, size } = this.#frames.pop()!;
          if (node.kind !== 'document') this.#close(node, anchor, size);
          else if (node.content !== undefined && !isEmptyDocument(node.content)) documents.push(node.content);
          break;
        }
        case EVENT_ID.SCALAR:
          this.#scalar(event);
          break;
        case EVENT_ID.ALIAS:
          this.#alias(this.#slice(event.anchorStart, event.anchorEnd)!);
          break;
        default: {
          const tag = this.#slice(event.tagStart, event.tagEnd);
          const anchor = this.#slice(event.anchorStart, event.anchorEnd);
          const node: YamlMap | YamlList =
            event.type === EVENT_ID.MAPPING ? { kind: 'map', entries: [] } : { kind: 'list', items: [] };
          if (tag !== undefined) node.tag = tag;
          this.#frames.push({ node, size: 1, anchor });
        }
      }
    }
    return documents;
  }

  #slice(start: number, end: number): string | undefined {
    return start === -1 ? undefined : this.#text.slice(start, end);
  }

  #scalar(event: ScalarEvent): void {
    const tag = this.#slice(event.tagStart, event.tagEnd);
    const text = this.#slice(event.valueStart, event.valueEnd) ?? '';
    const node: YamlScalar = {
      kind: 'scalar',
      value: getScalarValue(this.#text, event),
      // Nothing that a reader takes for a number or a boolean has several lines.
      plain: event.style === SCALAR_STYLE.PLAIN && !/[\n\r]/.test(text),
    };
    if (event.style === SCALAR_STYLE.LITERAL_BLOCK) node.literal = true;
    if (tag !== undefined) node.tag = tag;
    this.#close(node, this.#slice(event.anchorStart, event.anchorEnd), 1);
  }

  #alias(name: string): void {
    const target = this.#anchors.get(name);
    if (target === undefined)
      throw invalid(this.#name, `the alias *${name.slice(0, 40)} has no anchor before it`);
    this.#aliased += target.size;
    if (this.#aliased > LOSSLESS_LIMITS.maxAliased) {
      throw invalid(this.#name, `its aliases expand to more than ${LOSSLESS_LIMITS.maxAliased} values`);
    }
    this.#add(target.node, target.size);
  }

  #close(node: YamlNode, anchor: string | undefined, size: number): void {
    if (anchor !== undefined) this.#anchors.set(anchor, { node, size });
    this.#add(node, size);
  }

  #add(node: YamlNode, size: number): void {
    const parent = this.#frames.at(-1)!;
    parent.size += size;
    if (parent.node.kind === 'document') parent.node.content = node;
    else if (parent.node.kind === 'list') parent.node.items.push(node);
    else if (parent.key !== undefined) {
      parent.node.entries.push([parent.key, node]);
      delete parent.key;
    } else if (node.kind === 'scalar') parent.key = node;
    else throw invalid(this.#name, 'a key is a collection, expected a string');
  }
}

function isEmptyDocument(node: YamlNode): boolean {
  return (
    node.kind === 'scalar' &&
    node.plain &&
    node.tag === undefined &&
    /^(?:|~|null|Null|NULL)$/.test(node.value)
  );
}
