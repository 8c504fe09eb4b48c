import { CONVERT_SOURCES, isGroup, type JsonObject, type Path } from '@krmhub/schema';
import type { RecipeFields } from './fields.js';
import type { UpstreamCatalog } from './recipe.js';
import type { SourceAddress } from './source-address.js';

const RELEASES = ['folders', 'tags'] as const;

/** Reads the fields of a source with a format. */
export function readFormat(
  catalog: JsonObject,
  at: Path,
  fields: RecipeFields,
): Pick<UpstreamCatalog, 'format' | 'group' | 'releases'> {
  const format = readChoice(catalog, 'format', CONVERT_SOURCES, at, fields);
  const releases = readChoice(catalog, 'releases', RELEASES, at, fields);
  const group = catalog.group === undefined ? undefined : fields.text(catalog.group, [...at, 'group']);
  if (group !== undefined && !isGroup(group)) {
    const hint = 'Use a lower-case DNS name with a dot, such as `fn.example.com`.';
    fields.report('recipe/format', [...at, 'group'], `"${group}" is not a valid group`, { hint });
  }
  for (const name of ['group', 'releases'] as const) {
    const isNeedless = catalog.format === undefined || (name === 'group' && format === 'kep');
    if (catalog[name] === undefined || !isNeedless) continue;
    const what = catalog.format === undefined ? 'a catalog' : 'definitions and catalogs';
    const message = `\`${name}\` does not apply to ${what}`;
    const hint = `Remove \`${name}\`, or set \`format\` to the format of the files.`;
    fields.report('recipe/format', [...at, name], message, { hint, target: 'key' });
  }
  return {
    ...(format === undefined ? {} : { format }),
    ...(group === undefined ? {} : { group }),
    ...(releases === undefined ? {} : { releases }),
  };
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
