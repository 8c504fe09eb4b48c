import type { Severity } from '@krmhub/schema';

/** What is refused of a lock file beside what the YAML reader refuses. */
export const LOCK_CODES = {
  'lock/document': {
    severity: 'error',
    summary: 'The file does not contain exactly one Lock of `krmhub.dev/v1alpha1`.',
    fix: 'Create the lock file again: krmhub lock',
  },
  'lock/missing-field': {
    severity: 'error',
    summary: 'A required field is missing.',
    fix: 'Create the lock file again: krmhub lock',
  },
  'lock/unknown-field': {
    severity: 'error',
    summary: 'The field does not exist in a lock file.',
    fix: 'Remove the field, or use the version of krmhub that wrote the file.',
  },
  'lock/wrong-type': {
    severity: 'error',
    summary: 'The value has the wrong type.',
    fix: 'Create the lock file again: krmhub lock',
  },
  'lock/limit': {
    severity: 'error',
    summary: 'A text or a list in the lock file exceeds its limit.',
    fix: 'Lock a smaller package.',
  },
  'lock/digest': {
    severity: 'error',
    summary: 'A digest is not `sha256:` and 64 lower-case hexadecimal digits.',
    fix: 'Create the lock file again: krmhub lock',
  },
  'lock/serial': {
    severity: 'error',
    summary: 'The serial of a catalog is not an integer from 1.',
    fix: 'Create the lock file again: krmhub lock',
  },
  'lock/name': {
    severity: 'error',
    summary: 'A function has no valid apiVersion or kind.',
    fix: 'Use apiVersion and kind of the functionConfig, for example example.com/v1.',
  },
  'lock/reference': {
    severity: 'error',
    summary: 'A function refers to a catalog that is not in the lock file, or the reference is not valid.',
    fix: 'Create the lock file again: krmhub lock',
  },
  'lock/runtime': {
    severity: 'error',
    summary: 'A function has no runtime or several, or its runtime is not pinned by digest.',
    fix: 'Create the lock file again: krmhub lock --upgrade KIND',
  },
  'lock/duplicate': {
    severity: 'error',
    summary: 'A catalog, a function, or a platform appears twice.',
    fix: 'Remove one of the two, for example after a merge, and run: krmhub lock',
  },
} as const satisfies Record<`lock/${string}`, { severity: Severity; summary: string; fix: string }>;

export type LockCode = keyof typeof LOCK_CODES;
