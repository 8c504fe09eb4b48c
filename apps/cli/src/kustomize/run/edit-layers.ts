import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { diskError } from '@krmhub/consume/files/read-file';
import { openResourceFile, type ResourceFile } from '@krmhub/schema/edit-yaml';
import { KrmhubError } from '@krmhub/schema/error';
import {
  field,
  fieldAt,
  fieldNames,
  fromJson,
  ResourceNode,
  removeField,
  setField,
} from '@krmhub/schema/resource-yaml';
import { escapeControls } from '@krmhub/schema/text';
import type { Layer, ListedFunction } from '../../function-configs/layers.js';
import { compositionText } from './composition.js';
import { type PlannedFunction, placeText } from './planned-function.js';
import { setRuntime } from './set-runtime.js';
import { isWithin } from './tree-copy.js';

/**
 * What kustomize must read in place of the files of the user: kustomizations without `catalogs`, and functionConfigs
 * with the runtime that was resolved for them.
 */

/** Lists of a kustomization whose entries can be remote. */
const LISTS = ['resources', 'bases', 'components', 'generators', 'transformers', 'validators'];
const FUNCTION_LISTS = ['generators', 'transformers', 'validators'] as const;

export interface EditedLayers {
  /** Texts of the files that kustomize reads in place of the user's, by their path. */
  texts: Map<string, string>;
  /** Paths that kustomizations name. Not every text that looks like one is one. */
  named: Set<string>;
}

export async function editLayers(root: Layer, planned: readonly PlannedFunction[]): Promise<EditedLayers> {
  const editor = new LayerEditor(planned);
  await editor.edit(root);
  await editor.requireNoOrigins(root);
  return { texts: editor.texts(), named: editor.named };
}

class LayerEditor {
  readonly #planned: ReadonlyMap<ListedFunction, PlannedFunction>;
  readonly #files = new Map<string, ResourceFile>();
  /** Texts of files that the user does not have. */
  readonly #added = new Map<string, string>();
  /** Annotations by file, document and path. */
  readonly #annotations = new Map<string, PlannedFunction>();
  readonly #edited = new Set<string>();
  readonly named = new Set<string>();
  #hasRemote = false;

  constructor(planned: readonly PlannedFunction[]) {
    this.#planned = new Map(planned.map((one) => [one.listed, one]));
  }

  async edit(layer: Layer): Promise<void> {
    if (layer.type === 'composition') {
      this.#added.set(path.join(layer.folder, 'kustomization.yaml'), compositionText(layer, this.#planned));
      return;
    }
    const isNew = !this.#edited.has(layer.file);
    this.#edited.add(layer.file);
    const functions = layer.functions.flatMap((one) => this.#planned.get(one) ?? []);
    for (const one of functions) if (!one.listed.inline && !isRemote(one)) await this.#setRuntime(one);
    if (isNew) await this.#editKustomization(layer, functions);
    for (const inner of copiedLayers(layer)) await this.edit(inner);
  }

  /** kustomize would write where the local copy of a remote base is, instead of its repository. */
  async requireNoOrigins(root: Layer): Promise<void> {
    if (!this.#hasRemote || root.type === 'composition') return;
    const kustomization = await this.#kustomization(root);
    const metadata = textsIn(field(kustomization, writtenKey(kustomization, 'buildMetadata')));
    const named = metadata?.find((one) => one === 'originAnnotations' || one === 'transformerAnnotations');
    if (named === undefined) return;
    throw new KrmhubError(
      'unsupported',
      escapeControls(`${root.file}: ${named} with a remote base that uses catalogs`),
      {
        hint: 'Remove it from buildMetadata, or copy the base to the repository.',
      },
    );
  }

  texts(): Map<string, string> {
    const texts = [...this.#files].map(([file, edits]) => [file, edits.edited().text] as const);
    return new Map([...texts, ...this.#added]);
  }

  async #setRuntime(one: PlannedFunction): Promise<void> {
    const { file, document, path: at } = one.listed;
    const key = JSON.stringify([file, document, at]);
    const earlier = this.#annotations.get(key);
    if (earlier === undefined) {
      this.#annotations.set(key, one);
      setRuntime(configIn(await this.#file(file), one), one);
    } else if (earlier.annotation !== one.annotation) {
      throw new KrmhubError(
        'conflict',
        escapeControls(
          `${placeText(one.place)}: two kustomizations use this file, but their catalogs have different runtimes`,
        ),
        { hint: 'Use a separate file for each kustomization, or the same catalogs.' },
      );
    }
  }

  async #editKustomization(layer: Layer, functions: readonly PlannedFunction[]): Promise<void> {
    const root = await this.#kustomization(layer);
    removeField(root, writtenKey(root, 'catalogs'));
    for (const text of pathsIn(root)) {
      // A generator of ConfigMaps names files as KEY=PATH.
      for (const one of [text, text.slice(text.indexOf('=') + 1)])
        if (!path.isAbsolute(one)) this.named.add(path.resolve(layer.folder, one));
    }
    const lists = new Map(LISTS.map((name) => [name, textsIn(field(root, writtenKey(root, name))) ?? []]));
    const written = new Map(LISTS.map((name) => [name, JSON.stringify(lists.get(name))]));
    for (const name of FUNCTION_LISTS) {
      const listed = functions.filter(
        ({ listed: { field, entry } }) => field === name && entry !== undefined,
      );
      for (const [index, entries] of byEntry(listed)) {
        const text = await this.#entryText(layer, entries, index);
        if (text !== undefined) lists.get(name)![index] = text;
      }
      if (name === 'validators') moveValidators(lists, new Set(byEntry(listed).keys()));
    }
    for (const list of lists.values()) {
      // In the copy, the path of a file that kustomize may read is another one.
      for (const [index, entry] of list.entries())
        if (path.isAbsolute(entry) && isWithin(entry, layer.folder))
          list[index] = path.relative(layer.folder, entry);
    }
    for (const base of copiedLayers(layer)) {
      if (base.remote === undefined || base.remote === layer.remote) continue;
      this.#hasRemote = true;
      const local = path.relative(layer.folder, base.folder);
      for (const list of lists.values())
        for (const [index, entry] of list.entries()) if (entry === base.remote) list[index] = local;
    }
    for (const [name, list] of lists)
      if (JSON.stringify(list) !== written.get(name)) setField(root, writtenKey(root, name), fromJson(list));
  }

  /**
   * The text of an entry with functionConfigs inside it, or of an entry that names a remote file; undefined otherwise.
   */
  async #entryText(
    layer: Layer,
    functions: readonly PlannedFunction[],
    index: number,
  ): Promise<string | undefined> {
    const [first] = functions;
    const { inline, entry, field } = first!.listed;
    if (inline) {
      const text = openResourceFile(entry!.text, placeText(first!.place));
      for (const one of functions) setRuntime(configIn(text, one), one);
      return text.edited().text;
    }
    if (!isRemote(first!)) return undefined;
    // kustomize reads files only in the folder of the kustomization.
    const name = `.krmhub-${field}-${index}.yaml`;
    const text = openResourceFile(await readText(first!.listed.file), entry!.text);
    for (const one of functions) setRuntime(configIn(text, one), one);
    this.#added.set(path.join(layer.folder, name), text.edited().text);
    return name;
  }

  /** The root of a kustomization. */
  async #kustomization({ file }: Layer): Promise<ResourceNode> {
    return (await this.#file(file)).documents[0]?.root ?? new ResourceNode('map', '', 0, '');
  }

  async #file(file: string): Promise<ResourceFile> {
    const known = this.#files.get(file) ?? openResourceFile(await readText(file), file);
    this.#files.set(file, known);
    return known;
  }
}

/** The layers that a layer is built on, without the remote ones that kustomize can fetch itself. */
export function copiedLayers({ remote, layers }: Layer): Layer[] {
  return layers.filter((one) => one.remote === undefined || one.remote === remote || usesCatalogs(one));
}

function usesCatalogs({ catalogs, functions, layers }: Layer): boolean {
  return catalogs.length > 0 || functions.length > 0 || layers.some(usesCatalogs);
}

/** A functionConfig that an entry names by a URL, and not in a remote base. */
function isRemote({ listed: { entry, inline } }: PlannedFunction): boolean {
  return !inline && entry !== undefined && /^https?:\/\//i.test(entry.text);
}

function byEntry(functions: readonly PlannedFunction[]): Map<number, PlannedFunction[]> {
  const found = new Map<number, PlannedFunction[]>();
  for (const one of functions) {
    const { index } = one.listed.entry!;
    found.set(index, [...(found.get(index) ?? []), one]);
  }
  return found;
}

/** Makes functions under `validators` the last transformers: they run at the same time, and kustomize accepts them. */
function moveValidators(lists: Map<string, string[]>, entries: ReadonlySet<number>): void {
  const validators = lists.get('validators')!;
  lists.get('transformers')!.push(...validators.filter((_, index) => entries.has(index)));
  lists.set(
    'validators',
    validators.filter((_, index) => !entries.has(index)),
  );
}

/** The functionConfig of a function. */
function configIn(file: ResourceFile, { listed, place }: PlannedFunction): ResourceNode {
  const root = file.documents[listed.document]?.root;
  const config = root === undefined ? undefined : fieldAt(root, listed.path);
  if (config?.kind === 'map') return config;
  const message = `cannot edit a copy of ${placeText(place)}: it is not a map`;
  throw new KrmhubError('invalid-document', escapeControls(message));
}

/** A key at the top level as it is written: like Go's JSON, kustomize reads any case. */
function writtenKey(root: ResourceNode, key: string): string {
  return fieldNames(root).find((one) => one.toLowerCase() === key.toLowerCase()) ?? key;
}

/** The items of a list of scalars; undefined for another value. */
function textsIn(list: ResourceNode | undefined): string[] | undefined {
  if (list?.kind !== 'list' || list.content.some(({ kind }) => kind !== 'scalar')) return undefined;
  return list.content.map(({ value }) => value);
}

const MAX_PATH_LENGTH = 4_096;

/** Scalars that may be paths. */
function pathsIn({ kind, value, content }: ResourceNode): string[] {
  if (kind === 'scalar') return value.length <= MAX_PATH_LENGTH && !value.includes('\n') ? [value] : [];
  return content.flatMap((child, at) => (kind === 'map' && at % 2 === 0 ? [] : pathsIn(child)));
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw diskError(error, escapeControls(`cannot read ${file}`));
  }
}
