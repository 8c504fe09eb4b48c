import path from 'node:path';
import { type Diagnostic, type LintRuleset, lint } from '@krmhub/schema';
import { type DocumentFile, OCI_SCHEME } from '../../documents/document-files.js';
import { holdsOnlyOtherDocuments } from '../../documents/other-documents.js';
import { STDIN_NAME } from '../../files/read-file.js';
import { lintOwnDocument } from './lint-own-document.js';

/** What lint says of one file; plain data, so that it can come from another thread. */
export interface FileReport {
  name: string;
  /** The file holds nothing but documents of other kinds, and was not named by the user. */
  passedOver: boolean;
  /** Documents of other kinds that stand beside definitions. */
  passedOverDocuments: number;
  diagnostics: Diagnostic[];
  /** Where there are diagnostics: of a file without problems no line is going to be shown. */
  bytes: Uint8Array | undefined;
}

export interface LintSourceOptions {
  ruleset: LintRuleset;
  /** Documents of other kinds are passed over in files that were named, too. */
  skipOthers: boolean;
  /** What the names of files are relative to. */
  cwd: string;
}

/** Lints one file as the user meant it: what was found in a folder may hold other things as well. */
export async function lintSource(source: DocumentFile, options: LintSourceOptions): Promise<FileReport> {
  const { name, bytes } = source;
  const own = await lintOwnDocument(bytes, name, folderOf(name, options));
  if (own !== undefined) return reportOf(source, own, 0);
  const lenient = !source.explicit || options.skipOthers;
  const result = lint(bytes, { file: name, ruleset: options.ruleset, skipForeign: lenient });
  if (lenient && holdsOnlyOtherDocuments(result))
    return { name, passedOver: true, passedOverDocuments: 0, diagnostics: [], bytes: undefined };
  return reportOf(source, result.diagnostics, result.skipped);
}

function reportOf(
  { name, bytes }: DocumentFile,
  diagnostics: Diagnostic[],
  passedOverDocuments: number,
): FileReport {
  return {
    name,
    passedOver: false,
    passedOverDocuments,
    diagnostics,
    bytes: diagnostics.length === 0 ? undefined : bytes,
  };
}

/** Where files beside this one are; what comes from a registry has none. */
function folderOf(name: string, { cwd }: LintSourceOptions): string | undefined {
  if (name.startsWith(OCI_SCHEME)) return undefined;
  return name === STDIN_NAME ? cwd : path.dirname(path.resolve(cwd, name));
}
