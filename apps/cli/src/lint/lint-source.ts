import { type Diagnostic, type LintProfile, type LintResult, lint } from '@krmhub/schema';
import type { SourceFile } from '../source-files.js';

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
  profile: LintProfile;
  /** Documents of other kinds are passed over in files that were named, too. */
  skipOthers: boolean;
}

/** What a file of a folder may hold besides definitions and catalogs without being a problem. */
const FOREIGN = new Set(['dialect/unknown-document', 'yaml/empty']);

/** Whether every document of a file is of another kind, or there is none. */
export function holdsSomethingElse({ documents, diagnostics, passedOver }: LintResult): boolean {
  if (documents.length > 0) return false;
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  return errors.length === 0 ? passedOver > 0 : errors.every(({ code }) => FOREIGN.has(code));
}

/** Lints one file as the user meant it: what was found in a folder may hold other things as well. */
export function lintSource(source: SourceFile, options: LintSourceOptions): FileReport {
  const { name, bytes } = source;
  const lenient = !source.explicit || options.skipOthers;
  const result = lint(bytes, { file: name, profile: options.profile, passOverForeign: lenient });
  if (lenient && holdsSomethingElse(result))
    return { name, passedOver: true, passedOverDocuments: 0, diagnostics: [], bytes: undefined };
  const { diagnostics, passedOver } = result;
  return {
    name,
    passedOver: false,
    passedOverDocuments: passedOver,
    diagnostics,
    bytes: diagnostics.length === 0 ? undefined : bytes,
  };
}
