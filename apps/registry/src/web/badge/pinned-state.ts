import { versionFacts } from '@krmhub/catalog';
import type { Derivation } from '../../workers/derive/derivation.js';
import { readDefinition, type StoredDefinition } from '../../workers/derive/stored-definition.js';

/** Whether digests pin what runs, in every API version of a definition; as JSON. */
export const PINNED_STATE: Derivation<{ stored: StoredDefinition }> = {
  name: 'pinned-state',
  async derive(deps, { stored }) {
    const facts = versionFacts(await readDefinition(deps, stored));
    return new TextEncoder().encode(JSON.stringify(facts.every(({ unpinned }) => unpinned.length === 0)));
  },
};
