import type { FunctionDefinition } from './definition.js';

/** The kinds of a catalog: Catalog in the text of the KEP, KRMFunctionCatalog in its schema. */
export const CATALOG_KINDS = ['Catalog', 'KRMFunctionCatalog'] as const;
export type CatalogKind = (typeof CATALOG_KINDS)[number];

/** A catalog document in normal form (KEP-2906, "Proposal"). */
export interface Catalog {
  name: string;
  labels?: Record<string, string>;
  functions: FunctionDefinition[];
}
