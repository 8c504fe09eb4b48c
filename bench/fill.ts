import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { displayedRelease, findPredecessor, type PublishPlan, planPublish } from '@krmhub/catalog';
import { registryStores } from './built.js';
import { CorpusCounter } from './corpus.js';
import { SyntheticFunctions, type SyntheticRelease } from './synthetic/definitions.js';

/**
 * Fills a data folder with synthetic functions: `node fill.js COUNT FOLDER`. Uses the planner and the
 * stores of the registry, so that rows, index and facets are the same as those of its server.
 */

/** Definitions planned and made durable in parallel; commits are sequential. */
const BATCH = 200;

const count = Number(process.argv[2]);
const folder = process.argv[3]!;
const { openSqliteStore, releaseArtifact } = await registryStores();
const store = await openSqliteStore(path.join(folder, 'registry.db'));
const source = new SyntheticFunctions(1);
const corpus = new CorpusCounter();
const started = performance.now();

for (let done = 0; done < count; done += BATCH) {
  const functions = Array.from({ length: Math.min(BATCH, count - done) }, () => source.next());
  const first = await Promise.all(functions.map(([release]) => plan(release!, false)));
  for (const planned of first) await commit(planned);
  for (const [, ...later] of functions) {
    for (const release of later) {
      await commit(await plan(release, true));
    }
  }
  for (const releases of functions) corpus.add(releases.at(-1)!);
  const seconds = (performance.now() - started) / 1000;
  process.stderr.write(
    `\rfilling ${count} functions: ${done + functions.length} (${((done + functions.length) / seconds).toFixed(0)}/s) `,
  );
}
process.stderr.write('\n');
await store.close();
await writeFile(path.join(folder, 'corpus.json'), JSON.stringify(corpus.result()));

type Created = Extract<PublishPlan, { outcome: 'created' }>;

async function commit({ change, files }: Created): Promise<void> {
  await store.commitFunction(change, [releaseArtifact(change.release, undefined)], files);
}

async function plan(release: SyntheticRelease, known: boolean): Promise<Created> {
  const { group, kind } = release;
  const current = known ? await store.function(group, kind) : undefined;
  const predecessor = findPredecessor(current, release.release);
  const planned = planPublish({
    name: { group, kind },
    release: release.release,
    bytes: Buffer.from(release.text),
    mediaType: 'application/yaml',
    current,
    currentRelease: undefined,
    displayed: current && (await store.release(group, kind, displayedRelease(current.releases).release)),
    predecessor: predecessor === undefined ? undefined : await store.release(group, kind, predecessor),
    takedowns: [],
    allowBreaking: false,
    now: new Date().toISOString(),
    by: 'bench',
  });
  if (planned.outcome === 'created') return planned;
  throw new Error(`${group}/${kind}@${release.release} cannot be published: ${JSON.stringify(planned)}`);
}
