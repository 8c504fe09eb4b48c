import { isDeepStrictEqual } from 'node:util';
import { KrmhubError } from '@krmhub/schema/error';
import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';
import { type Document, isMap, isScalar, type Node, type Pair, parseAllDocuments, type YAMLMap } from 'yaml';

/**
 * Edits of a YAML or JSON file that leave every other byte as it is: kustomize must see what its user wrote. Each edit
 * is checked: the file that results must hold the same data, but for the edit itself.
 */

export type YamlPath = readonly (string | number)[];
type Mapping = YAMLMap<Node, Node | null>;
type Entry = Pair<Node, Node | null> & { srcToken?: { start?: Token[]; sep?: Token[] } };
interface Token {
  type: string;
  offset: number;
}
/** Plain data, in which every scalar is a string: what a scalar means differs between YAML 1.1 and 1.2. */
export type Data = string | Data[] | { [key: string]: Data } | null;
export type Strings = { readonly [key: string]: string | Strings };

export class YamlFile {
  readonly #text: string;
  /** For messages. */
  readonly #name: string;
  readonly #documents: Document.Parsed[];
  readonly #expected: Data[];
  readonly #changes: { start: number; end: number; text: string }[] = [];

  constructor(text: string, name: string) {
    this.#text = text;
    this.#name = name;
    this.#documents = readDocuments(text);
    const problem = this.#documents.flatMap(({ errors }) => errors)[0];
    if (problem !== undefined)
      throw this.#uneditable(`it is not valid YAML: ${problem.message.split('\n')[0]}`);
    try {
      this.#expected = this.#documents.map(plainData);
    } catch {
      throw this.#uneditable('its aliases are too large or recursive');
    }
  }

  /** The name of an entry at the top level as it is written: like Go's JSON, kustomize reads any case. */
  #written(document: number, key: string): string {
    const keys = this.#mapping(document, []).items.map(keyText);
    return keys.find((one) => one?.toLowerCase() === key.toLowerCase()) ?? key;
  }

  /** Removes an entry at the top level. The lines after it keep their numbers. */
  remove(document: number, name: string): void {
    const mapping = this.#mapping(document, []);
    const key = this.#written(document, name);
    const at = mapping.items.findIndex((entry) => keyText(entry) === key);
    if (at === -1) return;
    const start = keyStart(mapping.items[at]!);
    const next = mapping.items[at + 1];
    const previous = mapping.items[at - 1];
    if (next !== undefined) {
      const end = keyStart(next);
      const indent = mapping.flow === true ? '' : ' '.repeat(this.#column(end));
      const removed = this.#lineBreaks(start, end);
      this.#change(start, end, removed === '' ? '' : removed + indent);
    } else if (mapping.flow === true && previous !== undefined) {
      const from = entryEnd(previous);
      const end = entryEnd(mapping.items[at]!);
      this.#change(from, end, this.#lineBreaks(from, end));
    } else {
      const end = entryEnd(mapping.items[at]!);
      const isAlone = previous === undefined && mapping.flow !== true;
      this.#change(start, end, (isAlone ? '{}' : '') + this.#lineBreaks(start, end));
    }
    delete (this.#expected[document] as Record<string, Data>)[key];
  }

  /** Sets strings in nested mappings, which it creates where they are missing. */
  merge(document: number, path: YamlPath, strings: Strings): void {
    const mapping = this.#mapping(document, path);
    mergeData(dataAt(this.#expected[document], path) as Record<string, Data>, strings);
    this.#merge(mapping, strings);
  }

  /** The data at a path, with every scalar as a string; undefined if there is none. */
  data(document: number, path: YamlPath): Data | undefined {
    return dataAt(this.#expected[document], path);
  }

  /** The list of strings of an entry at the top level; undefined if it is another list, or missing. */
  list(document: number, key: string): readonly string[] | undefined {
    const value = dataAt(this.#expected[document], [this.#written(document, key)]);
    return Array.isArray(value) && value.every((item) => typeof item === 'string') ? value : undefined;
  }

  /** Sets a list of strings at the top level. The lines after it keep their numbers if there was one. */
  setList(document: number, name: string, items: readonly string[]): void {
    const mapping = this.#mapping(document, []);
    const key = this.#written(document, name);
    const entry = mapping.items.find((item) => keyText(item) === key);
    const text = `${JSON.stringify(key)}: ${JSON.stringify(items)}`;
    if (entry === undefined) this.#add(mapping, [text]);
    else
      this.#change(
        keyStart(entry),
        entryEnd(entry),
        text + this.#lineBreaks(keyStart(entry), entryEnd(entry)),
      );
    (this.#expected[document] as Record<string, Data>)[key] = [...items];
  }

  /** Returns the file with its edits. */
  result(): string {
    let text = this.#text;
    // From the end on; what replaces text comes before what is inserted in front of it.
    const changes = [...this.#changes].sort((a, b) => b.start - a.start || b.end - a.end);
    for (const { start, end, text: inserted } of changes)
      text = text.slice(0, start) + inserted + text.slice(end);
    if (this.#changes.length === 0) return text;
    const documents = readDocuments(text);
    const isExpected =
      documents.every(({ errors }) => errors.length === 0) &&
      isDeepStrictEqual(documents.map(plainData), this.#expected);
    if (!isExpected) throw this.#uneditable('an anchor, an alias, or an unusual layout prevents the edit');
    return text;
  }

  #mapping(document: number, path: YamlPath): Mapping {
    const root = this.#documents[document];
    const node = path.length === 0 ? root?.contents : root?.getIn(path, true);
    if (!isMap(node)) throw this.#uneditable('it is not a mapping');
    return node as Mapping;
  }

  #merge(mapping: Mapping, strings: Strings): void {
    const missing: string[] = [];
    for (const [key, value] of Object.entries(strings)) {
      const entry = mapping.items.find((item) => keyText(item) === key) as Entry | undefined;
      // JSON is YAML in block style and in flow style.
      if (entry === undefined) missing.push(`${JSON.stringify(key)}: ${JSON.stringify(value)}`);
      else if (typeof value === 'string' || isNull(entry.value)) this.#setValue(entry, JSON.stringify(value));
      else if (isMap(entry.value)) this.#merge(entry.value as Mapping, value);
      else throw this.#uneditable(`${key} is not a mapping`, keyStart(entry));
    }
    if (missing.length > 0) this.#add(mapping, missing);
  }

  /** Adds entries at the start of a mapping. */
  #add(mapping: Mapping, entries: readonly string[]): void {
    const first = mapping.items[0] as Entry | undefined;
    if (mapping.flow === true || first === undefined) {
      const at = mapping.range![0] + 1;
      this.#change(at, at, entries.join(', ') + (first === undefined ? '' : ', '));
      return;
    }
    const at = keyStart(first);
    if (first.srcToken?.start?.some(({ type }) => /^(?:explicit-key-ind|anchor|tag)$/.test(type)) === true)
      throw this.#uneditable('its first key has an anchor, a tag, or a question mark', at);
    const lineBreak = `${this.#text.includes('\r\n') ? '\r\n' : '\n'}${' '.repeat(this.#column(at))}`;
    this.#change(at, at, entries.map((entry) => entry + lineBreak).join(''));
  }

  #setValue(entry: Entry, value: string): void {
    const found = entry.value;
    if (found !== null && !(isScalar(found) && found.source === '')) {
      this.#replaceNode(found, value);
      return;
    }
    if (found !== null && (found as { anchor?: string }).anchor !== undefined)
      throw this.#uneditable('it has an anchor', keyStart(entry));
    const colon = entry.srcToken?.sep?.find(({ type }) => type === 'map-value-ind');
    if (colon === undefined) throw this.#uneditable('a key has no colon', keyStart(entry));
    this.#change(colon.offset + 1, colon.offset + 1, ` ${value}`);
  }

  #replaceNode(node: Node, value: string): void {
    const [start, end] = node.range!;
    // A block scalar includes the break of its last line.
    const breaks = /(?:\r?\n[ \t]*)+$/.exec(this.#text.slice(start, end))?.[0] ?? '';
    this.#change(start, end, value + breaks);
  }

  #lineBreaks(start: number, end: number): string {
    return this.#text.slice(start, end).replace(/[^\n]/g, '');
  }

  #change(start: number, end: number, text: string): void {
    this.#changes.push({ start, end, text });
  }

  /** The spaces before a position in its line; a dash counts as one. */
  #column(at: number): number {
    const before = this.#text.slice(this.#text.lastIndexOf('\n', at - 1) + 1, at).replace(/^\ufeff/, '');
    if (!/^[ -]*$/.test(before) || before.startsWith('---'))
      throw this.#uneditable('a key is not at the start of its line', at);
    return before.length;
  }

  #uneditable(reason: string, offset?: number): KrmhubError {
    const line = offset === undefined ? '' : `:${this.#text.slice(0, offset).split('\n').length}`;
    return new KrmhubError('invalid-document', `cannot edit a copy of ${this.#name}${line}: ${reason}`, {
      hint: 'Use plain block YAML.',
    });
  }
}

/** Documents that hold anything, as `readYaml` counts them. */
function readDocuments(text: string): Document.Parsed[] {
  const options = {
    keepSourceTokens: true,
    schema: 'failsafe',
    uniqueKeys: false,
    logLevel: 'silent',
  } as const;
  const documents: Document.Parsed[] = parseAllDocuments(text, options);
  return documents.filter(({ contents, errors }) => errors.length > 0 || !isNothing(contents));
}

function isNothing(node: Node | null): boolean {
  return node === null || (isScalar(node) && node.type === 'PLAIN' && node.source === '' && !node.anchor);
}

function isNull(node: Node | null): boolean {
  return (
    node === null ||
    (isScalar(node) && node.type === 'PLAIN' && /^(?:~|null|Null|NULL)?$/.test(node.source ?? ''))
  );
}

/** Without shared parts: an alias becomes a copy of what it names. */
function plainData(document: Document.Parsed): Data {
  return JSON.parse(JSON.stringify(document.toJS({ maxAliasCount: DOCUMENT_LIMITS.maxAliases }))) as Data;
}

function keyText({ key }: Pair): string | undefined {
  return isScalar(key) && typeof key.value === 'string' ? key.value : undefined;
}

function keyStart({ key }: Pair<Node, Node | null>): number {
  return key.range![0];
}

function entryEnd(entry: Pair<Node, Node | null>): number {
  const { key, value, srcToken } = entry as Entry;
  const colon = srcToken?.sep?.find(({ type }) => type === 'map-value-ind');
  const afterColon = colon === undefined ? key.range![1] : colon.offset + 1;
  return Math.max(afterColon, value?.range?.[1] ?? 0);
}

function dataAt(root: Data | undefined, path: YamlPath): Data | undefined {
  let data: unknown = root;
  for (const key of path) data = (data as Record<string | number, unknown> | null | undefined)?.[key];
  return data as Data | undefined;
}

function mergeData(data: Record<string, Data>, strings: Strings): void {
  for (const [key, value] of Object.entries(strings)) {
    const found = data[key];
    if (typeof value === 'string') data[key] = value;
    else {
      const inner = typeof found === 'object' && found !== null && !Array.isArray(found) ? found : {};
      data[key] = inner;
      mergeData(inner, value);
    }
  }
}
