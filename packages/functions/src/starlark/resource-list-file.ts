import type { JsonValue } from '@krmhub/schema/definition';
import { editFile } from '@krmhub/schema/edit-yaml';
import {
  documentRoot,
  fromJson,
  ResourceNode,
  readDocument,
  resourceIdentity,
  setField,
} from '@krmhub/schema/resource-yaml';
import { Dict, EvaluationError, List, Tuple, typeName, type Value } from '@krmhub/starlark';
import { decodeUtf8 } from '@krmhub/yaml/read/source';
import { YamlValues } from './yaml-values.js';

const KIND = 'ResourceList';
const WHAT = 'the ResourceList';

/**
 * A ResourceList as a script sees it (`ctx.resource_list`), and its way back: what the script left as it was keeps its
 * bytes.
 */
export class ResourceListFile {
  /** A dict with `apiVersion`, `kind`, `items`, and `functionConfig`. */
  readonly value: Dict;
  readonly #text: string;
  readonly #document: ResourceNode;
  readonly #values = new YamlValues();

  /** Throws `invalid-document`. */
  constructor(input: Uint8Array) {
    const decoded = decodeUtf8(input);
    if ('problem' in decoded) throw new EvaluationError(`cannot read ${WHAT}: it is not UTF-8`);
    this.#text = decoded.text;
    const document = readDocument(this.#text.replaceAll('\r\n', '\n'), WHAT);
    if (document === undefined || resourceIdentity(document).kind !== KIND) {
      throw new EvaluationError('the input is not a ResourceList');
    }
    this.#document = document;
    this.value = this.#values.valueOf(documentRoot(document)) as Dict;
    // Scripts append to it.
    if (!(this.value.get('items') instanceof List)) this.value.set('items', new List());
  }

  /** Returns the text after a script. Throws EvaluationError for values that YAML does not have. */
  write(): string {
    const writer = this.#values.writer();
    for (const [index, item] of readItems(this.value).entries()) {
      if (item instanceof Dict) continue;
      const name = `ctx.resource_list["items"][${index}]`;
      throw new EvaluationError(`cannot write ${name}: it is a ${typeName(item)}, expected a dict`);
    }
    const fields = ['items', 'results'].flatMap((name): [string, ResourceNode][] => {
      const value = this.value.get(name) ?? null;
      return value === null ? [] : [[name, writer.tree(value, `ctx.resource_list["${name}"]`)]];
    });
    return this.#with(fields);
  }

  /** Returns the ResourceList as it was, with results: the output of a script that failed. */
  withResults(results: JsonValue): string {
    return this.#with([['results', fromJson(results)]]);
  }

  #with(fields: readonly [string, ResourceNode][]): string {
    const root = documentRoot(this.#document);
    const after = new ResourceNode('map', '', root.style, '');
    after.content = [...root.content];
    for (const [name, value] of fields) setField(after, name, value);
    const before = {
      node: this.#document,
      text: this.#text.replaceAll('\r\n', '\n'),
      start: 0,
      index: 0,
      rowsBefore: 0,
      seqIndent: 'compact',
    } as const;
    return editFile({ text: this.#text, documents: [{ before, after }] }).text;
  }
}

function readItems(list: Dict): readonly Value[] {
  const items = list.get('items') ?? null;
  if (items instanceof List || items instanceof Tuple) return items.items;
  throw new EvaluationError(
    `cannot write ctx.resource_list: its items are ${items === null ? 'None' : `a ${typeName(items)}`}, expected a list`,
  );
}
