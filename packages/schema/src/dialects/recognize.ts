import { shorten } from '@krmhub/yaml/read/scalars';
import { CATALOG_KINDS } from '../documents/catalog.js';
import { type JsonValue, KRM_API_VERSION } from '../documents/definition.js';
import type { ConvertSource } from '../documents/formats.js';
import { field, isObject, textField } from '../json/access.js';
import { suggest } from '../names/suggest.js';

export const KREW_GROUP = 'krew.googlecontainertools.github.com';
const PORCH_GROUP = 'config.porch.kpt.dev';

const CONVERT_HINT = 'Convert the file to a definition with `krmhub convert`.';

export const OWN_KINDS = ['KRMFunctionDefinition', ...CATALOG_KINDS];
const LEAVE_OUT_HINT = 'Remove the file from the command: only definitions and catalogs are supported here.';

/** Kinds that are often confused with definitions, with a hint. */
const KNOWN_KINDS: readonly { group: RegExp; kinds: readonly string[]; name: string; hint?: string }[] = [
  { group: /^kpt\.dev$/, kinds: ['Kptfile'], name: 'a Kptfile' },
  {
    group: /^(?:kustomize\.config\.k8s\.io|)$/,
    kinds: ['Kustomization', 'Component', 'Composition'],
    name: 'a kustomize file',
  },
  {
    group: /^apiextensions\.k8s\.io$/,
    kinds: ['CustomResourceDefinition'],
    name: 'a CustomResourceDefinition',
    hint: 'Copy group, names, and versions to a KRMFunctionDefinition, and add a runtime.',
  },
  {
    group: /^krew\.googlecontainertools\.github\.com$/,
    kinds: ['Plugin'],
    name: 'a Krew plugin',
    hint: CONVERT_HINT,
  },
  {
    group: /^config\.porch\.kpt\.dev$/,
    kinds: ['FunctionConfig'],
    name: 'a Porch FunctionConfig',
    hint: CONVERT_HINT,
  },
  {
    group: /^krmhub\.dev$/,
    kinds: ['CatalogRecipe'],
    name: 'a catalog recipe',
    hint: 'Apply the recipe with `krmhub catalog apply`.',
  },
  { group: /^config\.kubernetes\.io$/, kinds: ['ResourceList'], name: 'a ResourceList' },
];

/** Fields of function metadata. The first ones identify it. */
const KPT_FIELDS = ['image', 'sourceURL', 'examplePackageURLs', 'emails', 'description', 'license', 'tags'];
const DISTINCTIVE_KPT_FIELDS = KPT_FIELDS.slice(0, 4);

/**
 * Reports whether a document is function metadata of kpt, which has neither apiVersion nor kind. Configurations of
 * tests and Helm charts can also have an image, but have other fields.
 */
export function isKptMetadata(value: JsonValue): boolean {
  if (!isObject(value) || 'apiVersion' in value || 'kind' in value || 'spec' in value) return false;
  const names = Object.keys(value);
  const known = names.filter((name) => KPT_FIELDS.includes(name));
  if (known.length < 2 || known.length * 2 < names.length) return false;
  return known.some((name) => DISTINCTIVE_KPT_FIELDS.includes(name)) && !isObject(value.image ?? null);
}

/** Reports whether a document is a `catalog.json` of kpt. */
export function isKptList(value: JsonValue): boolean {
  if (!isObject(value) || 'apiVersion' in value || 'kind' in value) return false;
  const { functions } = value;
  if (!Array.isArray(functions)) return false;
  return functions.length === 0
    ? 'version' in value
    : functions.some((item) => isObject(item) && Object.hasOwn(item, 'image'));
}

export function isPorchFunction(value: JsonValue): boolean {
  return (
    apiGroup(textField(value, 'apiVersion') ?? '') === PORCH_GROUP &&
    field(value, 'kind') === 'FunctionConfig'
  );
}

export function isKrewPlugin(value: JsonValue): boolean {
  return apiGroup(textField(value, 'apiVersion') ?? '') === KREW_GROUP && field(value, 'kind') === 'Plugin';
}

/** Returns the format of a document for `convert`; undefined for definitions, catalogs, and other documents. */
export function detectFormat(value: JsonValue): Exclude<ConvertSource, 'kep'> | undefined {
  if (isKptMetadata(value)) return 'kpt-metadata';
  if (isKptList(value)) return 'kpt-list';
  if (isKrewPlugin(value)) return 'krew';
  return isPorchFunction(value) ? 'porch' : undefined;
}

export interface Recognition {
  /** The type of the document in words. */
  name: string;
  /** The hint, if there is one. */
  hint?: string;
  /** It is certainly a resource of another kind. */
  foreign?: true;
  /** It is certainly a definition or catalog with a misspelled or missing kind or apiVersion. */
  misspelled?: true;
}

/** Identifies a document that is not a definition or catalog. */
export function recognizeDocument(value: JsonValue): Recognition {
  if (isKptMetadata(value)) return { name: 'kpt function metadata', hint: CONVERT_HINT };
  if (isKptList(value)) return { name: 'a kpt function list', hint: CONVERT_HINT };
  if (!isObject(value)) return { name: Array.isArray(value) ? 'a list' : 'a single value' };
  const apiVersion = textField(value, 'apiVersion');
  const kind = textField(value, 'kind');
  const known = KNOWN_KINDS.find(
    (entry) =>
      kind !== undefined && entry.kinds.includes(kind) && entry.group.test(apiGroup(apiVersion ?? '')),
  );
  if (known !== undefined) return { name: known.name, hint: known.hint ?? LEAVE_OUT_HINT, foreign: true };
  if (apiVersion === undefined && kind === undefined)
    return { name: 'a document without apiVersion and kind' };
  const spelling = isMisspelled(kind, apiVersion) && { misspelled: true as const };
  if (kind === undefined)
    return { name: `a document of ${shorten(apiVersion ?? '')} without kind`, ...spelling };
  if (apiVersion === undefined) return { name: `a ${shorten(kind)} without apiVersion`, ...spelling };
  const name = `a ${shorten(kind)} of ${shorten(apiVersion)}`;
  // A misspelled kind of ours is an error. Documents of other tools are skipped.
  const ours = OWN_KINDS.includes(kind) || suggest(kind, OWN_KINDS) !== undefined;
  return ours || apiGroup(apiVersion) === apiGroup(KRM_API_VERSION)
    ? { name, ...spelling }
    : { name, hint: LEAVE_OUT_HINT, foreign: true };
}

/** Other tools also have a kind Catalog, but only ours have the long names and our group. */
function isMisspelled(kind: string | undefined, apiVersion: string | undefined): boolean {
  const meant = kind === undefined ? undefined : OWN_KINDS.includes(kind) ? kind : suggest(kind, OWN_KINDS);
  if (meant?.startsWith('KRMFunction')) return true;
  if (apiVersion === undefined) return false;
  if (apiGroup(apiVersion) === apiGroup(KRM_API_VERSION)) return true;
  return meant !== undefined && suggest(apiVersion, [KRM_API_VERSION]) !== undefined;
}

function apiGroup(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash === -1 ? '' : apiVersion.slice(0, slash);
}
