import { type Digests, seenRoutes, sees } from './seen-routes.js';
import type { Letter, Viewer, World } from './seen-world.js';
import { ABSENT, ADMINISTRATOR, asAbsent, LETTERS, namesLetter, namesWith } from './seen-world.js';

/** Header fields that differ between two equal requests. */
const OWN_FIELDS = new Set([
  'date',
  'x-request-id',
  'ratelimit',
  'ratelimit-policy',
  'retry-after',
  'connection',
  'keep-alive',
]);

interface Answer {
  status: number;
  headers: string;
  body: string;
}

async function answer(world: World, target: string, viewer: Viewer, method = 'GET'): Promise<Answer> {
  // The ID of the request is in the bodies of errors.
  const headers = { ...viewer.headers, 'X-Request-Id': 'seen' };
  const response = await world.request(target, { method, headers, redirect: 'manual' });
  const fields = [...response.headers].filter(([name]) => !OWN_FIELDS.has(name)).sort();
  return { status: response.status, headers: JSON.stringify(fields), body: await response.text() };
}

/** Reads the digests in paths as an administrator. */
export async function readDigests(world: World): Promise<Digests> {
  const headers = { Authorization: world.admin };
  const found: Partial<Digests> = {};
  for (const letter of Object.values(LETTERS)) {
    const { group, kind, catalog, repository } = namesWith(letter);
    const json = async <Body>(target: string) =>
      (await (await world.request(target, { headers })).json()) as Body;
    const release = await json<{ digest: string }>(`/api/v1/functions/${group}/${kind}/releases/1.1.0`);
    const { snapshots } = await json<{ snapshots: { digest: string }[] }>(`/catalogs/${catalog}/snapshots`);
    const manifest = await world.request(`/v2/${repository}/manifests/1`, { headers });
    const { layers } = (await manifest.clone().json()) as { layers: { digest: string }[] };
    found[letter] = {
      definition: release.digest,
      snapshot: snapshots[0]!.digest,
      manifest: manifest.headers.get('docker-content-digest')!,
      layer: layers[0]!.digest,
    };
  }
  return found as Digests;
}

/**
 * Reads everything as everybody, and returns what is wrong: an answer that names what its reader may not see, one that
 * differs from the answer for what does not exist, or a refusal of what its reader may see.
 */
export async function findLeaks(
  world: World,
  viewers: readonly Viewer[],
): Promise<{ wrong: string[]; cells: number }> {
  const { named, lists } = seenRoutes(await readDigests(world));
  const administrator = viewers.find(({ name }) => name === ADMINISTRATOR)!;
  const wrong: string[] = [];
  let cells = 0;
  for (const read of named) {
    for (const method of ['GET', 'HEAD']) {
      const report = (viewer: Viewer, letter: Letter, problem: string) =>
        wrong.push(`${method} ${read.route} ${read.path(letter)} by ${viewer.name}: ${problem}`);
      const expected = new Map<Letter, Answer>();
      for (const letter of Object.values(LETTERS)) {
        expected.set(letter, await answer(world, read.path(letter), administrator, method));
      }
      for (const viewer of viewers) {
        const absent = await answer(world, read.path(ABSENT), viewer, method);
        for (const letter of Object.values(LETTERS)) {
          cells += 1;
          const given = await answer(world, read.path(letter), viewer, method);
          if (sees(viewer, read, letter)) {
            const { status } = expected.get(letter)!;
            if (given.status !== status) report(viewer, letter, `${given.status} in place of ${status}`);
            continue;
          }
          // Of a catalog that is readable, only the function is absent.
          const seesCatalog = read.of.length > 1 && viewer.catalogs.includes(letter);
          const other = seesCatalog ? await answer(world, read.path(ABSENT, letter), viewer, method) : absent;
          const difference = findDifference(given, other, letter);
          if (difference !== undefined) report(viewer, letter, difference);
        }
      }
    }
  }
  for (const { route, path, names } of lists) {
    for (const viewer of viewers) {
      const given = await answer(world, path, viewer);
      for (const letter of Object.values(LETTERS)) {
        cells += 1;
        const seesSome = [viewer.functions, viewer.catalogs, viewer.repositories].some((one) =>
          one.includes(letter),
        );
        // The query names it, too.
        const told = path.includes(letter.repeat(3)) ? '' : given.body + given.headers;
        if (!seesSome && namesLetter(told, letter))
          wrong.push(`${route} ${path} by ${viewer.name} names ${letter}`);
        const mustName = names && viewer === administrator;
        if (mustName && !namesLetter(given.body, letter))
          wrong.push(`${route} ${path} names no ${letter} at all`);
      }
      if (!path.includes('?')) continue;
      for (const letter of ['x', 'y'] as const) {
        if (viewer.functions.includes(letter) || viewer.catalogs.includes(letter)) continue;
        const other = await answer(world, asAbsent(path, letter), viewer);
        if (asAbsent(given.body, letter) !== other.body || given.status !== other.status) {
          wrong.push(`${route} ${path} by ${viewer.name} differs from the one for ${ABSENT}`);
        }
      }
    }
  }
  return { wrong, cells };
}

function findDifference(given: Answer, absent: Answer, letter: Letter): string | undefined {
  if (given.status !== absent.status) return `${given.status}, and ${absent.status} for what does not exist`;
  // An answer can name the groups of the reader's own token.
  const [headers, other] = [asAbsent(given.headers, letter), asAbsent(absent.headers, letter)];
  if (headers !== other) return `header ${headers}, and ${other} for what does not exist`;
  if (asAbsent(given.body, letter) !== asAbsent(absent.body, letter)) {
    return `body ${given.body.slice(0, 300)}, and ${absent.body.slice(0, 300)} for what does not exist`;
  }
  return undefined;
}
