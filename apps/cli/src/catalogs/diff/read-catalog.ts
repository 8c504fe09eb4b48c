import { SCHEMAS } from '@krmhub/api/generated/response-schemas';
import { findMismatch } from '@krmhub/api/response-schema';
import {
  type Diagnostic,
  DOCUMENT_LIMITS,
  type FunctionDefinition,
  formatPath,
  KrmhubError,
  readDialect,
  readMachineYaml,
} from '@krmhub/schema';
import { OCI_SCHEME } from '../../documents/document-files.js';
import { readFileUpTo, readStdin, STDIN_NAME } from '../../files/read-file.js';
import type { Io } from '../../io/io.js';

/** What says nothing of the functions. */
const PASSED_OVER = ['dialect/catalog-name', 'dialect/catalog-labels', 'dialect/unknown-field'];
/** Problems that are told; a reader needs no more to see what kind of file it is. */
const MAX_PROBLEMS = 5;

/** The functions of a file that the user named, of an artifact or of stdin. */
export async function readCatalogFile(io: Io, name: string): Promise<FunctionDefinition[]> {
  const maxBytes = DOCUMENT_LIMITS.maxCatalogBytes;
  if (name === '-') return functionsOf(await readStdin(io, maxBytes), STDIN_NAME);
  if (!name.startsWith(OCI_SCHEME)) return functionsOf(await readFileUpTo(io, name, maxBytes), name);
  const { readArtifact } = await import('../../documents/read-artifact.js');
  return functionsOf(await readArtifact(io, name, maxBytes), name);
}

/**
 * The functions of all documents of a file, in normal form, with every field of its type. Nothing else is checked: what
 * lint would refuse can be compared. Throws `invalid-document`.
 */
export function functionsOf(bytes: Uint8Array, file: string): FunctionDefinition[] {
  const { documents, diagnostics } = readMachineYaml(bytes, { file });
  const problems = [...diagnostics];
  const functions = documents.flatMap((value, index) => {
    const dialect = readDialect({ value, index, locate: () => undefined }, file);
    problems.push(...dialect.diagnostics.filter(({ code }) => !PASSED_OVER.includes(code)));
    return dialect.drafts.map(({ spec, locate }) => {
      const wrong = findMismatch(spec, SCHEMAS.FunctionDefinition);
      if (wrong !== undefined) problems.push(wrongField(file, formatPath(locate([]).path), wrong));
      return spec as unknown as FunctionDefinition;
    });
  });
  const errors = problems.filter(({ severity }) => severity === 'error');
  if (errors.length === 0) return functions;
  const more =
    errors.length > MAX_PROBLEMS ? `; ${errors.length - MAX_PROBLEMS} more problems are not shown` : '';
  throw new KrmhubError('invalid-document', `${file} is no catalog that can be compared${more}`, {
    diagnostics: errors.slice(0, MAX_PROBLEMS),
    hint: '`krmhub lint` shows every problem of a file with its place.',
  });
}

function wrongField(file: string, path: string, wrong: string): Diagnostic {
  return {
    code: 'shape/wrong-type',
    severity: 'error',
    message: `${wrong} is missing or of another type`,
    file,
    path,
    hint: 'Mend the entry, or leave it out.',
  };
}
