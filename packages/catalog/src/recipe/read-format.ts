import { CONVERT_SOURCES, isGroup, type JsonObject, type JsonValue, type Path } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { RecipeFields } from './fields.js';
import { RECIPE_LIMITS, type UpstreamCatalog } from './recipe.js';
import { isFilePath, type SourceAddress } from './source-address.js';

const RELEASES = ['folders', 'tags'] as const;

/** Reads the fields of a source with a format. */
export function readFormat(
  catalog: JsonObject,
  at: Path,
  fields: RecipeFields,
): Pick<UpstreamCatalog, 'format' | 'group' | 'groups' | 'paths' | 'releases'> {
  const format = readChoice(catalog, 'format', CONVERT_SOURCES, at, fields);
  const releases = readChoice(catalog, 'releases', RELEASES, at, fields);
  const group = readGroup(catalog.group, [...at, 'group'], fields);
  const groups = readGroups(catalog.groups, [...at, 'groups'], fields);
  const paths = readPaths(catalog.paths, [...at, 'paths'], fields);
  if (group !== undefined && groups !== undefined) {
    const hint = 'Use `group` for one group of all functions, or `groups` to replace some.';
    fields.report('recipe/format', [...at, 'groups'], '`groups` cannot be combined with `group`', { hint });
  }
  for (const name of ['group', 'groups', 'paths', 'releases'] as const) {
    const isNeedless = catalog.format === undefined || (name.startsWith('group') && format === 'kep');
    if (catalog[name] === undefined || !isNeedless) continue;
    const what = catalog.format === undefined ? 'a catalog' : 'definitions and catalogs';
    const message = `\`${name}\` does not apply to ${what}`;
    const hint = `Remove \`${name}\`, or set \`format\` to the format of the files.`;
    fields.report('recipe/format', [...at, name], message, { hint, target: 'key' });
  }
  return defined({ format, group, groups, paths, releases });
}

function readGroup(value: JsonValue | undefined, at: Path, fields: RecipeFields): string | undefined {
  const group = value === undefined ? undefined : fields.text(value, at);
  if (group === undefined || isGroup(group)) return group;
  const hint = 'Use a lower-case DNS name with a dot, such as `fn.example.com`.';
  fields.report('recipe/format', at, `"${group}" is not a valid group`, { hint });
  return undefined;
}

/** Reads a mapping from derived groups to groups. */
function readGroups(
  value: JsonValue | undefined,
  at: Path,
  fields: RecipeFields,
): Record<string, string> | undefined {
  const mapping = value === undefined ? undefined : fields.anyMapping(value, at);
  if (mapping === undefined) return undefined;
  const entries = Object.entries(mapping);
  if (entries.length > RECIPE_LIMITS.maxGroups) {
    const message = `there are ${entries.length} groups; the limit is ${RECIPE_LIMITS.maxGroups}`;
    fields.report('recipe/limit', at, message);
    return undefined;
  }
  return Object.fromEntries(
    entries.flatMap(([from, to]) => {
      const group = readGroup(to, [...at, from], fields);
      return readGroup(from, [...at, from], fields) === undefined || group === undefined
        ? []
        : [[from, group]];
    }),
  );
}

/** Reads folders below the address. They cannot leave it. */
function readPaths(value: JsonValue | undefined, at: Path, fields: RecipeFields): string[] | undefined {
  const list = value === undefined ? undefined : fields.list(value, at, RECIPE_LIMITS.maxPaths);
  if (list?.length === 0) {
    fields.report('recipe/format', at, '`paths` is empty', { hint: 'Add a folder, or remove `paths`.' });
  }
  return list?.flatMap((item, index) => {
    const text = fields.text(item, [...at, index])?.replace(/\/$/, '');
    if (text === undefined || isFilePath(text)) return text ?? [];
    const hint = 'Use a folder relative to the URL, for example `functions/go`.';
    fields.report('recipe/format', [...at, index], `"${text}" is not a path in a folder`, { hint });
    return [];
  });
}

/** Only a git repository has tags, and a ref selects one of them. */
export function checkReleases(
  address: SourceAddress,
  { releases }: Pick<UpstreamCatalog, 'releases'>,
  at: Path,
  fields: RecipeFields,
): void {
  if (releases !== 'tags' || (address.type === 'git' && address.ref === undefined)) return;
  const message =
    address.type === 'git'
      ? '`releases: tags` cannot be combined with a ref'
      : '`releases: tags` requires a git repository';
  const hint = address.type === 'git' ? 'Remove `?ref=…` from the URL.' : 'Remove `releases: tags`.';
  fields.report('recipe/format', [...at, 'releases'], message, { hint });
}

function readChoice<const Choice extends string>(
  catalog: JsonObject,
  name: 'format' | 'releases',
  choices: readonly Choice[],
  at: Path,
  fields: RecipeFields,
): Choice | undefined {
  if (catalog[name] === undefined) return undefined;
  const text = fields.text(catalog[name], [...at, name]);
  const choice = choices.find((one) => one === text);
  if (text === undefined || choice !== undefined) return choice;
  const hint = `Known values: ${choices.join(', ')}.`;
  fields.report(
    'recipe/format',
    [...at, name],
    `unknown ${name === 'format' ? 'format' : 'value'} "${text}"`,
    { hint },
  );
  return undefined;
}
