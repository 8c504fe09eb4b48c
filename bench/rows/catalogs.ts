import { setTimeout } from 'node:timers/promises';
import { fillPath } from '@krmhub/api/paths';
import type { Corpus } from '../corpus.js';
import { milliseconds } from '../figures.js';
import { spread } from '../measure.js';
import { newFunctions, publishUntilVisible } from '../publishing.js';
import { type Row, type Target, Unmeasured } from '../row.js';
import { type Server, startServer, waitForBuild } from '../server.js';
import { Random } from '../synthetic/random.js';

const CATALOGS = 300;
/** Recipes that are sent at a time. */
const AT_ONCE = 4;
const TARGET_SECONDS = 30;
/** Milliseconds until a publish is visible meanwhile, for registries of up to so many functions. */
const TARGETS: readonly { functions: number; milliseconds: number }[] = [
  { functions: 1_000, milliseconds: 250 },
  { functions: 10_000, milliseconds: 500 },
  { functions: 100_000, milliseconds: 1_000 },
];
const BETWEEN_PUBLISHES = 500;
/** Publishes after the builds: into many catalogs, of which few contain the function. */
const PUBLISHES = 8;
const DEADLINE_SECONDS = 1_800;

export const catalogs: Row = {
  name: 'catalogs',
  title: 'many catalogs',
  async run(bench, functions) {
    const { tools, folders, effort, report } = bench;
    const filled = await folders.filled(functions);
    if (filled.firstBuild.seconds === undefined) throw new Unmeasured('the first snapshot was not built');
    const count = effort.quick ? 10 : CATALOGS;
    const server = await startServer(tools, await folders.copy(filled), { core: 'any' });
    try {
      await waitForBuild(server, functions, 60);
      const next = newFunctions();
      const visible = async () => {
        const time = await publishUntilVisible(server, next(), { waits: false });
        await setTimeout(BETWEEN_PUBLISHES);
        return time;
      };
      for (let turn = 0; turn < (effort.quick ? 1 : 4); turn++) await visible();
      const names = Array.from({ length: count }, (_, at) => `catalog-${at}`);
      const recipes = names.map((name, at) => recipeText(name, at, filled.corpus));
      report(`catalogs: ${count} recipes over ${functions} functions`);
      const started = performance.now();
      const seconds = () => (performance.now() - started) / 1_000;
      const waiting = new Set(names);
      const during: number[] = [];
      const apply = async () => {
        const left = [...names.entries()];
        const sender = async () => {
          for (let one = left.shift(); one !== undefined; one = left.shift())
            await putRecipe(server, one[1], recipes[one[0]]!);
        };
        await Promise.all(Array.from({ length: AT_ONCE }, sender));
      };
      const publish = async () => {
        while (waiting.size > 0) during.push(await visible());
      };
      const watch = async () => {
        while (waiting.size > 0) {
          for (const name of await builtCatalogs(server)) waiting.delete(name);
          if (seconds() > DEADLINE_SECONDS) throw new Unmeasured(`${waiting.size} catalogs were not built`);
          await setTimeout(250);
        }
        return seconds();
      };
      const [, built] = await Promise.all([apply(), watch(), publish()]);
      const after: number[] = [];
      for (let turn = 0; turn < (effort.quick ? 1 : PUBLISHES); turn++) after.push(await visible());
      const limit = TARGETS.find((target) => functions <= target.functions)?.milliseconds;
      const withTarget = (text: string, met: boolean): { target?: Target } =>
        effort.quick ? {} : { target: { text, met } };
      const visibleLine = (what: string, times: readonly number[]) => {
        const { median, low, high } = spread(times);
        return {
          row: 'catalogs',
          what,
          functions,
          ours: `${milliseconds(median)} (${milliseconds(low)}–${milliseconds(high)})`,
          beside: `${times.length} publishes`,
          ...(limit === undefined ? {} : withTarget(`≤ ${milliseconds(limit)}`, median <= limit)),
          figures: { medianMilliseconds: median, slowestMilliseconds: high },
        };
      };
      return [
        {
          row: 'catalogs',
          what: `first snapshots of ${count} catalogs`,
          functions,
          ours: milliseconds(built * 1_000),
          ...(functions <= 10_000
            ? withTarget(`≤ ${milliseconds(TARGET_SECONDS * 1_000)}`, built <= TARGET_SECONDS)
            : {}),
          figures: { seconds: built },
        },
        visibleLine('a publish until visible meanwhile', during),
        visibleLine('a publish until visible afterwards', after),
      ];
    } finally {
      await server.stop();
    }
  },
};

/** One catalog in ten has everything, three have a tag, and the others a few groups or kinds. */
function recipeText(name: string, at: number, { tags, groups, kinds }: Corpus): string {
  const random = new Random(at + 1);
  const some = (values: readonly string[], count: number) =>
    Array.from({ length: count }, () => random.pick(values));
  const share = at % 10;
  const match =
    share === 0
      ? []
      : share <= 3
        ? some(tags, 1).map((tag) => `{ tags: [${JSON.stringify(tag)}] }`)
        : share <= 6
          ? some(groups, 5).map((group) => `{ group: ${group} }`)
          : some(kinds, 5).map((kind) => `{ kind: ${kind} }`);
  const matching = match.length === 0 ? '' : `    match: [${match.join(', ')}]\n`;
  return `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata:
  name: ${name}
spec:
  sources:
  - name: registry
    functions: {}
${matching}`;
}

async function putRecipe(server: Server, name: string, recipe: string): Promise<void> {
  const target = server.url + fillPath('catalog', { name });
  const response = await fetch(target, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${server.token}`, 'Content-Type': 'application/yaml' },
    body: recipe,
  });
  if (!response.ok) throw new Error(`PUT ${target}: ${response.status} ${await response.text()}`);
  await response.arrayBuffer();
}

/** Returns the names of the catalogs that have a snapshot. */
async function builtCatalogs(server: Server): Promise<string[]> {
  const target = server.url + fillPath('catalogs', {});
  const response = await fetch(target, { headers: { Authorization: `Bearer ${server.token}` } });
  if (!response.ok) throw new Error(`GET ${target}: ${response.status} ${await response.text()}`);
  const { catalogs: listed } = (await response.json()) as CatalogList;
  return listed.filter(({ newest }) => newest !== undefined).map(({ name }) => name);
}

interface CatalogList {
  catalogs: { name: string; newest?: object }[];
}
