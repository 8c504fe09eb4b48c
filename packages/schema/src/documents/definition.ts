/**
 * Types and limits of documents in normal form: definitions, catalogs, releases, and snapshots.
 *
 * The normal form of a KRM function definition is that of KEP-2906, "Function Metadata Schema", with the runtimes in
 * the text of the KEP that its schema does not have.
 *
 * @module
 */

import type { JsonObject } from '@krmhub/yaml/json-value';
import { type FunctionRuntime, RUNTIME_KINDS, type RuntimeKind } from './runtimes.js';

export type { JsonObject, JsonValue } from '@krmhub/yaml/json-value';
export * from './runtimes.js';

/** `apiVersion` of KRMFunctionDefinition, Catalog and KRMFunctionCatalog (KEP-2906). */
export const KRM_API_VERSION = 'config.kubernetes.io/v1alpha1';

/** The name of a function: its group, and the kind of its functionConfig. */
export interface FunctionName {
  group: string;
  kind: string;
}

/** The API versions of a definition. */
export interface DefinedVersions {
  /** Those of the functionConfig, in the order of the document. Not releases of the function. */
  versions: FunctionVersion[];
}

/** The name of a function, as definitions have it. */
export interface DefinitionName {
  group: string;
  names: { kind: string };
}

/** The `spec` of a KRMFunctionDefinition, and an entry of a catalog's `krmFunctions`. */
export interface FunctionDefinition extends DefinitionName, DefinedVersions {
  description: string;
  publisher: string;
  home?: string;
  maintainers?: string[];
  tags?: string[];
}

/** What runs: all that many decisions need of an API version. */
export interface RunnableVersion {
  runtime: FunctionRuntime;
}

/** What an API version accepts as functionConfig. */
export interface ConfigVersion {
  /** API version of the functionConfig, such as `v1` or `v1beta1`. */
  name: string;
  schema: { openAPIV3Schema: JsonObject };
}

export interface FunctionVersion extends RunnableVersion, ConfigVersion {
  idempotent: boolean;
  /** The URI of a document that explains how to use the function. */
  usage: string;
  /** URIs of documents with one example each. */
  examples: string[];
  /** An SPDX license expression. */
  license: string;
  /** Overrides the maintainers of the definition for this API version. */
  maintainers?: string[];
  /** The function also accepts a ConfigMap as functionConfig (KEP-2985). */
  configMap?: boolean;
}

/** Returns the kinds of runtime of all API versions, in the order of RUNTIME_KINDS. */
export function runtimeKinds(definition: FunctionDefinition): RuntimeKind[] {
  return RUNTIME_KINDS.filter((kind) =>
    definition.versions.some((version) => version.runtime[kind] !== undefined),
  );
}
