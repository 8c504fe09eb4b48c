import path from 'node:path';
import type { JsonObject, JsonValue } from '@krmhub/schema/definition';
import { formatPath, type Path, type Range } from '@krmhub/schema/diagnostic';
import { isObject } from '@krmhub/schema/json/access';
import type { YamlDocument } from '@krmhub/yaml';
import { readDocuments } from './config-documents.js';
import { findLocal, type LayerReader, type ProblemPlace } from './layer-reader.js';

/** Names of the file in a folder; a folder has exactly one of them (kustomize, `RecognizedKustomizationFileNames`). */
export const KUSTOMIZATION_FILES = ['kustomization.yaml', 'kustomization.yml', 'Kustomization'] as const;
/** Of a Composition (KEP-2299, "Proposal"). */
export const COMPOSITION_FILES = ['composition.yaml', 'composition.yml'] as const;

/** Returns the paths of those files that the folder has. */
export async function existingFiles(folder: string, names: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const name of names) {
    const local = await findLocal(folder, name);
    if (local.type === 'file') found.push(path.join(folder, name));
  }
  return found;
}

/** An item of a list of texts. */
export interface EntryText {
  index: number;
  text: string;
  place: ProblemPlace;
  range: Range | undefined;
}

/** A file that declares a layer: one mapping, of which only some fields are read. */
export class LayerFile {
  readonly file: string;
  readonly source: string;
  readonly value: JsonObject;
  readonly #document: YamlDocument;
  readonly #reader: LayerReader;
  /** Names as they are written, by the name of the field. */
  readonly #names = new Map<string, string>();

  constructor(
    reader: LayerReader,
    {
      file,
      source,
      document,
      value,
    }: { file: string; source: string; document: YamlDocument; value: JsonObject },
    fields: readonly string[],
  ) {
    this.file = file;
    this.source = source;
    this.value = value;
    this.#document = document;
    this.#reader = reader;
    const known = new Map(fields.map((name) => [foldCase(name), name]));
    for (const written of Object.keys(value)) {
      const name = known.get(foldCase(written));
      if (name === undefined) continue;
      const first = this.#names.get(name);
      if (first === undefined) this.#names.set(name, written);
      else {
        const message = `\`${written}\` and \`${first}\` are the same field`;
        reader.report('config/duplicate-field', message, this.place([written], 'key'));
      }
    }
  }

  place(at: Path, target: 'key' | 'value' = 'value'): ProblemPlace {
    return { file: this.file, range: this.#document.locate(at, target), path: formatPath(at) };
  }

  /** Fields that are not read. */
  unknownFields(): string[] {
    const read = new Set(this.#names.values());
    return Object.keys(this.value).filter((name) => !read.has(name));
  }

  get document(): YamlDocument {
    return this.#document;
  }

  /** The value of a field, in whatever case it is written, and its path. */
  field(name: string): { value: JsonValue; at: Path } | undefined {
    const written = this.#names.get(name);
    return written === undefined ? undefined : { value: this.value[written]!, at: [written] };
  }

  text(name: string): string | undefined {
    const value = this.field(name)?.value;
    return typeof value === 'string' && value !== '' ? value : undefined;
  }

  /** The items of a list of texts; others are reported. */
  texts(name: string): EntryText[] {
    return this.items(name).flatMap(({ value, at, index }) => {
      const place = this.place(at);
      if (typeof value === 'string' && value !== '')
        return [{ index, text: value, place, range: place.range }];
      this.#reader.report('config/wrong-type', `an item of \`${name}\` is not a string`, place);
      return [];
    });
  }

  /** The items of a list; no field and null are empty lists. */
  items(name: string): { value: JsonValue; at: Path; index: number }[] {
    const found = this.field(name);
    if (found === undefined || found.value === null) return [];
    const { value, at } = found;
    if (Array.isArray(value)) return value.map((item, index) => ({ value: item, at: [...at, index], index }));
    this.#reader.report('config/wrong-type', `\`${name}\` is not a list`, this.place(at));
    return [];
  }
}

/**
 * Reads the file of a layer; undefined where a problem is reported. Of several documents only the first counts, as for
 * kustomize. `fields` are those that are read, in any case, because kustomize reads them so.
 */
export async function readLayerFile(
  reader: LayerReader,
  file: string,
  fields: readonly string[],
): Promise<LayerFile | undefined> {
  const bytes = await reader.readFile(file);
  if (bytes === undefined) return undefined;
  const folded = new Set([...fields, 'apiVersion', 'kind', 'metadata'].map(foldCase));
  const isRead = (at: string) => {
    const [top = ''] = /^[^.[]+|^\["(?:[^"\\]|\\.)*"\]/.exec(at) ?? [];
    return at === '' || top === '["<<"]' || folded.has(foldCase(top.replace(/^\["|"\]$/g, '')));
  };
  const { documents, problems } = readDocuments(bytes, reader.displayName(file), isRead);
  reader.diagnostics.push(...problems);
  if (problems.length > 0) return undefined;
  const [document] = documents;
  if (document === undefined) {
    reader.report(
      'config/not-found',
      'the file is empty',
      { file },
      'Add the kustomization, or remove its folder.',
    );
    return undefined;
  }
  if (!isObject(document.value)) {
    const place = { file, range: document.locate([]) };
    reader.report('config/wrong-type', 'the file is not a mapping', place);
    return undefined;
  }
  const source = new TextDecoder().decode(bytes);
  return new LayerFile(reader, { file, source, document, value: document.value }, [
    ...fields,
    'apiVersion',
    'kind',
    'metadata',
  ]);
}

/** Two names are one field for Go's JSON decoder, which also folds two letters outside of ASCII. */
function foldCase(name: string): string {
  return name.replaceAll('\u017f', 's').replaceAll('\u212a', 'k').toLowerCase();
}
