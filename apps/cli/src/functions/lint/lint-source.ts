import path from 'node:path';
import { type Diagnostic, type LintRuleset, lint } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { withoutPasswords } from '@krmhub/schema/hide-passwords';
import { type DocumentFile, OCI_SCHEME } from '../../documents/document-files.js';
import { hasOnlyOtherDocuments } from '../../documents/other-documents.js';
import { STDIN_NAME } from '../../io/read-stdin.js';
import { lintOwnDocument } from './lint-own-document.js';

const SCRIPT_NAME = /\.star$/i;

/** The lint result of a file; plain data, so that a thread can send it. */
export interface FileReport {
  name: string;
  /** True for a file in a folder that contains only documents of other kinds. */
  skipped: boolean;
  /** Number of documents of other kinds in a file with definitions. */
  skippedDocuments: number;
  diagnostics: Diagnostic[];
  /** Present if there are diagnostics, which print lines of the file. */
  bytes: Uint8Array | undefined;
}

export interface LintSourceOptions {
  ruleset: LintRuleset;
  /** Canonical. */
  release?: string;
  /** Also skip documents of other kinds in named files. */
  skipOthers: boolean;
  /** The folder that file names are relative to. */
  cwd: string;
}

/** Lints a file. A file in a folder may contain other documents; a named file may not. */
export async function lintSource(source: DocumentFile, options: LintSourceOptions): Promise<FileReport> {
  const { name, bytes } = source;
  if (SCRIPT_NAME.test(name)) {
    const { lintScript } = await import('@krmhub/functions/starlark/lint-script');
    return createReport(source, lintScript(bytes, name), 0);
  }
  const own = await lintOwnDocument(bytes, name, documentFolder(name, options));
  if (own !== undefined) return createReport(source, own, 0);
  const lenient = !source.explicit || options.skipOthers;
  const { ruleset, release } = options;
  const result = lint(bytes, {
    file: name,
    ruleset,
    skipForeign: lenient,
    ...defined({ release }),
  });
  if (lenient && hasOnlyOtherDocuments(result))
    return { name, skipped: true, skippedDocuments: 0, diagnostics: [], bytes: undefined };
  const diagnostics = await withScripts(source, result.diagnostics, options);
  return createReport(source, diagnostics, result.skipped);
}

/** Replaces what is wrong with the form of local references by what is wrong with their scripts. */
async function withScripts(
  { name, bytes }: DocumentFile,
  diagnostics: Diagnostic[],
  { cwd }: LintSourceOptions,
): Promise<Diagnostic[]> {
  if (!diagnostics.some(({ code }) => code === 'starlark/reference')) return diagnostics;
  if (documentFolder(name, { cwd }) === undefined) return diagnostics;
  const { lintLocalScripts } = await import('../../scripts/lint-local-scripts.js');
  return lintLocalScripts(cwd, name, bytes, diagnostics);
}

function createReport(
  { name, bytes }: DocumentFile,
  diagnostics: Diagnostic[],
  skippedDocuments: number,
): FileReport {
  return {
    name,
    skipped: false,
    skippedDocuments,
    diagnostics: diagnostics.map(withoutPasswords),
    bytes: diagnostics.length === 0 ? undefined : bytes,
  };
}

/** Returns the folder of a file; undefined for an OCI artifact. */
function documentFolder(name: string, { cwd }: Pick<LintSourceOptions, 'cwd'>): string | undefined {
  if (name.startsWith(OCI_SCHEME)) return undefined;
  return name === STDIN_NAME ? cwd : path.dirname(path.resolve(cwd, name));
}
