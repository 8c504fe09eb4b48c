import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';

/** Bytes of one entry: it is a definition. */
export const MAX_ENTRY_BYTES = DOCUMENT_LIMITS.maxDefinitionBytes;

/** Why an entry of this size is not read. */
export function tooLarge(size: number): string {
  return `it has ${size} bytes; the limit is ${MAX_ENTRY_BYTES}`;
}
