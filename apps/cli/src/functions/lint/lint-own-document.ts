import { type Diagnostic, type JsonValue, readYaml } from '@krmhub/schema';

/** Documents that stand beside definitions and catalogs in the format of the registry's own. */
const OWN_API_VERSION = /^krmhub\.dev\//;
const RECIPE = 'CatalogRecipe';
const TRUST = ['SigningPolicy', 'TrustedCatalog'];
/** Without one of these words in it, a file need not be read a second time. */
const WORDS = [RECIPE, ...TRUST];

/**
 * What is wrong with a file that holds a recipe, or policies and nothing else; undefined for every other file. Keys that
 * a recipe names are looked for below `folder`; where there is none, files are not read.
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
