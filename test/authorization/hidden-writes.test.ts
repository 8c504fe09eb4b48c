import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RunningRegistry, temporaryFolder } from '../running.js';
import { type Answer, findDifference } from './check-seen.js';
import { type NamedWrite, namedWrites } from './hidden-writes.js';
import { ABSENT } from './seen-names.js';
import { readDigests } from './seen-repositories.js';
import { HIDDEN_LETTERS } from './seen-routes.js';
import { type Viewer, WITHOUT_SESSION } from './seen-viewers.js';
import { openWorld, type World } from './seen-world.js';

/** Every change × everybody who may not read what it names: the answer is the one for what does not exist. */

const { folder, remove } = temporaryFolder();
let registry: RunningRegistry;
let world: World;
let viewers: Viewer[];

beforeAll(async () => {
  ({ registry, world, viewers } = await openWorld(folder));
});
afterAll(async () => {
  await registry.stop();
  remove();
});

/** All groups are open to them, and all repositories. */
const BEGINNERS = ['others', 'others, as Basic'];

/** Keys of the forms of sessions by the cookie. */
const keys = new Map<string, string>();

async function formKey({ headers }: Viewer): Promise<string> {
  const { Cookie: cookie = '' } = headers;
  const page = keys.has(cookie) ? '' : await (await world.request('/operate', { headers })).text();
  const key = keys.get(cookie) ?? /name="formKey" value="([^"]+)"/.exec(page)?.[1];
  if (key === undefined) throw new Error('the session has no form');
  keys.set(cookie, key);
  return key;
}

async function send(write: NamedWrite, letter: string, viewer: Viewer): Promise<Answer> {
  const { method, path, body, type, isPage = false } = write;
  const isForm = isPage && method === 'POST';
  const key = isForm && viewer.isSession === true ? `formKey=${await formKey(viewer)}&` : '';
  const response = await world.request(path(letter), {
    method,
    headers: {
      ...{ ...viewer.headers, 'X-Request-Id': 'hidden', 'Accept-Encoding': 'identity' },
      ...(type && { 'Content-Type': type }),
      ...(isForm && { Origin: 'http://127.0.0.1', 'Sec-Fetch-Site': 'same-origin' }),
    },
    ...(body && { body: key + body(letter) }),
  });
  const volatile = ['date', 'location', 'docker-upload-uuid', 'docker-upload-location'];
  const fields = [...response.headers].filter(([name]) => !volatile.includes(name));
  const headers = fields.map((field) => field.join(': ')).sort();
  return { status: response.status, headers: headers.join('\n'), body: await response.text() };
}

it('says of what is hidden what it says of what does not exist', async () => {
  const digests = await readDigests(world);
  const wrong: string[] = [];
  let compared = 0;
  const check = async (write: NamedWrite, viewer: Viewer) => {
    const isWithout = viewer.isSession === true && write.isPage !== true;
    const seen = isWithout ? { ...viewer, ...WITHOUT_SESSION } : viewer;
    for (const letter of HIDDEN_LETTERS) {
      const begins = write.begins === true && BEGINNERS.includes(viewer.name);
      if (begins || seen[write.of].includes(letter)) continue;
      const given = await send(write, letter, viewer);
      const absent = await send(write, ABSENT, viewer);
      const difference = findDifference(given, absent, letter);
      compared += 1;
      if (difference !== undefined)
        wrong.push(`${write.method} ${write.path(letter)} by ${viewer.name}: ${difference}`);
    }
  };
  for (const write of namedWrites()) for (const viewer of viewers) await check(write, viewer);
  expect(wrong).toEqual([]);
  expect(compared).toBeGreaterThan(1_500);
  // Nothing was changed.
  expect(await readDigests(world)).toEqual(digests);
});
