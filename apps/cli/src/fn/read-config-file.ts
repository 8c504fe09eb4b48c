import path from 'node:path';
import { readFileUpTo } from '@krmhub/consume/files/read-file';
import type { WorkingFolder } from '@krmhub/consume/ports';
import { decodeText, type Resource, readResources, resourceProblem } from '@krmhub/functions/fn';
import { KrmhubError } from '@krmhub/schema/error';
import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';

/** Reads the functionConfig of `--fn-config`. Throws what kpt says: `not-found`, or `invalid-document`. */
export async function readConfigFile(io: WorkingFolder, name: string): Promise<Resource> {
  let bytes: Uint8Array;
  try {
    bytes = await readFileUpTo(io, name);
  } catch (error) {
    if (!(error instanceof KrmhubError) || error.code !== 'not-found') throw error;
    throw new KrmhubError('not-found', `missing function config file: ${name}`, { cause: error });
  }
  if (bytes.byteLength > DOCUMENT_LIMITS.maxSourceBytes) {
    throw new KrmhubError(
      'too-large',
      `cannot read ${name}: more than ${DOCUMENT_LIMITS.maxSourceBytes} bytes`,
    );
  }
  const file = path.resolve(io.cwd, name);
  const resources = readResources(decodeText(bytes, name, { isFile: true }), { path: name });
  const [config] = resources;
  if (config === undefined || resources.length > 1) {
    throw new KrmhubError(
      'invalid-document',
      `functionConfig "${file}" must not contain more than one config, got ${resources.length}`,
    );
  }
  const problem = resourceProblem(config);
  if (problem === undefined) return config;
  throw new KrmhubError('invalid-document', `functionConfig "${file}": ${problem}`);
}
