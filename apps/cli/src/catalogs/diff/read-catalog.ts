import { SCHEMAS } from '@krmhub/api/generated/response-schemas';
import { findMismatch } from '@krmhub/api/response-schema';
import { readFileUpTo } from '@krmhub/consume/files/read-file';
import { requireNoLimits } from '@krmhub/consume/trust/require-snapshot';
import {
  type Diagnostic,
  DOCUMENT_LIMITS,
  type FunctionDefinition,
  formatPath,
  KrmhubError,
  readDialect,
  readMachineYaml,
} from '@krmhub/schema';
import { shellWord } from '@krmhub/schema/text';
import { OCI_SCHEME } from '../../documents/document-files.js';
import type { Io } from '../../io/io.js';
import { readStdin, STDIN_NAME } from '../../io/read-stdin.js';

/** Diagnostics that do not concern functions. */
const IGNORED_CODES = ['dialect/catalog-name', 'dialect/catalog-labels', 'dialect/unknown-field'];
/** Maximum number of problems to print. */
const MAX_PROBLEMS = 5;

/** Reads the functions of a file, an OCI artifact or stdin. */
export async function readCatalogFile(io: Io, name: string): Promise<FunctionDefinition[]> {
  const maxBytes = DOCUMENT_LIMITS.maxCatalogBytes;
  if (!name.startsWith(OCI_SCHEME)) requireNoLimits(io, name);
  if (name === '-') return parseFunctions(await readStdin(io, maxBytes), STDIN_NAME);
  if (!name.startsWith(OCI_SCHEME)) return parseFunctions(await readFileUpTo(io, name, maxBytes), name);
  const { readArtifact } = await import('../../documents/read-artifact.js');
  return parseFunctions(await readArtifact(io, name, maxBytes), name);
}

/**
 * Parses the functions of all documents, in normal form. Checks only the types of fields, so that documents with lint
 * errors can be compared. Throws `invalid-document`.
 */
export function parseFunctions(bytes: Uint8Array, file: string): FunctionDefinition[] {
  const { documents, diagnostics } = readMachineYaml(bytes, { file });
  const problems = [...diagnostics];
  const functions = documents.flatMap((value, index) => {
    const dialect = readDialect({ value, index, locate: () => undefined }, file);
    problems.push(...dialect.diagnostics.filter(({ code }) => !IGNORED_CODES.includes(code)));
    return dialect.drafts.map(({ spec, locate }) => {
      const wrong = findMismatch(spec, SCHEMAS.FunctionDefinition);
      if (wrong !== undefined) problems.push(fieldDiagnostic(file, formatPath(locate([]).path), wrong));
      return spec as unknown as FunctionDefinition;
    });
  });
  const errors = problems.filter(({ severity }) => severity === 'error');
  if (errors.length === 0) return functions;
  const more = errors.length > MAX_PROBLEMS ? ` (${errors.length - MAX_PROBLEMS} more problems)` : '';
  throw new KrmhubError('invalid-document', `cannot compare ${file}: it is not a valid catalog${more}`, {
    diagnostics: errors.slice(0, MAX_PROBLEMS),
    hint: `List every problem: krmhub lint ${shellWord(file)}`,
  });
}

function fieldDiagnostic(file: string, path: string, wrong: string): Diagnostic {
  return {
    code: 'shape/wrong-type',
    severity: 'error',
    message: `${wrong} is missing or has the wrong type`,
    file,
    path,
    hint: 'Fix the entry, or remove it.',
  };
}
