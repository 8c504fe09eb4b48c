import type { PipelineFunction } from '@krmhub/functions/plan';
import { openResourceFile, type ResourceFile } from '@krmhub/schema/edit-yaml';
import { field, fieldAt, removeField, setField, setFirstField, textNode } from '@krmhub/schema/resource-yaml';
import type { EntryRuntime } from '../function-configs/entry-runtime.js';

/** Reports whether an entry already runs this: a tag would replace the digest of an image. */
export function hasRuntime(entry: PipelineFunction, { field: name, value }: EntryRuntime): boolean {
  const other = name === 'image' ? entry.exec : entry.image;
  return entry[name] === value && other === undefined && entry.tag === undefined;
}

/**
 * Returns the text of a Kptfile with these runtimes. Comments, order, quotes and line ends of everything else stay.
 * Throws `invalid-document` for a text that kpt cannot read.
 */
export function editKptfile(
  text: string,
  /** Its name, for messages. */
  file: string,
  runtimes: ReadonlyMap<PipelineFunction, EntryRuntime>,
): string {
  const changed = [...runtimes].filter(([entry, runtime]) => !hasRuntime(entry, runtime));
  if (changed.length === 0) return text;
  const kptfile = openResourceFile(text, file);
  for (const [entry, runtime] of changed) setRuntime(kptfile, entry, runtime);
  return kptfile.edited().text;
}

/** The runtime takes the place of another one. Else it becomes the first key of the entry, as kpt writes it. */
function setRuntime(
  kptfile: ResourceFile,
  entry: PipelineFunction,
  { field: name, value }: EntryRuntime,
): void {
  const path = ['pipeline', entry.field, entry.index];
  const node = fieldAt(kptfile.documents[0]!.root!, path)!;
  if (entry.tag !== undefined) setField(node, 'tag', textNode(''));
  const other = name === 'image' ? 'exec' : 'image';
  // A key without a value counts only if there is no other.
  if (entry[other] !== undefined || field(node, name) === undefined) {
    removeField(node, name);
    kptfile.rename(0, path, other, name);
  }
  removeField(node, other);
  const { line = '' } = field(node, name) ?? {};
  setFirstField(node, name, Object.assign(textNode(value), { line }));
}
