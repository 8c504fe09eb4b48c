import type { Digest } from '@krmhub/schema';

/**
 * What a runtime of a definition names: a digest, or for a script without one its tag as `REPOSITORY:TAG`. A takedown
 * asks by these names whether another release uses the same. A digest elsewhere in a definition is not a use.
 */
export type RuntimePin = Digest | `${string}:${string}`;
