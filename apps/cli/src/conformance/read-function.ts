import path from 'node:path';
import { readFileUpTo } from '@krmhub/consume/files/read-file';
import { lint, readYaml } from '@krmhub/schema';
import type { FunctionDefinition } from '@krmhub/schema/definition';
import { readDialect } from '@krmhub/schema/dialects/read-dialect';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls, plural, shellWord } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { type LocalScript, readLocalScripts, withoutReferences } from '../scripts/local-scripts.js';

/** A function as its author has it. */
export interface AuthoredFunction {
  /** Name of the file of the definition, or the release that it is of. */
  file: string;
  definition: FunctionDefinition;
  /** Scripts that the definition names by their paths. */
  scripts: readonly LocalScript[];
  /** Line of the definition in which an API version says that the function is idempotent. */
  idempotentLine(version: number): number | undefined;
}

/**
 * Reads `definition.yaml` of a folder. Placeholders may be left: what runs is there before it is published. Throws
 * `not-found`, and `invalid-document` after it has printed what is wrong.
 */
export async function readFunction(io: Io, folder: string): Promise<AuthoredFunction> {
  const file = path.join(folder, 'definition.yaml');
  const bytes = await readFileUpTo(io, file).catch((error: unknown) => {
    if (!(error instanceof KrmhubError) || error.code !== 'not-found') throw error;
    throw new KrmhubError('not-found', error.message, {
      hint: 'Start a function: krmhub init GROUP/KIND',
      cause: error,
    });
  });
  return parseFunction(io, file, bytes, await readLocalScripts(io, file, bytes));
}

/** Parses a definition. Throws `invalid-document` after it has printed what is wrong. */
export async function parseFunction(
  io: Io,
  file: string,
  bytes: Uint8Array,
  scripts: readonly LocalScript[],
): Promise<AuthoredFunction> {
  const diagnostics = withoutReferences(lint(bytes, { file }).diagnostics, scripts);
  const errors = diagnostics.filter(
    ({ severity, code }) => severity === 'error' && !code.startsWith('placeholder/'),
  );
  if (errors.length > 0) {
    const { printDiagnostics } = await import('../io/diagnostics.js');
    await printDiagnostics(io, io.stderr, errors, new Map([[file, bytes]]));
    throw new KrmhubError(
      'invalid-document',
      escapeControls(`cannot test ${file}: ${plural(errors.length, 'error')}`),
      { hint: escapeControls(`Fix the errors above, then check: krmhub lint ${shellWord(file)}`) },
    );
  }
  const [document] = readYaml(bytes, { file }).documents;
  const { kind, drafts = [] } = document === undefined ? { kind: undefined } : readDialect(document, file);
  const [draft] = drafts;
  if (kind !== 'KRMFunctionDefinition' || draft === undefined) {
    throw new KrmhubError('invalid-document', escapeControls(`cannot test ${file}: it is not a definition`), {
      hint: 'Start a function: krmhub init GROUP/KIND',
    });
  }
  return {
    file,
    // lint found nothing wrong with its structure.
    definition: draft.spec as unknown as FunctionDefinition,
    scripts,
    idempotentLine: (version) => draft.locate(['versions', version, 'idempotent']).range?.start.line,
  };
}
