import type { Derivation } from '../../workers/derive/derivation.js';
import { readDefinition, type StoredDefinition } from '../../workers/derive/stored-definition.js';

/** The reference of the script of an API version, as JSON: a string, or null without a Starlark runtime. */
export const SCRIPT_REFERENCE: Derivation<{ stored: StoredDefinition; version: string }> = {
  name: 'script-reference',
  async derive(deps, { stored, version }) {
    const { versions } = await readDefinition(deps, stored);
    const { starlark = null } = versions.find(({ name }) => name === version)!.runtime;
    return new TextEncoder().encode(JSON.stringify(starlark));
  },
};
