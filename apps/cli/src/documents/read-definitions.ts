import { splitCatalog } from '@krmhub/catalog';
import {
  canonicalRelease,
  compareReleases,
  type Diagnostic,
  type FunctionDefinition,
  hasErrors,
  KrmhubError,
  type LintResult,
  lint,
  releaseFromPath,
  sharedImageRelease,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { Io } from '../io/io.js';
import { type DocumentFile, readDocumentFiles } from './document-files.js';
import { hasOnlyOtherDocuments } from './other-documents.js';

/** A release to publish. */
export interface Submission {
  group: string;
  kind: string;
  /** Canonical. */
  release: string;
  definition: FunctionDefinition;
  bytes: Uint8Array;
  mediaType: 'application/yaml' | 'application/json';
  /** Name of the file, for messages. */
  file: string;
  /** True if the bytes are those of the file, so that positions match. */
  exact: boolean;
  /** What is new in the release, in Markdown. */
  notes?: string;
  /** Signatures and attestations to publish with it. */
  bundles?: readonly Uint8Array[];
}

export interface Definitions {
  /** Diagnostics of all files. Send nothing if there is an error. */
  diagnostics: Diagnostic[];
  sources: Map<string, Uint8Array>;
  definitions: Omit<Submission, 'release' | 'group' | 'kind'>[];
  /** Number of files in folders without a definition or catalog. */
  skipped: number;
}

/** Reads and lints files. `prepare` may change a file before it is linted. `release` is what all of them are to be. */
export async function readDefinitions(
  io: Io,
  names: readonly string[],
  {
    release,
    prepare = async (source) => source,
  }: { release?: string | undefined; prepare?: (source: DocumentFile) => Promise<DocumentFile> } = {},
): Promise<Definitions> {
  const result: Definitions = { diagnostics: [], sources: new Map(), definitions: [], skipped: 0 };
  for await (const read of readDocumentFiles(io, names)) {
    // A file can be named by itself and by its folder.
    if (result.sources.has(read.name)) continue;
    const source = await prepare(read);
    const linted = lint(source.bytes, {
      file: source.name,
      skipForeign: !source.explicit,
      ...defined({ release }),
    });
    if (!source.explicit && hasOnlyOtherDocuments(linted)) {
      result.skipped++;
      continue;
    }
    result.sources.set(source.name, source.bytes);
    result.diagnostics.push(...linted.diagnostics);
    if (!hasErrors(linted.diagnostics)) result.definitions.push(...extractDefinitions(source, linted));
  }
  return result;
}

function extractDefinitions(
  source: DocumentFile,
  { documents, skipped }: LintResult,
): Definitions['definitions'] {
  const { name: file, bytes } = source;
  const [only] = documents;
  if (only?.kind === 'KRMFunctionDefinition' && documents.length === 1 && skipped === 0) {
    const mediaType = isJson(bytes) ? 'application/json' : 'application/yaml';
    return [{ definition: only.definition, bytes, mediaType, file, exact: true }];
  }
  return documents.flatMap((document) => {
    const catalog =
      document.kind === 'KRMFunctionDefinition'
        ? { name: '', functions: [document.definition] }
        : document.catalog;
    return splitCatalog(catalog).map((one) => ({
      ...one,
      mediaType: 'application/yaml' as const,
      file,
      exact: false,
    }));
  });
}

function isJson(bytes: Uint8Array): boolean {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return true;
  } catch {
    return false;
  }
}

/** Returns the canonical form of `--release`. Throws `usage`. */
export function readRelease(wanted: string): string {
  const release = canonicalRelease(wanted);
  if (release !== undefined) return release;
  throw new KrmhubError('usage', `--release ${wanted} is not a SemVer version, or has build metadata (+…)`, {
    hint: 'Use a release such as 1.2.3, v1.2, or 1.3.0-rc.1, for example: --release 1.2.3',
  });
}

function listImages({ versions }: FunctionDefinition): string[] {
  return versions.flatMap(({ runtime: { container } }) => (container === undefined ? [] : [container.image]));
}

/**
 * Assigns a release to each definition: the requested one, else the version that its images or download URLs share.
 * Throws `usage` for definitions without a release, and for two definitions with the same release.
 */
export function assignReleases(
  definitions: Definitions['definitions'],
  wanted: string | undefined,
): Submission[] {
  const release = wanted === undefined ? undefined : readRelease(wanted);
  const without: string[] = [];
  const submissions = definitions.flatMap(({ definition, ...rest }): Submission[] => {
    const { group, names } = definition;
    const named = release ?? sharedImageRelease(listImages(definition)) ?? sharedDownloadRelease(definition);
    if (named !== undefined) return [{ group, kind: names.kind, release: named, definition, ...rest }];
    without.push(`${group}/${names.kind} (${rest.file})`);
    return [];
  });
  if (without.length > 0) {
    throw new KrmhubError('usage', `cannot determine the release of ${without.join(', ')}`, {
      hint: 'Set it, for example: --release 1.0.0. By default, the image tag or download URL must contain a version.',
    });
  }
  return sortByRelease(removeDuplicates(submissions));
}

/**
 * Returns the version in all download URLs of a definition without images, for example `…/download/v1.2.3/tool.tar.gz`.
 * A moving `v1` is not a version.
 */
function sharedDownloadRelease({ versions }: FunctionDefinition): string | undefined {
  if (versions.some(({ runtime }) => runtime.container !== undefined)) return undefined;
  const platforms = versions.flatMap(({ runtime }) => runtime.exec?.platforms ?? []);
  const releases = new Set(platforms.map(({ uri }) => canonicalRelease(releaseFromPath(uri) ?? '')));
  return releases.size === 1 ? [...releases][0] : undefined;
}

/** Groups submissions by function and sorts the releases of each. */
function sortByRelease(submissions: readonly Submission[]): Submission[] {
  const functions = new Map<string, Submission[]>();
  for (const submission of submissions) {
    const name = `${submission.group}/${submission.kind}`;
    functions.set(name, [...(functions.get(name) ?? []), submission]);
  }
  return [...functions.values()].flatMap((releases) =>
    releases.sort((a, b) => compareReleases(a.release, b.release)),
  );
}

/** Removes duplicates with the same bytes. Throws `usage` for conflicting definitions. */
function removeDuplicates(submissions: readonly Submission[]): Submission[] {
  const byName = new Map<string, Submission>();
  const kinds = new Map<string, Submission>();
  const conflicts: string[] = [];
  for (const submission of submissions) {
    const { group, kind, release, file, bytes } = submission;
    const sameKind = kinds.get(`${group}/${kind.toLowerCase()}`);
    if (sameKind === undefined) kinds.set(`${group}/${kind.toLowerCase()}`, submission);
    else if (sameKind.kind !== kind) {
      conflicts.push(
        `${group}/${sameKind.kind} (${sameKind.file}) and ${group}/${kind} (${file}) differ only in case`,
      );
      continue;
    }
    const name = `${group}/${kind}@${release}`;
    const first = byName.get(name);
    if (first === undefined) byName.set(name, submission);
    else if (Buffer.compare(first.bytes, bytes) !== 0) {
      conflicts.push(`${name} is different in ${first.file} and ${file}`);
    }
  }
  if (conflicts.length > 0) {
    throw new KrmhubError('usage', `conflicting definitions: ${conflicts.join('; ')}`, {
      hint: 'Publish them as different releases (--release), or remove one.',
    });
  }
  return [...byName.values()];
}
