import { type DocumentEdit, type EditNote, editFile } from '@krmhub/schema/edit-yaml';
import { type ResourceDocument, readResources, splitDocuments } from '@krmhub/schema/resource-yaml';
import { withBookkeeping } from '../resource-list/annotations-place.js';
import { passThrough } from '../resource-list/pass-through.js';
import type { Resource } from '../resource-list/resource.js';
import { writeFileText } from '../resource-list/write-file.js';
import type { PackageFile } from './package-file.js';
import type { Package } from './read-package.js';
import { replaceLines } from './replace-lines.js';

/** A file that gets resources, and what was said about their documents. */
export interface FileText {
  text: string;
  notes: readonly EditNote[];
}

/**
 * Writes the resources of each file, in their order, by editing the text that they were read from: a file whose
 * resources are equal keeps its bytes. What comes from another file is moved with its text.
 */
export function editFiles(
  { files, resources }: Package,
  groups: ReadonlyMap<string, readonly Resource[]>,
): Map<string, FileText> {
  const editor = new FilesEditor(files, resources);
  const texts = new Map<string, FileText>();
  for (const [path, group] of groups) {
    const file = files.get(path) ?? editor.movedFile(group, groups);
    texts.set(path, file === undefined ? editor.newFile(path, group) : editor.file(file, group));
  }
  return texts;
}

class FilesEditor {
  readonly #files: ReadonlyMap<string, PackageFile>;
  /** The resources of each file, as they were read. */
  readonly #before = new Map<string, Resource[]>();
  #parsed: { path: string; documents: ResourceDocument[] } = { path: '', documents: [] };

  constructor(files: ReadonlyMap<string, PackageFile>, resources: readonly Resource[]) {
    this.#files = files;
    for (const resource of resources) {
      const found = this.#before.get(resource.path);
      if (found === undefined) this.#before.set(resource.path, [resource]);
      else found.push(resource);
    }
  }

  /** A file that is gone and whose first document comes first here: it is moved as a whole. */
  movedFile(
    [first]: readonly Resource[],
    groups: ReadonlyMap<string, readonly Resource[]>,
  ): PackageFile | undefined {
    const source = first?.source;
    return source === undefined || groups.has(source.path) ? undefined : this.#files.get(source.path);
  }

  newFile(path: string, group: readonly Resource[]): FileText {
    if (group.every(({ source }) => source === undefined))
      return { text: writeFileText(path, group), notes: [] };
    const pieces = group.map((resource) => this.#document(resource));
    return { text: append('', pieces), notes: pieces.flatMap(({ notes }) => notes) };
  }

  /** Documents stay in their place as long as their order does; from the first other one on, all are below. */
  file(file: PackageFile, group: readonly Resource[]): FileText {
    const { path, text } = file;
    const count = this.#before.get(path)?.length ?? 0;
    const places = findPlaces(path, group, count);
    const end = places.findIndex((place, at) => place === undefined || place <= (places[at - 1] ?? -1));
    const staying = end === -1 ? group : group.slice(0, end);
    const added = group.slice(staying.length);
    const isSame = staying.length === count && staying.every(isUntouched);
    const edited = isSame
      ? { text, notes: [] }
      : this.#edit(file, new Map(staying.map((one, at) => [places[at]!, one])));
    const pieces = added.map((one) => this.#document(one));
    return {
      text: append(edited.text, pieces),
      notes: [...edited.notes, ...pieces.flatMap(({ notes }) => notes)],
    };
  }

  #edit({ path, text }: PackageFile, after: ReadonlyMap<number, Resource>): FileText {
    const replaced = this.#replaceLines(path, text, after);
    if (replaced !== undefined) return { text: replaced, notes: [] };
    const documents = this.#documents(path).map((before) =>
      this.#change(before, path, after.get(before.index)),
    );
    return editFile({ text, documents });
  }

  /** Most functions change values of single lines in files that kyaml would write as they are. */
  #replaceLines(path: string, text: string, after: ReadonlyMap<number, Resource>): string | undefined {
    const before = this.#before.get(path)!;
    if (text.includes('\r') || after.size !== before.length) return undefined;
    const parts = splitDocuments(text, { name: path, isFile: true });
    // One without content is not a resource.
    if (parts.length !== before.length) return undefined;
    let edited = '';
    let end = 0;
    for (const [at, part] of parts.entries()) {
      const [old, resource] = [before[at]!, after.get(at)!];
      const [from, to] = [old.body.compactText(), resource.body.compactText()];
      const own = isUntouched(resource) ? part.text : replaceLines(part.text, from, to);
      if (own === undefined) return undefined;
      edited += text.slice(end, part.start) + own;
      end = part.start + part.text.length;
    }
    return edited + text.slice(end);
  }

  /** Returns the text of a document on its own, with a line end. */
  #document(resource: Resource): FileText {
    const { source } = resource;
    const before = source === undefined ? undefined : this.#documents(source.path)[source.index];
    // A directive is for the documents below it.
    if (before === undefined || before.text.startsWith('%')) return { text: resource.text(), notes: [] };
    const text = before.text.replace(/^\ufeff?(?:---[ \t]*\n)?/, '');
    if (isUntouched(resource)) return { text, notes: [] };
    const [alone] = readResources(text, resource.path);
    return editFile({
      text,
      documents: [this.#change({ ...alone!, index: source!.index }, source!.path, resource)],
    });
  }

  #change(before: ResourceDocument, path: string, resource: Resource | undefined): DocumentEdit {
    if (resource === undefined) return { before, after: undefined };
    if (isUntouched(resource)) return { before, after: before.node };
    const original = this.#before.get(path)![before.index]!;
    return {
      before,
      after: withBookkeeping(before.node, resource.body.document()),
      // Only a document whose comments differ needs it.
      get shown() {
        return passThrough(original, { isLast: false, format: 'edit' }).body.document();
      },
    };
  }

  #documents(path: string): ResourceDocument[] {
    if (this.#parsed.path !== path) {
      this.#parsed = { path, documents: readResources(this.#files.get(path)!.text, path) };
    }
    return this.#parsed.documents;
  }
}

/** The document of a file that each resource is a version of; undefined for others. */
function findPlaces(path: string, group: readonly Resource[], count: number): (number | undefined)[] {
  const taken = new Set<number>();
  const claim = (place: number | undefined): number | undefined => {
    if (place === undefined || place >= count || taken.has(place)) return undefined;
    taken.add(place);
    return place;
  };
  const ownPlace = ({ source }: Resource) => (source?.path === path ? source.index : undefined);
  // A function may have copied a resource with its id.
  const places = group.map((one) => (one.index === ownPlace(one) ? claim(ownPlace(one)) : undefined));
  group.forEach((one, at) => {
    places[at] ??= claim(ownPlace(one));
  });
  group.forEach((one, at) => {
    if (one.source === undefined) places[at] ??= claim(one.index);
  });
  return places;
}

/** Whether the document is as it was read. */
function isUntouched({ source }: Resource): boolean {
  return source?.isChanged === false;
}

/** Writes documents below the others. */
function append(text: string, pieces: readonly FileText[]): string {
  const newline = text.includes('\r\n') ? '\r\n' : '\n';
  let all = text;
  for (const piece of pieces) {
    if (all !== '' && !all.endsWith('\n')) all += newline;
    if (all.trim() !== '' && !/(?:^|\n)---[ \t]*\r?\n$/.test(all)) all += `---${newline}`;
    all += newline === '\n' ? piece.text : piece.text.replaceAll('\n', newline);
  }
  return all;
}
