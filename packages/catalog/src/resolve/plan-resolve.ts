/**
 * Finds the catalog entry for a functionConfig, and pins its runtime by digest.
 *
 * @module
 */

import type { FunctionDefinition, FunctionName, FunctionVersion } from '@krmhub/schema';
import { describeNearFunctions, type NearFunction } from './near-functions.js';

/** What a functionConfig asks for. */
export interface ResolveRequest {
  /** `GROUP/VERSION`. */
  apiVersion: string;
  kind: string;
}

/** One catalog of the search order, as far as it is known for this request. */
export interface SearchedCatalog {
  /** Its name in messages. */
  reference: string;
  /** Absent until it was read. */
  answer?: CatalogAnswer;
}

export type CatalogAnswer =
  /** The entries of this group and kind, in the catalog's order, and functions with a similar name. */
  | { type: 'entries'; entries: readonly FunctionDefinition[]; near?: readonly NearFunction[] }
  | { type: 'unavailable'; reason: string };

export type ResolvePlan =
  /** Read this catalog, then plan again. */
  | { type: 'read'; index: number }
  | { type: 'found'; index: number; definition: FunctionDefinition; version: FunctionVersion }
  /** A catalog that is needed cannot be read. */
  | { type: 'unavailable'; index: number; reason: string }
  /** `near` has functions of a similar name, and other API versions of this one, as `APIVERSION KIND`. */
  | { type: 'unresolved'; searched: string[]; near: string[] };

/**
 * Plans how a functionConfig without its own runtime gets one (KEP-2906, "Determining the Function to Execute"): the
 * first entry with its API version and kind, in the order of the catalogs and of the entries in each. A
 * catalog after the match is not read, so it may be unavailable.
 */
export function planResolve(request: ResolveRequest, catalogs: readonly SearchedCatalog[]): ResolvePlan {
  const { version: wanted, ...name } = parseFunction(request);
  const near: NearFunction[] = [];
  for (const [index, { answer }] of catalogs.entries()) {
    if (answer === undefined) return { type: 'read', index };
    if (answer.type === 'unavailable') return { type: 'unavailable', index, reason: answer.reason };
    for (const definition of answer.entries) {
      // An entry of another function would run in place of this one.
      if (definition.group !== name.group || definition.names.kind !== name.kind) continue;
      const version = definition.versions.find((one) => one.name === wanted);
      if (version !== undefined) return { type: 'found', index, definition, version };
      near.push({ ...name, versions: definition.versions.map((one) => one.name) });
    }
    near.push(...(answer.near ?? []));
  }
  return {
    type: 'unresolved',
    searched: catalogs.map(({ reference }) => reference),
    near: describeNearFunctions({ ...name, version: wanted }, near),
  };
}

/** Splits `GROUP/VERSION`. The core API group is empty; no function has it. */
export function parseFunction({ apiVersion, kind }: ResolveRequest): FunctionName & {
  version: string;
} {
  const slash = apiVersion.lastIndexOf('/');
  return { group: apiVersion.slice(0, Math.max(slash, 0)), version: apiVersion.slice(slash + 1), kind };
}
