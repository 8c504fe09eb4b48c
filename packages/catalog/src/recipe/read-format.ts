import { CONVERT_SOURCES, isGroup } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { Field } from '../fields/field.js';
import type { RecipeField } from './codes.js';
import { RECIPE_LIMITS, type UpstreamCatalog } from './recipe.js';
import { isFilePath, type SourceAddress } from './source-address.js';

const RELEASES = ['folders', 'tags'] as const;

export type CatalogFormat = Pick<UpstreamCatalog, 'format' | 'group' | 'groups' | 'paths' | 'releases'>;

/** Reads the fields of a source with a format. */
export function readFormat(catalog: RecipeField): CatalogFormat {
  const format = readChoice(catalog.get('format'), CONVERT_SOURCES, 'format');
  const releases = readChoice(catalog.get('releases'), RELEASES, 'value');
  const group = readGroup(catalog.get('group'));
  const groups = readGroups(catalog.get('groups'));
  const paths = readPaths(catalog.get('paths'));
  if (group !== undefined && groups !== undefined) {
    const hint = 'Use `group` for one group of all functions, or `groups` to replace some.';
    catalog.get('groups')?.report('recipe/format', '`groups` cannot be combined with `group`', { hint });
  }
  const hasFormat = catalog.get('format') !== undefined;
  for (const name of ['group', 'groups', 'paths', 'releases'] as const) {
    if (hasFormat && !(name.startsWith('group') && format === 'kep')) continue;
    const message = `\`${name}\` does not apply to ${hasFormat ? 'definitions and catalogs' : 'a catalog'}`;
    const hint = `Remove \`${name}\`, or set \`format\` to the format of the files.`;
    catalog.get(name)?.report('recipe/format', message, { hint, target: 'key' });
  }
  return defined({ format, group, groups, paths, releases });
}

function readGroup(field: RecipeField | undefined): string | undefined {
  const group = field?.text();
  if (group === undefined || isGroup(group)) return group;
  const hint = 'Use a lower-case DNS name with a dot, such as `fn.example.com`.';
  field?.report('recipe/format', `"${group}" is not a valid group`, { hint });
  return undefined;
}

/** Reads a mapping from derived groups to groups. */
function readGroups(field: RecipeField | undefined): Record<string, string> | undefined {
  const entries = field?.entries();
  if (entries === undefined) return undefined;
  const { maxGroups } = RECIPE_LIMITS;
  if (entries.length > maxGroups) {
    field?.report('recipe/limit', `there are ${entries.length} groups; the limit is ${maxGroups}`);
    return undefined;
  }
  return Object.fromEntries(
    entries.flatMap(([from, to]) => {
      const group = readGroup(to);
      const isValid = readGroup(new Field(from, to.at, to.reader)) !== undefined;
      return isValid && group !== undefined ? [[from, group]] : [];
    }),
  );
}

/** Reads folders below the address. They cannot leave it. */
function readPaths(field: RecipeField | undefined): string[] | undefined {
  const list = field?.list(RECIPE_LIMITS.maxPaths);
  if (list?.length === 0) {
    field?.report('recipe/format', '`paths` is empty', { hint: 'Add a folder, or remove `paths`.' });
  }
  return list?.flatMap((item) => {
    const text = item.text()?.replace(/\/$/, '');
    if (text === undefined || isFilePath(text)) return text ?? [];
    const hint = 'Use a folder relative to the URL, for example `functions/go`.';
    item.report('recipe/format', `"${text}" is not a path in a folder`, { hint });
    return [];
  });
}

/** Only a git repository has tags, and a ref selects one of them. */
export function checkReleases(
  address: SourceAddress,
  { releases }: CatalogFormat,
  field: RecipeField | undefined,
): void {
  if (releases !== 'tags' || (address.type === 'git' && address.ref === undefined)) return;
  const message =
    address.type === 'git'
      ? '`releases: tags` cannot be combined with a ref'
      : '`releases: tags` requires a git repository';
  const hint = address.type === 'git' ? 'Remove `?ref=…` from the URL.' : 'Remove `releases: tags`.';
  field?.report('recipe/format', message, { hint });
}

function readChoice<const Choice extends string>(
  field: RecipeField | undefined,
  choices: readonly Choice[],
  what: string,
): Choice | undefined {
  const text = field?.text();
  const choice = choices.find((one) => one === text);
  if (text === undefined || choice !== undefined) return choice;
  field?.report('recipe/format', `unknown ${what} "${text}"`, {
    hint: `Known values: ${choices.join(', ')}.`,
  });
  return undefined;
}
