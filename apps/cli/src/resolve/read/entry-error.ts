import type { FunctionName } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';

/** The error for an entry that is needed and cannot be used. */
export function entryError({ group, kind }: FunctionName, problem: string): KrmhubError {
  return new KrmhubError('invalid-document', `its entry ${group}/${kind} is not valid: ${problem}`, {
    hint: 'Ask the publisher of the catalog to correct it.',
  });
}
