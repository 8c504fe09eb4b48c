/**
 * The normal form of a KRM function definition: KEP-2906 "Function Metadata Schema", with the runtimes in the text of
 * the KEP that its schema does not have.
 */

/** `apiVersion` of KRMFunctionDefinition, Catalog and KRMFunctionCatalog (KEP-2906). */
export const KRM_API_VERSION = 'config.kubernetes.io/v1alpha1';

export const OPERATING_SYSTEMS = ['linux', 'darwin', 'windows'] as const;
export const ARCHITECTURES = ['amd64', 'arm64'] as const;
export type OperatingSystem = (typeof OPERATING_SYSTEMS)[number];
export type Architecture = (typeof ARCHITECTURES)[number];

export const RUNTIME_KINDS = ['container', 'exec', 'starlark'] as const;
export type RuntimeKind = (typeof RUNTIME_KINDS)[number];

/** The name of a function: its group, and the kind of its functionConfig. */
export interface FunctionName {
  group: string;
  kind: string;
}

/** The `spec` of a KRMFunctionDefinition, and an entry of a catalog's `krmFunctions`. */
export interface FunctionDefinition {
  group: string;
  names: { kind: string };
  description: string;
  publisher: string;
  /** API versions of the functionConfig, in the order of the document. Not releases of the function. */
  versions: FunctionVersion[];
  home?: string;
  maintainers?: string[];
  tags?: string[];
}

export interface FunctionVersion {
  /** API version of the functionConfig, such as `v1` or `v1beta1`. */
  name: string;
  schema: { openAPIV3Schema: JsonObject };
  idempotent: boolean;
  runtime: FunctionRuntime;
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

/** At least one of the runtimes is set. */
export interface FunctionRuntime {
  container?: ContainerRuntime;
  exec?: ExecRuntime;
  /** An https, git or oci reference to the script (KEP-2906, "Proposal"), with its digest: see `ScriptReference`. */
  starlark?: string;
}

export interface ContainerRuntime {
  image: string;
  /** Digest of the image: 64 lower-case hexadecimal digits, without `sha256:`. */
  sha256?: string;
  requireNetwork?: boolean;
  requireStorageMount?: boolean;
}

export interface ExecRuntime {
  platforms: ExecPlatform[];
}

export interface ExecPlatform {
  bin: string;
  os: OperatingSystem;
  arch: Architecture;
  /** An https, git or oci reference to the executable (KEP-2906, "Proposal"). */
  uri: string;
  /** Digest of the file at `uri`: 64 lower-case hexadecimal digits. Absent only if `uri` has an OCI digest. */
  sha256?: string;
}

export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}

/** Returns the kinds of runtime of all API versions, in the order of RUNTIME_KINDS. */
export function runtimeKinds(definition: FunctionDefinition): RuntimeKind[] {
  return RUNTIME_KINDS.filter((kind) =>
    definition.versions.some((version) => version.runtime[kind] !== undefined),
  );
}
