import { sharedImageRelease, splitCatalog } from '@krmhub/catalog';
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
} from '@krmhub/schema';
import type { Io } from '../io/io.js';
import { type DocumentFile, readDocumentFiles } from './document-files.js';
import { holdsOnlyOtherDocuments } from './other-documents.js';

/** One release that is to be published. */
export interface Submission {
  group: string;
  kind: string;
  /** Canonical. */
  release: string;
  definition: FunctionDefinition;
  bytes: Uint8Array;
  mediaType: 'application/yaml' | 'application/json';
  /** The file that it comes from, as messages call it. */
  file: string;
  /** Whether the bytes are the file's own, so that positions in them are positions in the file. */
  exact: boolean;
  /** Signatures and attestations that go with it. */
  bundles?: readonly Uint8Array[];
}

export interface Definitions {
  /** Of every file; with an error among them, nothing may be sent. */
  diagnostics: Diagnostic[];
  sources: Map<string, Uint8Array>;
  definitions: Omit<Submission, 'release' | 'group' | 'kind'>[];
  /** Files of folders that hold something else. */
  passedOver: number;
}

/** Reads and lints everything that was named. */
export async function readDefinitions(io: Io, names: readonly string[]): Promise<Definitions> {
  const result: Definitions = { diagnostics: [], sources: new Map(), definitions: [], passedOver: 0 };
  for await (const source of readDocumentFiles(io, names)) {
    // The same file may be named twice, by itself and by its folder.
    if (result.sources.has(source.name)) continue;
    const linted = lint(source.bytes, { file: source.name, skipForeign: !source.explicit });
    if (!source.explicit && holdsOnlyOtherDocuments(linted)) {
      result.passedOver++;
      continue;
    }
    result.sources.set(source.name, source.bytes);
    result.diagnostics.push(...linted.diagnostics);
    if (!hasErrors(linted.diagnostics)) result.definitions.push(...definitionsOf(source, linted));
  }
  return result;
}

function definitionsOf(source: DocumentFile, { documents, skipped }: LintResult): Definitions['definitions'] {
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

/**
 * Gives each definition its release: the one that was asked for, else the version that its images, or its executables' addresses, share.
 * Throws `usage` naming every definition that has none, and where two are to become one release.
 */
export function nameReleases(
  definitions: Definitions['definitions'],
  wanted: string | undefined,
): Submission[] {
  const release = wanted === undefined ? undefined : canonicalRelease(wanted);
  if (wanted !== undefined && release === undefined) {
    throw new KrmhubError('usage', `--release ${wanted} is not a SemVer version without build metadata`, {
      hint: 'Name the release like 1.2.3, v1.2 or 1.3.0-rc.1.',
    });
  }
  const without: string[] = [];
  const submissions = definitions.flatMap(({ definition, ...rest }): Submission[] => {
    const { group, names } = definition;
    const named = release ?? sharedImageRelease(definition) ?? sharedDownloadRelease(definition);
    if (named !== undefined) return [{ group, kind: names.kind, release: named, definition, ...rest }];
    without.push(`${group}/${names.kind} (${rest.file})`);
    return [];
  });
  if (without.length > 0) {
    throw new KrmhubError('usage', `no release is known for ${without.join(', ')}`, {
      hint: 'Name it with --release: neither the tags of its images nor the addresses of its executables name one version.',
    });
  }
  return inOrder(unique(submissions));
}

/**
 * Of a definition that has executables and no images: the version that the folders of all their addresses are
 * named after, such as `…/download/v1.2.3/tool.tar.gz`. A moving `v1` is none.
 */
function sharedDownloadRelease({ versions }: FunctionDefinition): string | undefined {
  if (versions.some(({ runtime }) => runtime.container !== undefined)) return undefined;
  const platforms = versions.flatMap(({ runtime }) => runtime.exec?.platforms ?? []);
  const releases = new Set(platforms.map(({ uri }) => canonicalRelease(releaseFromPath(uri) ?? '')));
  return releases.size === 1 ? [...releases][0] : undefined;
}

/** The releases of one function one after the other, each after those that come before it. */
function inOrder(submissions: readonly Submission[]): Submission[] {
  const functions = new Map<string, Submission[]>();
  for (const submission of submissions) {
    const name = `${submission.group}/${submission.kind}`;
    functions.set(name, [...(functions.get(name) ?? []), submission]);
  }
  return [...functions.values()].flatMap((releases) =>
    releases.sort((a, b) => compareReleases(a.release, b.release)),
  );
}

/** Without what was given twice with the same bytes. */
function unique(submissions: readonly Submission[]): Submission[] {
  const byName = new Map<string, Submission>();
  const kinds = new Map<string, Submission>();
  const clashes: string[] = [];
  for (const submission of submissions) {
    const { group, kind, release, file, bytes } = submission;
    const sameKind = kinds.get(`${group}/${kind.toLowerCase()}`);
    if (sameKind === undefined) kinds.set(`${group}/${kind.toLowerCase()}`, submission);
    else if (sameKind.kind !== kind) {
      clashes.push(
        `${group}/${sameKind.kind} (${sameKind.file}) and ${group}/${kind} (${file}) differ only by case`,
      );
      continue;
    }
    const name = `${group}/${kind}@${release}`;
    const first = byName.get(name);
    if (first === undefined) byName.set(name, submission);
    else if (Buffer.compare(first.bytes, bytes) !== 0) {
      clashes.push(`${name} is defined in ${first.file} and differently in ${file}`);
    }
  }
  if (clashes.length > 0) {
    throw new KrmhubError('usage', clashes.join('; '), {
      hint: 'A release holds one definition. Publish them under several releases, or leave one out.',
    });
  }
  return [...byName.values()];
}
