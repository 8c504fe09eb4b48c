import { sha256 } from '@krmhub/schema';
import { ABSENT, asAbsent, LETTERS, type Letter, namesLetter } from './seen-names.js';
import { readDigests, seenRepositories } from './seen-repositories.js';
import { HIDDEN_LETTERS, type ListRead, type NamedRead, seenRoutes } from './seen-routes.js';
import { ADMINISTRATOR, type Viewer, WITHOUT_SESSION } from './seen-viewers.js';
import type { World } from './seen-world.js';

/** Whether everybody also asks with HEAD, and for what is public, as in the campaign. */
const isFullSize = process.env.KRMHUB_TEST_FULL_SIZE === '1';
/** Otherwise every one of so many does. */
const SAMPLE = 4;
const BUSY_TRIES = 200;

export interface Answer {
  status: number;
  headers: string;
  body: string;
}

/** Asks again while the registry is busy: only some exports run at a time. */
async function ask(world: World, target: string, init: RequestInit): Promise<Response> {
  for (let tries = 1; ; tries += 1) {
    const response = await world.request(target, init);
    if (response.status !== 503 || tries === BUSY_TRIES) return response;
    await response.body?.cancel();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function answer(
  world: World,
  target: string,
  viewer: Pick<Viewer, 'headers'>,
  method = 'GET',
): Promise<Answer> {
  // The ID of the request is in the bodies of errors. How far a body can be compressed depends on the names in it.
  const headers = { ...viewer.headers, 'X-Request-Id': 'seen', 'Accept-Encoding': 'identity' };
  const response = await ask(world, target, { method, headers });
  const fields = [...response.headers].filter(([name]) => name !== 'date').map((field) => field.join(': '));
  const body = await response.text();
  // A digest of the body, which is compared itself, and has names.
  const plain = fields.sort().join('\n').replaceAll(sha256(body), 'DIGEST');
  return { status: response.status, headers: plain, body };
}

/** Returns what a viewer may see at a route: only pages know sessions. */
function sightAt(viewer: Viewer, { isPage }: { isPage?: boolean }): Viewer {
  return viewer.isSession === true && isPage !== true ? { ...viewer, ...WITHOUT_SESSION } : viewer;
}

function sees(viewer: Viewer, read: NamedRead, letter: Letter): boolean {
  if (read.isForAdministrators === true && viewer.name !== ADMINISTRATOR) return false;
  const sight = sightAt(viewer, read);
  // No token but that of the administrator is for the public group.
  const halves =
    viewer.name === ADMINISTRATOR ? sight.functions : sight.functions.filter((one) => one !== 'y');
  return read.of.every((kind) => (kind === 'halves' ? halves : sight[kind]).includes(letter));
}

/**
 * Reads everything as everybody, and returns what is wrong: an answer that names what its reader may not see, one that
 * differs from the answer for what does not exist, or a refusal of what its reader may see.
 */
export async function findLeaks(
  world: World,
  viewers: readonly Viewer[],
): Promise<{ wrong: string[]; cells: number }> {
  const digests = await readDigests(world);
  const [routes, repositories] = [seenRoutes(digests), seenRepositories(digests)];
  const wrong: string[] = [];
  let cells = 0;
  for (const [at, read] of [...routes.named, ...repositories.named].entries()) {
    const some = viewers.filter((_, viewer) => isFullSize || (at + viewer) % SAMPLE === 0);
    const sampled = isFullSize ? Object.values(LETTERS) : HIDDEN_LETTERS;
    for (const [method, who, letters] of [
      ['GET', viewers, sampled],
      ['GET', some, Object.values(LETTERS)],
      ['HEAD', some, sampled],
    ] as const) {
      wrong.push(...(await checkNamed(world, { read, method, letters }, who)));
      cells += who.length * letters.length;
    }
  }
  for (const list of [...routes.lists, ...repositories.lists]) {
    wrong.push(...(await checkList(world, list, viewers)));
    cells += viewers.length * Object.keys(LETTERS).length;
  }
  return { wrong, cells };
}

async function checkNamed(
  world: World,
  { read, method, letters }: { read: NamedRead; method: string; letters: readonly Letter[] },
  viewers: readonly Viewer[],
): Promise<string[]> {
  const administrator = { name: ADMINISTRATOR, headers: { Authorization: world.admin } };
  const wrong: string[] = [];
  const statuses = new Map<Letter, number>();
  for (const letter of letters) {
    const { status } = await answer(world, read.path(letter), administrator, method);
    statuses.set(letter, status);
    const isExpected = read.status === undefined ? status < 400 : [0, status].includes(read.status);
    if (!isExpected) wrong.push(`${method} ${read.path(letter)} has no example: ${status}`);
  }
  const check = async (viewer: Viewer) => {
    const absent = await answer(world, read.path(ABSENT), viewer, method);
    for (const letter of letters) {
      const report = (problem: string) =>
        wrong.push(`${method} ${read.route} ${read.path(letter)} by ${viewer.name}: ${problem}`);
      const given = await answer(world, read.path(letter), viewer, method);
      if (sees(viewer, read, letter)) {
        const status = statuses.get(letter)!;
        if (given.status !== status) report(`${given.status} in place of ${status}`);
        continue;
      }
      // Of what it sees with the letter, it gets hints.
      if (read.of.includes('halves') && sightAt(viewer, read).functions.includes(letter)) continue;
      // Of a catalog that is readable, only the function is absent.
      const seesCatalog = read.of.length > 1 && sightAt(viewer, read).catalogs.includes(letter);
      const other = seesCatalog ? await answer(world, read.path(ABSENT, letter), viewer, method) : absent;
      const difference = findDifference(given, other, letter);
      if (difference !== undefined) report(difference);
    }
  };
  await Promise.all(viewers.map(check));
  return wrong;
}

async function checkList(
  world: World,
  { route, path, names, isPage, isOfFunctions }: ListRead,
  viewers: readonly Viewer[],
): Promise<string[]> {
  const wrong: string[] = [];
  const check = async (everywhere: Viewer) => {
    const viewer = sightAt(everywhere, { isPage: isPage === true });
    const given = await answer(world, path, viewer);
    const seesSome = (letter: Letter) =>
      (isOfFunctions === true
        ? [viewer.functions]
        : [viewer.functions, viewer.catalogs, viewer.repositories]
      ).some((one) => one.includes(letter));
    for (const letter of Object.values(LETTERS)) {
      // The query names it, too.
      const whole = path.includes(letter.repeat(3)) ? '' : given.body + given.headers;
      const told = viewer.team === undefined ? whole : whole.replaceAll(viewer.team, '');
      if (!seesSome(letter) && namesLetter(told, letter))
        wrong.push(`${route} ${path} by ${viewer.name} names ${letter}`);
      if (names && viewer.name === ADMINISTRATOR && !namesLetter(given.body, letter))
        wrong.push(`${route} ${path} names no ${letter} at all`);
    }
    if (!path.includes('?')) return;
    for (const letter of HIDDEN_LETTERS) {
      if (seesSome(letter) || !path.includes(letter.repeat(3))) continue;
      const other = await answer(world, asAbsent(path, letter), viewer);
      const difference = findDifference(given, other, letter);
      if (difference !== undefined) wrong.push(`${route} ${path} by ${viewer.name}: ${difference}`);
    }
  };
  await Promise.all(viewers.map(check));
  return wrong;
}

/** Compares an answer with one for what does not exist. */
export function findDifference(given: Answer, absent: Answer, letter: Letter): string | undefined {
  if (given.status !== absent.status) return `${given.status}, and ${absent.status} for what does not exist`;
  // An answer can name the groups of the reader's own token.
  const [headers, other] = [asAbsent(given.headers, letter), asAbsent(absent.headers, letter)];
  if (headers !== other) {
    const fields = headers.split('\n').filter((field) => !other.split('\n').includes(field));
    return `header ${fields.join(', ') || 'missing'}, unlike for what does not exist`;
  }
  if (asAbsent(given.body, letter) === asAbsent(absent.body, letter)) return undefined;
  return `body ${given.body.slice(0, 300)}, and ${absent.body.slice(0, 300)} for what does not exist`;
}
