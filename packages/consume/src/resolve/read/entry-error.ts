import { unnamedPosition } from '@krmhub/catalog/resolve/entries/unnamed-entry';
import type { FunctionName } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';

/** The error for an entry that is needed and cannot be used. */
export function entryError(name: FunctionName, problem: string): KrmhubError {
  const position = unnamedPosition(name);
  const entry =
    position === undefined ? `${name.group}/${name.kind}` : `${position}, which has no valid name,`;
  return new KrmhubError('invalid-document', `its entry ${entry} is not valid: ${problem}`, {
    hint: 'Ask the publisher of the catalog to correct it.',
  });
}
