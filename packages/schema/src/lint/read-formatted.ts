import { readMachineYaml } from '@krmhub/yaml/read/read-machine-yaml';
import { convertDocument, type EntryDefaults } from '../convert/convert.js';
import { releaseFromPath } from '../convert/release-path.js';
import { defined } from '../defined.js';
import type { Diagnostic } from '../diagnostics/diagnostic.js';
import { recognizeDocument } from '../dialects/recognize.js';
import type { FunctionDefinition, JsonObject, JsonValue } from '../documents/definition.js';
import type { ConvertSource } from '../documents/formats.js';
import { canonicalRelease, compareReleases, newestRelease } from '../documents/release.js';
import { readSourceFiles, type SourceFile } from '../documents/source-files.js';
import { type CatalogEntry, checkEntry } from './read-catalog.js';

export interface FormatOptions {
  format: ConvertSource;
  /** The group, instead of the derived group. */
  group?: string;
  /** Groups that replace derived groups. */
  groups?: Readonly<Record<string, string>>;
  /** Values for missing fields. */
  defaults?: EntryDefaults;
}

/**
 * Tag of a function that the newest commit of its repository does not have any more, so that a recipe can exclude it.
 */
const REMOVED_TAG = 'removed-upstream';

/** Maximum number of definitions of one source. More would take minutes. */
const MAX_DEFINITIONS = 100_000;

/**
 * Maximum length of the name of an omitted field in UTF-16 code units, and maximum number of such names per function.
 */
const MAX_FIELD_LENGTH = 100;
const MAX_FIELDS = 50;

const FORMAT_NAMES: Record<ConvertSource, string> = {
  kep: 'definition or catalog',
  'kpt-metadata': 'kpt function metadata file',
  'kpt-list': 'kpt function list',
  krew: 'Krew plugin',
  porch: 'Porch FunctionConfig',
};

/** A definition from a file, before a release is chosen. */
interface Found {
  definition: FunctionDefinition;
  /** The canonical release. */
  release?: string;
  path: string;
  completed: string[];
}

/**
 * Reads a file of another format, or the files of a folder, as a catalog with the code of `convert`. Each function has
 * its newest release. An invalid file does not affect others, and files of other types are skipped. Never throws for
 * the content; `problem` is the reason if there are no entries.
 */
export function readFormatted(
  bytes: Uint8Array,
  file: string,
  options: FormatOptions,
): { entries: CatalogEntry[] } | { problem: string } {
  const files = readSourceFiles(bytes);
  const reader = new FormattedReader(options, files !== undefined);
  const encoder = new TextEncoder();
  for (const one of files ?? []) reader.readFile(one, encoder.encode(one.text));
  if (files === undefined) reader.readFile({ path: file }, bytes);
  return reader.result(files?.length);
}

class FormattedReader {
  private readonly options: FormatOptions;
  private readonly isFolder: boolean;
  private readonly found: Found[] = [];
  private readonly problems: CatalogEntry[] = [];
  private recognized = 0;
  /** The type of the first document of another type. */
  private other: string | undefined;

  constructor(options: FormatOptions, isFolder: boolean) {
    this.options = options;
    this.isFolder = isFolder;
  }

  readFile({ path, release, problem, removed }: SourceFile, bytes: Uint8Array): void {
    if (problem !== undefined) {
      this.refuse(path, problem);
      return;
    }
    if (this.found.length > MAX_DEFINITIONS) return;
    const { documents, diagnostics } = readMachineYaml(bytes, { file: path });
    const unreadable = diagnostics.find(
      ({ severity, code }) => severity === 'error' && code !== 'yaml/empty',
    );
    if (unreadable !== undefined) {
      this.refuse(path, unreadable.message);
      return;
    }
    for (const value of documents) this.readDocument(value, { path, release, removed });
  }

  result(files: number | undefined): { entries: CatalogEntry[] } | { problem: string } {
    const name = FORMAT_NAMES[this.options.format];
    if (this.found.length > MAX_DEFINITIONS)
      return { problem: `it has more than ${MAX_DEFINITIONS} functions and releases` };
    if (this.recognized > 0) return { entries: [...newestReleases(this.found), ...this.problems] };
    const [first] = this.problems;
    if (first !== undefined && 'problem' in first) return { problem: first.problem };
    return files === undefined
      ? { problem: `it is ${this.other ?? 'empty'}, not a ${name}` }
      : { problem: `it contains no ${name}; it has ${files} YAML and JSON files` };
  }

  private readDocument(
    value: JsonValue,
    file: { path: string; release: string | undefined; removed: true | undefined },
  ): void {
    const { path, release } = file;
    const { format, group, defaults } = this.options;
    const results = convertDocument(
      { value, index: 0, locate: () => undefined },
      {
        file: path,
        ...defined({ fallbackRelease: release, group, defaults }),
      },
    );
    // An invalid definition is still a definition.
    const isMeant = ({ source, diagnostics }: (typeof results)[number]) =>
      source === format ||
      (format === 'kep' && source === undefined && diagnostics.every(({ code }) => !isOtherKind(code)));
    if (results.length > 0 && !results.some(isMeant)) {
      this.other ??= recognizeDocument(value).name;
      return;
    }
    this.recognized += 1;
    for (const { definitions, release: named, diagnostics } of results) {
      const error = diagnostics.find(({ severity }) => severity === 'error');
      if (error !== undefined) this.refuse(path, formatError(error));
      const released = canonicalRelease(named ?? releaseOfFile(path) ?? release ?? '');
      for (const definition of error === undefined ? definitions : []) {
        this.addDefinition(this.adapt(definition, file.removed === true), released, path, diagnostics);
      }
    }
  }

  /** Replaces a derived group, and marks a function that was removed. */
  private adapt(definition: FunctionDefinition, isRemoved: boolean): FunctionDefinition {
    const { groups = {} } = this.options;
    const { group, tags = [] } = definition;
    const mapped = Object.hasOwn(groups, group) ? groups[group]! : group;
    return {
      ...definition,
      group: mapped,
      ...defined({ tags: isRemoved ? [...new Set([...tags, REMOVED_TAG])] : undefined }),
    };
  }

  private addDefinition(
    definition: FunctionDefinition,
    release: string | undefined,
    path: string,
    diagnostics: readonly Diagnostic[],
  ): void {
    const entry = checkEntry({
      file: path,
      spec: definition as unknown as JsonObject,
      locate: (at) => ({ path: at }),
    });
    if ('problem' in entry) {
      this.problems.push({ ...entry, problem: this.within(path, entry.problem) });
      return;
    }
    this.found.push({
      definition,
      path,
      completed: completedFields(diagnostics),
      ...defined({ release }),
    });
  }

  private refuse(path: string, problem: string): void {
    this.problems.push({ problem: this.within(path, problem) });
  }

  /** Omits the name of a single file from messages. */
  private within(path: string, message: string): string {
    return this.isFolder ? `${path}: ${message}` : message;
  }
}

function isOtherKind(code: string): boolean {
  return code === 'convert/unknown-document' || code === 'dialect/unknown-document';
}

function formatError({ path, message }: Diagnostic): string {
  return path === '' ? message : `${path}: ${message}`;
}

/** Returns the release of a file: a folder, or a file name as from `convert`. */
function releaseOfFile(path: string): string | undefined {
  const name = path
    .split('/')
    .at(-1)!
    .replace(/\.[a-z]+$/i, '');
  return releaseFromPath(path) ?? (/^v?\d+\.\d/.test(name) ? name : undefined);
}

/** Returns the names of completed and omitted fields. The document controls the names of omitted fields. */
function completedFields(diagnostics: readonly Diagnostic[]): string[] {
  const fields = diagnostics.flatMap(({ code, message }) => {
    if (!code.startsWith('convert/') || code === 'convert/not-a-function') return [];
    const isNamed = code === 'convert/dropped-field' || code === 'convert/placeholder';
    return isNamed ? message.split(' is ')[0]!.slice(0, MAX_FIELD_LENGTH) : code.slice('convert/'.length);
  });
  return [...new Set(fields)].slice(0, MAX_FIELDS);
}

/** Returns one entry per function: its newest release, with API versions that only older releases have. */
function* newestReleases(found: readonly Found[]): Generator<CatalogEntry> {
  const functions = new Map<string, Found[]>();
  for (const one of found) {
    const key = `${one.definition.group}/${one.definition.names.kind}`;
    functions.set(key, [...(functions.get(key) ?? []), one]);
  }
  for (const releases of functions.values()) {
    const clash = findClash(releases);
    const [{ definition, completed }, ...older] = [...releases].sort(newestFirst) as [Found, ...Found[]];
    const { group, names } = definition;
    if (clash !== undefined) {
      yield { problem: clash, group, kind: names.kind };
      continue;
    }
    const versions = new Map(definition.versions.map((version) => [version.name, version]));
    for (const version of older.flatMap((one) => one.definition.versions)) {
      if (!versions.has(version.name)) versions.set(version.name, version);
    }
    const entry = { definition: { ...definition, versions: [...versions.values()] } };
    yield completed.length === 0 ? entry : { ...entry, completed };
  }
}

/** Reports two different definitions of one release. Identical copies are allowed. */
function findClash(releases: readonly Found[]): string | undefined {
  const first = new Map<string, Found>();
  for (const one of releases) {
    const before = first.get(one.release ?? '');
    if (before === undefined) first.set(one.release ?? '', one);
    else if (JSON.stringify(before.definition) !== JSON.stringify(one.definition)) {
      const what = one.release === undefined ? 'the function' : `release ${one.release}`;
      return before.path === one.path
        ? `${one.path} contains different definitions of ${what}`
        : `${before.path} and ${one.path} contain different definitions of ${what}`;
    }
  }
  return undefined;
}

/** Sorts releases before pre-releases, and definitions without a release last. */
function newestFirst({ release: a }: Found, { release: b }: Found): number {
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? 1 : -1;
  if (compareReleases(a, b) === 0) return 0;
  return newestRelease([a, b]) === a ? -1 : 1;
}
