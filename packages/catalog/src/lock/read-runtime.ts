import { type JsonObject, type Path, RUNTIME_KINDS } from '@krmhub/schema';
import type { FieldReader } from '../policy/document-fields.js';
import { type PinnedRuntime, runtimeRules } from '../runtimes/runtimes.js';
import type { LOCK_CODES } from './codes.js';

export type LockFields = FieldReader<'lock', typeof LOCK_CODES>;

/** Reads the one runtime of a locked function; undefined where an error is reported. */
export function readRuntime(item: JsonObject, at: Path, fields: LockFields): PinnedRuntime | undefined {
  const named = RUNTIME_KINDS.filter((kind) => item[kind] !== undefined);
  const [kind] = named;
  if (kind === undefined || named.length > 1) {
    const found = kind === undefined ? 'no runtime' : `the runtimes ${named.join(' and ')}`;
    fields.report('lock/runtime', at, `the function has ${found}, expected one`);
    return undefined;
  }
  const path = [...at, kind];
  return runtimeRules(kind).readLock(item[kind]!, path, fields);
}
