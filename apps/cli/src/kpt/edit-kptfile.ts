import { isDeepStrictEqual } from 'node:util';
import type { PipelineFunction } from '@krmhub/functions/plan';
import { type KptfileSource, parseKptfile } from '@krmhub/functions/plan/kptfile';
import { type JsonObject, KrmhubError } from '@krmhub/schema';
import type { EntryRuntime } from '../function-configs/entry-runtime.js';
import { applyEdits, type TextEdit } from './text-edits.js';

/** Reports whether an entry already runs this: a tag would replace the digest of an image. */
export function hasRuntime(entry: PipelineFunction, { field, value }: EntryRuntime): boolean {
  const other = field === 'image' ? entry.exec : entry.image;
  return entry[field] === value && other === undefined && entry.tag === undefined;
}

/**
 * Returns the edits that give entries these runtimes. Comments, order, quotes and line ends of everything else stay.
 * Throws `invalid-document` for a notation that cannot be edited.
 */
export function editKptfile(
  kptfile: KptfileSource,
  /** Its name, for messages. */
  file: string,
  runtimes: ReadonlyMap<PipelineFunction, EntryRuntime>,
): TextEdit[] {
  const edits = [...runtimes]
    .filter(([entry, runtime]) => !hasRuntime(entry, runtime))
    .flatMap(([entry, runtime]) => entryEdits(kptfile, entry, runtime))
    .sort((a, b) => a.start - b.start);
  if (edits.length > 0) checkResult(kptfile, file, runtimes, edits);
  return edits;
}

function entryEdits(kptfile: KptfileSource, entry: PipelineFunction, runtime: EntryRuntime): TextEdit[] {
  const path = ['pipeline', entry.field, entry.index];
  const edits: TextEdit[] = [];
  if (entry.tag !== undefined) edits.push({ ...kptfile.offsets([...path, 'tag']), text: '""' });
  const written = writtenField(kptfile, entry);
  if (written === undefined) return [...edits, insertion(kptfile, path, runtime)];
  const key = kptfile.offsets([...path, written], 'key');
  if (written !== runtime.field)
    edits.push({ ...key, text: quoteLike(kptfile.text.slice(key.start, key.end), runtime.field) });
  const value = kptfile.offsets([...path, written]);
  if (value.start === value.end) {
    const colon = kptfile.text.indexOf(':', key.end) + 1;
    return [...edits, { start: colon, end: colon, text: ` ${scalar(runtime.value)}` }];
  }
  const old = kptfile.text.slice(value.start, value.end);
  // A block scalar ends with its line.
  const end = value.end - (old.length - old.trimEnd().length);
  return [...edits, { start: value.start, end, text: quoteLike(old, runtime.value) }];
}

/** Returns the key of the runtime; a key without a value counts only if there is no other. */
function writtenField(
  { value }: KptfileSource,
  { exec, field, index }: PipelineFunction,
): EntryRuntime['field'] | undefined {
  if (exec !== undefined) return 'exec';
  const entry = ((value.pipeline as JsonObject)[field] as JsonObject[])[index]!;
  return (['image', 'exec'] as const).find((name) => Object.hasOwn(entry, name));
}

/** The runtime becomes the first key of the entry, as kpt writes it. */
function insertion(
  kptfile: KptfileSource,
  path: readonly (string | number)[],
  { field, value }: EntryRuntime,
): TextEdit {
  const { text } = kptfile;
  const [pipeline, list, index] = path as [string, string, number];
  const lists = kptfile.value[pipeline] as JsonObject;
  // It has a key at least, which names its functionConfig.
  const first = Object.keys((lists[list] as JsonObject[])[index]!)[0]!;
  const key = kptfile.offsets([...path, first], 'key');
  const name = quoteLike(text.slice(key.start, key.end), field);
  if (text[kptfile.offsets(path).start] === '{') {
    return { start: key.start, end: key.start, text: `${name}: ${quoteLike(name, value)}, ` };
  }
  const column = key.start - (text.lastIndexOf('\n', key.start - 1) + 1);
  const lineEnd = text.indexOf('\n', key.start);
  const newline = text[lineEnd - 1] === '\r' ? '\r\n' : '\n';
  return {
    start: key.start,
    end: key.start,
    text: `${field}: ${scalar(value)}${newline}${' '.repeat(column)}`,
  };
}

/** Reads the result again: it must be the same document but for the runtimes. */
function checkResult(
  kptfile: KptfileSource,
  file: string,
  runtimes: ReadonlyMap<PipelineFunction, EntryRuntime>,
  edits: readonly TextEdit[],
): void {
  const expected = structuredClone(kptfile.value);
  for (const [{ field, index }, runtime] of runtimes) {
    const entry = ((expected.pipeline as JsonObject)[field] as JsonObject[])[index]!;
    delete entry[runtime.field === 'image' ? 'exec' : 'image'];
    entry[runtime.field] = runtime.value;
    if (entry.tag) entry.tag = '';
  }
  const found = parseKptfile(applyEdits(kptfile.text, edits), file);
  if ('value' in found && isDeepStrictEqual(found.value, expected)) return;
  const lines = [...runtimes].map(
    ([{ field, index }, { field: key, value }]) => `pipeline.${field}[${index}].${key}: ${value}`,
  );
  throw new KrmhubError('invalid-document', `cannot edit ${file}: its layout is not supported`, {
    hint: `Use block style for each function of the pipeline, or set it manually: ${lines.join(', ')}`,
  });
}

/** Writes a text in the quotes of another one. */
function quoteLike(old: string, text: string): string {
  if (old.startsWith('"')) return JSON.stringify(text);
  if (old.startsWith("'")) return `'${text.replaceAll("'", "''")}'`;
  return scalar(text);
}

/** Plain where every reader of YAML takes it for this text, also in `{}`. */
function scalar(text: string): string {
  const isPlain = /^[A-Za-z0-9][\w./@:=#&%+~?\- ]*$/.test(text) && !/: | #|:$| $/.test(text);
  return isPlain ? text : JSON.stringify(text);
}
