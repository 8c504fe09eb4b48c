import { type Diagnostic, type JsonValue, readYaml } from '@krmhub/schema';

/** API versions of recipes, policies, and Access documents. */
const OWN_API_VERSION = /^krmhub\.dev\//;
const RECIPE = 'CatalogRecipe';
const ACCESS = 'Access';
const TRUST = ['SigningPolicy', 'TrustedCatalog', 'CatalogTrust'];
/** A file without one of these words cannot contain such a document. */
const WORDS = [RECIPE, `kind: ${ACCESS}`, ...TRUST];

/**
 * Lints a file that contains a recipe, an Access document, or only policies; returns undefined for other files. Reads the key files of a
 * recipe below `folder`, if it is given.
 */
export async function lintOwnDocument(
  bytes: Uint8Array,
  file: string,
  folder: string | undefined,
): Promise<Diagnostic[] | undefined> {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!WORDS.some((word) => text.includes(word))) return undefined;
  const { documents } = readYaml(bytes, { file });
  const kinds = documents.map(({ value }) => ownKind(value));
  if (kinds.length === 0) return undefined;
  if (kinds.length === 1 && kinds[0] === RECIPE) {
    const { readRecipeBytes } = await import('../../catalogs/recipes/read-recipe-file.js');
    return (await readRecipeBytes(bytes, file, folder)).diagnostics;
  }
  if (kinds.length === 1 && kinds[0] === ACCESS) {
    const { readAccess } = await import('@krmhub/catalog');
    return readAccess(bytes, file).diagnostics;
  }
  if (!kinds.every((kind) => kind !== undefined && TRUST.includes(kind))) return undefined;
  const { readTrust } = await import('@krmhub/catalog');
  return readTrust(bytes, file).diagnostics;
}

function ownKind(value: JsonValue): string | undefined {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return undefined;
  const { apiVersion, kind } = value;
  const isOwn = typeof apiVersion === 'string' && OWN_API_VERSION.test(apiVersion);
  return isOwn && typeof kind === 'string' ? kind : undefined;
}
