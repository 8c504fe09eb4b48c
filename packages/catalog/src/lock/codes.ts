import { type CodeEntry, error } from '@krmhub/yaml/code-entry';

/** What is refused of a lock file beside what the YAML reader refuses. */
export const LOCK_CODES = {
  'lock/document': error(
    'The file does not contain exactly one Lock of `krmhub.dev/v1alpha1`.',
    'Create the lock file again: krmhub lock',
  ),
  'lock/missing-field': error('A required field is missing.', 'Create the lock file again: krmhub lock'),
  'lock/unknown-field': error(
    'The field does not exist in a lock file.',
    'Remove the field, or use the version of krmhub that wrote the file.',
  ),
  'lock/wrong-type': error('The value has the wrong type.', 'Create the lock file again: krmhub lock'),
  'lock/limit': error('A text or a list in the lock file exceeds its limit.', 'Lock a smaller package.'),
  'lock/digest': error(
    'A digest is not `sha256:` and 64 lower-case hexadecimal digits.',
    'Create the lock file again: krmhub lock',
  ),
  'lock/serial': error(
    'The serial of a catalog is not an integer from 1.',
    'Create the lock file again: krmhub lock',
  ),
  'lock/name': error(
    'A function has no valid apiVersion or kind.',
    'Use apiVersion and kind of the functionConfig, for example example.com/v1.',
  ),
  'lock/reference': error(
    'A function refers to a catalog that is not in the lock file, or the reference is not valid.',
    'Create the lock file again: krmhub lock',
  ),
  'lock/runtime': error(
    'A function has no runtime or several, or its runtime is not pinned by digest.',
    'Create the lock file again: krmhub lock --upgrade KIND',
  ),
  'lock/duplicate': error(
    'A catalog, a function, or a platform appears twice.',
    'Remove one of the two, for example after a merge, and run: krmhub lock',
  ),
} as const satisfies Record<`lock/${string}`, CodeEntry>;

export type LockCode = keyof typeof LOCK_CODES;
