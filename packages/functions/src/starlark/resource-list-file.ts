import {
  indentLastQuotes,
  readYamlTree,
  spliceYaml,
  writeYamlTree,
  type YamlNode,
  yamlField,
  yamlText,
} from '@krmhub/schema/resources/lossless-yaml';
import { Dict, EvaluationError, List, Tuple, typeName, type Value } from '@krmhub/starlark';
import { editYaml } from '@krmhub/yaml/lossless/edit';
import { findItemSources, type ItemSources } from './item-sources.js';
import { type TreeWriter, YamlValues } from './yaml-values.js';

const KIND = 'ResourceList';
const WHAT = 'the ResourceList';

/**
 * A ResourceList as a script sees it (`ctx.resource_list`), and its way back: an item that the script left as it was
 * keeps its bytes, a changed one its comments, its quotes, and the order of its fields.
 */
export class ResourceListFile {
  /** A dict with `apiVersion`, `kind`, `items`, and `functionConfig`. */
  readonly value: Dict;
  readonly #text: string;
  readonly #tree: YamlNode;
  readonly #values = new YamlValues();

  /** Throws `invalid-document`. */
  constructor(input: Uint8Array) {
    const tree = readYamlTree(input, WHAT);
    if (tree?.kind !== 'map' || yamlText(tree, 'kind') !== KIND) {
      throw new EvaluationError('the input is not a ResourceList');
    }
    this.#text = indentLastQuotes(new TextDecoder().decode(input));
    this.#tree = tree;
    this.value = this.#values.valueOf(tree) as Dict;
    // Scripts append to it.
    if (!(this.value.get('items') instanceof List)) this.value.set('items', new List());
  }

  /** Returns the text after a script. Throws EvaluationError for values that YAML does not have. */
  write(): string {
    const writer = this.#values.writer();
    const items = readItems(this.value).map((item, index) => {
      const name = `ctx.resource_list["items"][${index}]`;
      if (!(item instanceof Dict)) {
        throw new EvaluationError(`cannot write ${name}: it is a ${typeName(item)}, expected a dict`);
      }
      return writer.tree(item, name);
    });
    const results = this.value.get('results') ?? null;
    const written = results === null ? undefined : writer.tree(results, 'ctx.resource_list["results"]');
    const old = yamlField(this.#tree, 'items');
    const before = old?.kind === 'list' ? old.items : [];
    const isSame =
      old?.kind === 'list' &&
      written === yamlField(this.#tree, 'results') &&
      items.length === before.length &&
      items.every((item, index) => item === before[index]);
    return isSame ? this.#text : this.#assemble(items, before, written, writer);
  }

  /** Returns the ResourceList as it was, with results: the output of a script that failed. */
  withResults(results: YamlNode): string {
    const { entries } = this.#tree as { entries: [key: YamlNode, value: YamlNode][] };
    const tail = writeYamlTree(mapNode('results', results));
    const isBlock = /^(?:apiVersion|kind|items)[ \t]*:/m.test(this.#text) && this.#text.endsWith('\n');
    const hasResults = entries.some(([key]) => key.kind === 'scalar' && key.value === 'results');
    if (isBlock && !hasResults && !hasSecondMark(this.#text)) return this.#text + tail;
    return `${this.#head()}items: []\n${tail}`;
  }

  #head(): string {
    const apiVersion = yamlText(this.#tree, 'apiVersion') ?? 'config.kubernetes.io/v1';
    return `${writeYamlTree(mapNode('apiVersion', { kind: 'scalar', value: apiVersion, plain: false }))}kind: ${KIND}\n`;
  }

  #assemble(
    items: readonly YamlNode[],
    before: readonly YamlNode[],
    results: YamlNode | undefined,
    writer: TreeWriter,
  ): string {
    const found = findItemSources(this.#text);
    const sources = found?.items.length === before.length ? found : undefined;
    const places = new Map(before.map((node, index) => [node, index]));
    const used = new Set<number>();
    const pieces = [this.#head(), items.length === 0 ? 'items: []\n' : 'items:\n'];
    for (const item of items) {
      const place = places.get(item) ?? places.get(writer.originOf(item) ?? item);
      const isFree = place !== undefined && !used.has(place);
      if (isFree) used.add(place);
      pieces.push(itemText(item, isFree ? before[place]! : undefined, isFree ? place : -1, sources, writer));
    }
    const config = yamlField(this.#tree, 'functionConfig');
    if (config !== undefined) pieces.push(writeYamlTree(mapNode('functionConfig', config)));
    if (results !== undefined) pieces.push(writeYamlTree(mapNode('results', results)));
    return pieces.join('');
  }
}

/** Reports whether a text has the end of a document, or a start after content. */
function hasSecondMark(text: string): boolean {
  const content = text.search(/^[^#\s]/m);
  const start = /^---/gm;
  start.lastIndex = content + 1;
  return /^\.\.\./m.test(text) || (content !== -1 && start.test(text));
}

function itemText(
  item: YamlNode,
  before: YamlNode | undefined,
  place: number,
  sources: ItemSources | undefined,
  writer: TreeWriter,
): string {
  const source = sources?.items[place];
  const indent = sources?.indent ?? 0;
  if (source === undefined || before === undefined) return asItem(writeYamlTree(item), indent);
  if (item === before) return source.lead + source.text;
  const own = source.text.replace('-', ' ');
  const change = { before, after: item, originOf: writer.originOf };
  const spliced = spliceYaml(own, change);
  if (spliced !== undefined) return `${source.lead}${' '.repeat(indent)}-${spliced.slice(indent + 1)}`;
  const edited = editYaml(own, change);
  return source.lead + asItem(edited ?? writeYamlTree(item), indent);
}

/** Indents a document as an item of a list. */
function asItem(text: string, indent: number): string {
  const space = ' '.repeat(indent);
  const body = text.replace(/^(?=[^\r\n])/gm, `${space}  `);
  return `${space}- ${body.slice(indent + 2)}`;
}

function readItems(list: Dict): readonly Value[] {
  const items = list.get('items') ?? null;
  if (items instanceof List || items instanceof Tuple) return items.items;
  throw new EvaluationError(
    `cannot write ctx.resource_list: its items are ${items === null ? 'None' : `a ${typeName(items)}`}, expected a list`,
  );
}

function mapNode(name: string, value: YamlNode): YamlNode {
  return { kind: 'map', entries: [[{ kind: 'scalar', value: name, plain: true }, value]] };
}
