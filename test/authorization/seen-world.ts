import { createHash } from 'node:crypto';
import path from 'node:path';
import { openConnection } from '../../apps/registry/src/store/sqlite/connection.js';
import { TestBrowser } from '../../apps/registry/src/testing/operator-session.js';
import { definitionText } from '../../apps/registry/src/testing/test-registry.js';
import { query } from '../contracts/postgres.js';
import { type RunningRegistry, settingsOf, startRegistry } from '../running.js';
import { attestationOf } from './guarded-routes.js';
import { ACCESS, FORMER, LETTERS, namesWith, POLICIES } from './seen-names.js';
import { fillViewers, type Viewer } from './seen-viewers.js';

/** A registry at its port, whatever runs behind it. */
export interface World {
  url: string;
  request(target: string, init?: RequestInit): Promise<Response>;
  /** The value of `Authorization` of an administrator. */
  admin: string;
}

/** A client at an address of `KRMHUB_INTERNAL_ADDRESSES` sends this through a trusted proxy. */
export const INSIDE = { 'X-Forwarded-For': '10.9.0.5' };

/** What is internal is only for requests to its host, on any port. */
const PUBLIC_URL = 'http://127.0.0.1';

export const SEEN_SETTINGS = {
  KRMHUB_PUBLIC_URL: PUBLIC_URL,
  KRMHUB_TRUSTED_PROXIES: '127.0.0.1',
  KRMHUB_INTERNAL_ADDRESSES: '10.9.0.0/16',
  KRMHUB_REQUESTS_PER_MINUTE: '0',
  KRMHUB_WRITES_PER_MINUTE: '0',
  KRMHUB_FAILED_LOGINS_PER_MINUTE: '0',
};

export function worldAt({ url, token }: Pick<RunningRegistry, 'url' | 'token'>): World {
  return {
    url,
    admin: `Bearer ${token}`,
    request: (target, init) => fetch(url + target, { redirect: 'manual', ...init }),
  };
}

/** Starts a registry that hides things, and returns everybody who looks at it. */
export async function openWorld(
  folder: string,
): Promise<{ registry: RunningRegistry; world: World; viewers: Viewer[] }> {
  const data = path.join(folder, 'data');
  const before = await startRegistry(data, SEEN_SETTINGS);
  const past = worldAt(before);
  await fillWorld(past);
  const expired = await createToken(past, { name: 'expired', scopes: ['admin'] });
  await before.stop();
  await expire(data, 'expired');
  const registry = await startRegistry(data, SEEN_SETTINGS);
  const world = worldAt(registry);
  await settle(world);
  return { registry, world, viewers: await fillViewers(world, expired) };
}

/** Tokens are made for days. */
async function expire(data: string, name: string): Promise<void> {
  const statement = `UPDATE token SET expires_at = created_at WHERE name = '${name}'`;
  const { KRMHUB_DATABASE_URL: url } = await settingsOf(data);
  if (url !== undefined) return void (await query(url, statement));
  const { client, close } = openConnection(path.join(data, 'registry.db'));
  client.exec(statement);
  close();
}

/** A token to make; lists that are absent cover everything. */
export interface WantedToken {
  name: string;
  scopes: string[];
  groups?: string[];
  repositories?: string[];
  team?: string;
}

/** Returns the secret of a new token. */
export async function createToken(world: World, wanted: WantedToken): Promise<string> {
  const created = await send(world, 'POST', '/api/v1/tokens', wanted, 'application/json');
  return ((await created.json()) as { token: string }).token;
}

/** Sends a change as an administrator. */
export async function send(
  world: World,
  method: string,
  target: string,
  body?: string | object | FormData,
  type = 'application/yaml',
): Promise<Response> {
  const isForm = body instanceof FormData;
  const response = await world.request(target, {
    method,
    headers: { Authorization: world.admin, ...(isForm ? {} : { 'Content-Type': type }) },
    ...(body === undefined ? {} : { body: isForm || typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${target}: ${response.status} ${await response.text()}`);
  return response;
}

/** Makes one of everything for each letter, and then hides it. */
async function fillWorld(world: World): Promise<void> {
  const json = 'application/json';
  for (const letter of Object.values(LETTERS)) {
    const { group, kind, catalog, deleted, repository, word } = namesWith(letter);
    for (const release of ['0.9.0', '1.0.0', '1.1.0']) {
      await send(world, 'PUT', releasePath(letter, release), releaseOf(namesWith(letter), release));
    }
    const { half } = namesWith(letter);
    const inPublic = { group: namesWith('w').group, kind: half, word };
    const path = `/api/v1/functions/${inPublic.group}/${half}/releases/1.1.0`;
    await send(world, 'PUT', path, releaseOf(inPublic, '1.1.0'));
    const reason = { reason: `for ${word}` };
    await send(world, 'POST', `${releasePath(letter, '1.0.0')}/yank`, reason, json);
    const read = await world.request(releasePath(letter, '1.1.0'), {
      headers: { Authorization: world.admin },
    });
    const { digest } = (await read.json()) as { digest: string };
    await send(world, 'POST', `${releasePath(letter, '1.1.0')}/bundles`, attestationOf(digest, 1), json);
    for (const name of [catalog, deleted])
      await send(world, 'PUT', `/api/v1/catalogs/${name}`, recipe(name, group));
    for (const pushed of [repository, `scripts/${group}/${kind.toLowerCase()}`])
      await pushArtifact(world, pushed, word);
    await send(world, 'POST', `${releasePath(letter, '0.9.0')}/takedown`, reason, json);
    await send(world, 'POST', `/api/v1/catalogs/${deleted}/delete`, reason, json);
    const former = `/api/v1/functions/${FORMER.group}/${FORMER.kind}/releases/${FORMER.releases[letter]}`;
    await send(world, 'PUT', former, releaseOf({ ...FORMER, word: 'former' }, FORMER.releases[letter]));
    await send(world, 'POST', `${former}/deprecate`, { replacement: { group, kind } }, json);
  }
  await send(world, 'PUT', '/api/v1/policies', POLICIES);
  await send(world, 'PUT', '/api/v1/access', ACCESS);
}

export function releasePath(letter: string, release: string): string {
  const { group, kind } = namesWith(letter);
  return `/api/v1/functions/${group}/${kind}/releases/${release}`;
}

function releaseOf(
  { group, kind, word }: { group: string; kind: string; word: string },
  release: string,
): FormData {
  const text = definitionText({
    group,
    kind,
    release,
    description: `Does ${word} things.`,
    tags: ['mutator', word],
  });
  const form = new FormData();
  form.append('definition', new Blob([text], { type: 'application/yaml' }), 'definition.yaml');
  const readme = new Blob([`# ${kind}\n\nAbout ${word}.\n`], { type: 'text/markdown' });
  form.append('readme', readme, 'README.md');
  return form;
}

/** The recipe of a public catalog names what some of its readers may not read. */
function recipe(catalog: string, group: string): string {
  const hidden = [namesWith('x'), namesWith('y')];
  const named = hidden.map(
    (one) => `{group: ${one.group}}, {group: ${namesWith('w').group}, kind: ${one.half}}`,
  );
  const others = group === namesWith('w').group ? `, exclude: [${named.join(', ')}]` : '';
  return `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: ${catalog}}
spec:
  description: Functions of ${group}.
  sources: [{name: ours, functions: {}, match: [{group: ${group}}]${others}}]
`;
}

/** Answers of every process in a row. */
const ROUNDS = 6;

/** Resolves when all processes follow the rules, and have the catalogs and the words of functions. */
export async function settle(world: World): Promise<void> {
  const hidden = [namesWith('x'), namesWith('y')];
  const status = async (target: string, authorization = '') => {
    const response = await world.request(target, { headers: { Authorization: authorization } });
    await response.body?.cancel();
    return response.status;
  };
  const text = async (target: string, headers: Record<string, string>) =>
    (await world.request(target, { headers })).text();
  const findLate = async (): Promise<string | undefined> => {
    for (const { group, kind, catalog } of hidden) {
      const shown = await status(`/api/v1/functions/${group}/${kind}`);
      if (shown !== 404) return `${group}/${kind} is not hidden: ${shown}`;
      const entry = `/catalogs/${catalog}/functions/${group}/${kind}.yaml`;
      const served = await status(entry, world.admin);
      if (served !== 200) return `${entry} is not there: ${served}`;
    }
    const found = await text('/api/v1/functions?q=does', { Authorization: world.admin });
    const unfound = hidden.find(({ group, half }) => ![group, half].every((name) => found.includes(name)));
    if (unfound !== undefined) return `a search does not find ${unfound.group} and ${unfound.half}: ${found}`;
    for (const catalog of ['default', namesWith('w').catalog]) {
      const entries = await text(`/catalogs/${catalog}/catalog.yaml`, {});
      const leaked = hidden.find(({ word }) => entries.includes(word));
      if (leaked !== undefined) return `catalog ${catalog} has ${leaked.word}: ${entries}`;
    }
    return undefined;
  };
  const waits = AbortSignal.timeout(300_000);
  for (let rounds = 0; rounds < ROUNDS; ) {
    const late = await findLate();
    rounds = late === undefined ? rounds + 1 : 0;
    if (waits.aborted) throw new Error(`the registry does not follow its Access document: ${late}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Pushes a manifest with one small layer, tagged `1`. */
export async function pushArtifact(world: World, repository: string, word: string): Promise<void> {
  const put = async (bytes: string): Promise<{ digest: string; size: number }> => {
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
    const target = `/v2/${repository}/blobs/uploads/?digest=${digest}`;
    await send(world, 'POST', target, bytes, 'application/octet-stream');
    return { digest, size: bytes.length };
  };
  const mediaType = 'application/vnd.oci.image.manifest.v1+json';
  const manifest = JSON.stringify({
    schemaVersion: 2,
    mediaType,
    artifactType: 'application/vnd.example.test',
    config: { mediaType: 'application/vnd.oci.empty.v1+json', ...(await put('{}')) },
    // Large ones are sent, or redirected, apart from others.
    layers: [{ mediaType: 'text/plain', ...(await put(`about ${word}\n`.repeat(5_000))) }],
  });
  await send(world, 'PUT', `/v2/${repository}/manifests/1`, manifest, mediaType);
}

/** A browser that signed in with a token. */
export async function signIn(world: World, secret: string): Promise<TestBrowser> {
  const browser = new TestBrowser(world, PUBLIC_URL);
  const entered = await browser.signIn(secret);
  if (entered.status !== 303) throw new Error(`cannot sign in: ${entered.status} ${await entered.text()}`);
  return browser;
}
