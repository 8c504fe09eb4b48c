import { readDialect, readMachineYaml } from '@krmhub/schema';
import { completeDraft } from '@krmhub/schema/convert/complete-draft';
import { type CatalogEntry, checkEntry } from '@krmhub/schema/read-catalog';

/**
 * Reads the exact bytes of a release's definition into the form of catalog entries. Never throws for what they hold.
 */
export function readPublishedDefinition(bytes: Uint8Array): CatalogEntry {
  const file = 'definition';
  const [value] = readMachineYaml(bytes, { file }).documents;
  const [draft] =
    value === undefined ? [] : readDialect({ value, index: 0, locate: () => undefined }, file).drafts;
  return draft === undefined ? { problem: 'it is not a definition' } : checkEntry(completeDraft(draft).draft);
}
