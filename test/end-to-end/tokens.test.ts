import { cpSync } from 'node:fs';
import path from 'node:path';
import { sha256 } from '@krmhub/schema';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { krmhubHere } from '../run-here.js';
import { fixtures, type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';

/** Tokens, access tokens of OCI clients, and sessions of the operator pages, from their creation to their end. */

const GROUP = 'functions.example.com';

const { folder, remove } = temporaryFolder();
const data = path.join(folder, 'data');
let registry: RunningRegistry;
let publisher: string;
let pusher: string;

beforeAll(async () => {
  registry = await startRegistry(data);
  for (const release of ['1.0.0', '1.1.0'])
    cpSync(path.join(fixtures, `functions/set-labels/${release}.yaml`), path.join(folder, `${release}.yaml`));
});
afterAll(async () => {
  expect(await registry.stop()).toBe(0);
  remove();
});

const run = (args: string[], token = registry.token, stdin?: string) =>
  krmhubHere(args, {
    cwd: folder,
    env: { ...registry.env, KRMHUB_TOKEN: token },
    ...(stdin === undefined ? {} : { stdin }),
  });
async function does(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(args);
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  return stdout.trim();
}
const ask = (target: string, authorization: string, init: RequestInit = {}) =>
  fetch(registry.url + target, { ...init, headers: { authorization, ...init.headers } });
/** Of requests that may reach different processes. */
async function statusesOf(target: string, authorization: string, init: RequestInit = {}): Promise<number[]> {
  const statuses = [];
  for (let time = 0; time < 2; time++) {
    const answer = await ask(target, authorization, init);
    await answer.body?.cancel();
    statuses.push(answer.status);
  }
  return statuses;
}

it('publishes only in the groups of its token', async () => {
  publisher = await does('token', 'create', 'ci', '--scope', 'publish', '--group', GROUP);
  const elsewhere = await does(
    'token',
    'create',
    'other',
    '--scope',
    'publish',
    '--group',
    'other.example.com',
  );
  const publish = ['publish', '1.0.0.yaml', '--release', '1.0.0'];
  const refused = await run(publish, elsewhere);
  expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining(GROUP)]);
  const published = await run(publish, publisher);
  expect([published.code, published.stderr]).toEqual([0, expect.any(String)]);
  const yank = await run(['yank', `${GROUP}/SetLabels@1.0.0`, '--reason', 'no'], publisher);
  expect(yank.code).toBe(6);
  expect((await run(['token', 'list'], publisher)).code).toBe(6);
  const { tokens } = JSON.parse(await does('token', 'list', '-o', 'json')) as { tokens: { name: string }[] };
  expect(tokens.map(({ name }) => name)).toEqual(expect.arrayContaining(['ci', 'other']));
});

it('pushes with an access token only to the repositories of its token', async () => {
  pusher = await does('token', 'create', 'builds', '--scope', 'push', '--repository', 'team/*');
  const bytes = new Uint8Array(100_000).fill(7);
  const digest = sha256(bytes);
  const scopes = ['team/tools', 'theirs/tools'].map((name) => `scope=repository:${name}:pull,push`).join('&');
  const issued = await ask(`/v2/token?service=krmhub&${scopes}`, `Basic ${btoa(`x:${pusher}`)}`);
  const bearer = `Bearer ${((await issued.json()) as { token: string }).token}`;
  const upload = (repository: string) =>
    statusesOf(`/v2/${repository}/blobs/uploads/?digest=${digest}`, bearer, { method: 'POST', body: bytes });
  expect(await upload('team/tools')).toEqual([201, 201]);
  expect(await upload('theirs/tools')).toEqual([403, 403]);
  // Each piece with the same access token, whichever process receives it.
  const started = await ask('/v2/team/other/blobs/uploads/', bearer, { method: 'POST' });
  expect(started.status).toBe(401);
  const begun = await ask('/v2/team/tools/blobs/uploads/', bearer, { method: 'POST' });
  const place = new URL(begun.headers.get('location')!, registry.url).pathname;
  for (const from of [0, 40_000]) {
    const piece = await ask(place, bearer, { method: 'PATCH', body: bytes.subarray(from, from + 40_000) });
    expect([piece.status, piece.headers.get('range')]).toEqual([202, `0-${from + 39_999}`]);
  }
  const done = await ask(`${place}?digest=${digest}`, bearer, {
    method: 'PUT',
    body: bytes.subarray(80_000),
  });
  expect(done.status).toBe(201);
});

/** A browser of the operator pages. */
class Browser {
  #cookie = '';

  async send(method: string, target: string, fields?: Record<string, string>): Promise<Response> {
    const answer = await fetch(registry.url + target, {
      method,
      redirect: 'manual',
      headers: { accept: 'text/html', origin: new URL(registry.url).origin, cookie: this.#cookie },
      ...(fields === undefined ? {} : { body: new URLSearchParams(fields) }),
    });
    this.#cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? this.#cookie;
    return answer;
  }

  /** Of a page, twice: two processes may show it. */
  async pages(target: string): Promise<string[]> {
    const texts = [];
    for (let time = 0; time < 2; time++) texts.push(await (await this.send('GET', target)).text());
    return texts;
  }
}

it('signs in to the operator pages, creates a token there, and sees its secret once', async () => {
  const browser = new Browser();
  expect((await browser.send('POST', '/sign-in', { token: 'wrong', from: '/operate' })).status).toBe(403);
  const signedIn = await browser.send('POST', '/sign-in', {
    token: registry.token,
    from: '/operate',
  });
  expect(signedIn.status).toBe(303);
  const pages = await browser.pages('/operate/tokens');
  for (const page of pages) expect(page).toContain('builds');
  const formKey = /name="formKey" value="([^"]+)"/.exec(pages[0]!)![1]!;
  const created = await browser.send('POST', '/operate/tokens/new', {
    formKey,
    name: 'of-a-form',
    scopes: 'yank',
    groups: GROUP,
    repositories: '',
    expiresInDays: '30',
  });
  expect(created.status).toBe(303);
  const [first, second] = await browser.pages(created.headers.get('location')!);
  const secret = /krmhub_[a-f0-9]{72}/.exec(first!)![0];
  expect(second).not.toContain(secret);
  expect((await run(['yank', `${GROUP}/SetLabels@1.0.0`, '--reason', 'old'], secret)).code).toBe(0);
  expect((await browser.send('POST', '/sign-out', { formKey })).status).toBe(303);
  const statuses = [];
  for (let time = 0; time < 2; time++) statuses.push((await browser.send('GET', '/operate/tokens')).status);
  expect(statuses).not.toContain(200);
});

it('is accepted until it is revoked, and by no process after that', async () => {
  expect(await statusesOf('/api/v1/whoami', `Bearer ${publisher}`)).toEqual([200, 200]);
  const { id } = JSON.parse((await run(['whoami', '-o', 'json'], publisher)).stdout) as { id: string };
  const issued = await ask('/v2/token?scope=repository:team/tools:push', `Basic ${btoa(`x:${pusher}`)}`);
  const access = `Bearer ${((await issued.json()) as { token: string }).token}`;
  const uploads = { method: 'POST' };
  expect(await statusesOf('/v2/team/tools/blobs/uploads/', access, uploads)).toEqual([202, 202]);

  await does('token', 'revoke', id);
  expect(await statusesOf('/api/v1/whoami', `Bearer ${publisher}`)).toEqual([401, 401]);
  const publish = await run(['publish', '1.1.0.yaml', '--release', '1.1.0'], publisher);
  expect([publish.code, publish.stderr]).toEqual([6, expect.stringContaining('revoked')]);

  const reported = await run(['token', 'report-leak'], '', `${pusher}\n`);
  expect([reported.code, reported.stderr]).toEqual([0, expect.any(String)]);
  expect(await statusesOf('/api/v1/whoami', `Bearer ${pusher}`)).toEqual([401, 401]);
  expect(await statusesOf('/v2/team/tools/blobs/uploads/', access, uploads)).toEqual([401, 401]);
});

it('is the same after a restart', async () => {
  expect(await registry.stop()).toBe(0);
  registry = await startRegistry(data);
  expect(await statusesOf('/api/v1/whoami', `Bearer ${registry.token}`)).toEqual([200, 200]);
  expect(await statusesOf('/api/v1/whoami', `Bearer ${publisher}`)).toEqual([401, 401]);
});
