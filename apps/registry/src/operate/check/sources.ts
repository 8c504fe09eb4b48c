import type { Recipe, SourceRecord } from '@krmhub/catalog';
import { type Digest, KrmhubError } from '@krmhub/schema';
import { storedRecipe } from '../../catalogs/stored-recipe.js';
import { COPIES } from '../../store/records/sources/source-rows.js';
import { text } from '../../store/sql/statement.js';
import { type Check, type CheckInput, damage, FROM_BACKUP, information } from './finding.js';

const AGAIN = 'The registry downloads it again at the next sync';

/**
 * Checks that the source rows match the recipes, and that every copy matches. A copy is where its source was synced
 * last, which may be the data folder of another process.
 */
export const checkSources: Check = async function* (input) {
  const { store, client, progress } = input;
  const records = await store.sources();
  const present = client
    .prepare<[string, string], number>(
      'SELECT count(*) FROM upstream_entry WHERE catalog = ? AND source = ? AND gone_at IS NULL',
    )
    .pluck();
  for (const catalog of await store.catalogs()) {
    let recipe: Recipe;
    try {
      recipe = storedRecipe(catalog);
    } catch (error) {
      yield damage(`catalog ${catalog.name}`, (error as Error).message, FROM_BACKUP);
      continue;
    }
    const own = records.filter((record) => record.catalog === catalog.name);
    const wanted = recipe.sources.flatMap(({ name, catalog: upstream }) =>
      upstream === undefined ? [] : [`${name} ${upstream.url}`],
    );
    const rows = own.map(({ source, url }) => `${source} ${url}`);
    for (const one of [...wanted, ...rows]) {
      if (wanted.includes(one) && rows.includes(one)) continue;
      const where = wanted.includes(one) ? 'has no row' : 'is not in the recipe';
      yield damage(`catalog ${catalog.name}`, `its source ${one} ${where}`, FROM_BACKUP);
    }
  }
  for (const record of records) {
    const { catalog, source, copy } = record;
    const subject = `source ${source} of ${catalog}`;
    const entries = present.get(catalog, source)!;
    if (entries !== (copy?.entries ?? 0)) {
      const message = `it has ${entries} entries, but its copy has ${copy?.entries ?? 0}`;
      yield damage(subject, message, FROM_BACKUP);
    }
    if (copy === undefined) continue;
    const problem = await findProblem(input, copy);
    if (problem === undefined || !(await isNamedNow(input, copy.digest))) continue;
    yield problem === MISSING
      ? information(subject, `its copy ${copy.digest} is not in this data folder. ${AGAIN}.`)
      : damage(subject, `its copy ${problem}`, `${AGAIN}.`);
  }
  await progress(`${records.length} sources checked`);
};

const MISSING = 'is missing';
type Copy = NonNullable<SourceRecord['copy']>;

async function findProblem({ copies }: CheckInput, { digest, size }: Copy): Promise<string | undefined> {
  try {
    const bytes = await copies.get(digest);
    if (bytes === undefined) return MISSING;
    if (bytes.byteLength === size) return undefined;
    return `has ${bytes.byteLength} bytes, expected ${size}`;
  } catch (error) {
    if (!(error instanceof KrmhubError)) throw error;
    return error.code === 'internal'
      ? `does not match its digest ${digest}`
      : `cannot be read: ${error.message}`;
  }
}

const named = (copies: string) => `SELECT 1 AS found FROM (${copies}) AS copies WHERE digest = :digest`;
const selectCopy = text(named(COPIES));

/** Reports whether a source still uses the copy. It may have a newer one. */
async function isNamedNow({ now }: CheckInput, digest: Digest): Promise<boolean> {
  return (await now(() => selectCopy.first({ digest }))) !== undefined;
}

/** Checks that every upstream entry matches its rendered entry, its source, and the event that changed it. */
export const checkUpstreamEntries: Check = async function* ({ client }) {
  const broken = client.prepare<[], { subject: string; message: string }>(
    `SELECT one.source || ' of ' || one.catalog || ': ' || one.group_name || '/' || one.kind AS subject,
       CASE
         WHEN source.source IS NULL THEN 'its source is missing'
         WHEN entry.digest IS NULL THEN 'its rendered entry ' || one.definition || ' is missing'
         WHEN entry.json ->> '$.group' IS NOT one.group_name OR entry.json ->> '$.names.kind' IS NOT one.kind
           THEN 'its rendered entry is of another function'
         WHEN lower(one.kind) <> one.kind_folded THEN 'its kind differs from its lookup key'
         ELSE 'the event that changed it is missing'
       END AS message
     FROM upstream_entry AS one
     LEFT JOIN catalog_source AS source ON source.catalog = one.catalog AND source.source = one.source
     LEFT JOIN entry ON entry.digest = one.definition
     WHERE source.source IS NULL OR entry.digest IS NULL OR entry.json ->> '$.group' IS NOT one.group_name
       OR entry.json ->> '$.names.kind' IS NOT one.kind OR lower(one.kind) <> one.kind_folded
       OR NOT EXISTS (SELECT 1 FROM event WHERE sequence = one.changed_event)
     ORDER BY 1`,
  );
  for (const { subject, message } of broken.all()) yield damage(`entry in ${subject}`, message, FROM_BACKUP);
};
