import { type Catalog, type FunctionDefinition, KrmhubError } from '@krmhub/schema';
import { renderDefinition } from '../render/render.js';

/**
 * Splits a catalog into publishable documents, in catalog order (KEP-2906, Story 1). Throws `invalid-document` if the
 * catalog contains a function twice, because a release has one definition.
 */
export function splitCatalog(catalog: Catalog): { definition: FunctionDefinition; bytes: Uint8Array }[] {
  const seen = new Map<string, string>();
  const twice: string[] = [];
  for (const { group, names } of catalog.functions) {
    const name = `${group}/${names.kind}`;
    const first = seen.get(name.toLowerCase());
    if (first === undefined) seen.set(name.toLowerCase(), name);
    else twice.push(first === name ? name : `${first} and ${name}`);
  }
  if (twice.length > 0) {
    throw new KrmhubError('invalid-document', `the catalog has duplicate functions: ${twice.join(', ')}`, {
      hint: 'Move all API versions of a function to one entry. Kinds of one group must not differ only in case.',
    });
  }
  const encoder = new TextEncoder();
  return catalog.functions.map((definition) => ({
    definition,
    bytes: encoder.encode(renderDefinition(definition)),
  }));
}
