import { setTimeout } from 'node:timers/promises';
import { sha256 } from '@krmhub/schema';
import { Random } from '@krmhub/yaml/testing/random';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { applyAccess, teamBearer } from '../testing/access.js';
import { imageManifest, manifestDigest, testClient } from '../testing/oci.js';
import {
  definitionText,
  openTestRegistry,
  releasePath,
  type TestRegistry,
} from '../testing/test-registry.js';

const RULES = `teams: [{name: ops}, {name: others}]
groups:
- {pattern: secret.example.com, owner: ops, visibility: private}
- {pattern: open.example.com, functions: [{kind: RotateKeys, visibility: private}]}
catalogs:
- {pattern: vault, visibility: private}
repositories:
- {pattern: "ops/*", visibility: private}
- {pattern: "inner/*", visibility: internal}
grants:
- {to: {team: ops}, may: [read], in: {repository: "ops/*"}}
- {to: {team: ops}, may: [read], in: {catalog: vault}}
`;
const LAYER = 'a layer of a hidden image';
const IMAGE = imageManifest([LAYER]);
const HIDDEN = [
  'ops/tools',
  'functions/secret.example.com/setlabels',
  'catalogs/vault',
  'scripts/secret.example.com/tools/deep',
  // Where `krmhub publish` pushes the script of RotateKeys.
  'scripts/open.example.com/rotate-keys',
];
/** As long as the hidden ones: their names are in the responses. */
const ABSENT = [
  'ops/xools',
  'functions/secret.example.com/xetlabels',
  'catalogs/xault',
  'scripts/secret.example.com/tools/xeep',
  'scripts/open.example.com/xotate-keys',
];

/** Repositories whose tags were read. */
const lookedUp: string[] = [];
let registry: TestRegistry;
let ops: string;
let others: string;
const client = testClient(() => registry);
beforeAll(async () => {
  registry = await openTestRegistry({
    wrapStore: (store) => ({
      ...store,
      tags: (name, ...rest) => {
        lookedUp.push(name);
        return store.tags(name, ...rest);
      },
    }),
  });
  const recipe = `apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: vault}\nspec:\n  sources: [{name: ours, functions: {}}]\n`;
  await registry.send('PUT', '/api/v1/catalogs/vault', recipe);
  await registry.publish({ group: 'secret.example.com', kind: 'SetLabels', release: '1.0.0' });
  await registry.publish({ group: 'open.example.com', kind: 'SetLabels', release: '1.0.0' });
  await registry.waitForCatalogs();
  for (const repository of ['ops/tools', 'inner/tools', 'open/tools', HIDDEN[3]!, HIDDEN[4]!]) {
    await client.image(repository, '1', [LAYER]);
  }
  await applyAccess(registry, RULES);
  ops = await teamBearer(registry, 'ops');
  others = await teamBearer(registry, 'others');
});
afterAll(() => registry.close());

interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** A response without what differs for each request, and the name of the repository. */
async function ask(
  target: string,
  repository: string,
  {
    authorization = '',
    method = 'GET',
    headers = {},
  }: { authorization?: string; method?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const response = await client.request(method, target.replace('NAME', repository), {
    authorization,
    headers,
  });
  const hide = (text: string) => text.replaceAll(repository, 'NAME');
  const fields = [...response.headers].filter(
    ([name]) => name !== 'x-request-id' && !name.startsWith('ratelimit'),
  );
  return {
    status: response.status,
    headers: Object.fromEntries(fields.map(([name, value]) => [name, hide(value)])),
    body: hide(await response.text()),
  };
}

const READS = [
  'NAME/tags/list',
  'NAME/tags/list?n=1',
  'NAME/manifests/1',
  'NAME/manifests/latest',
  'NAME/manifests/1.0.0',
  `NAME/manifests/${manifestDigest(IMAGE)}`,
  `NAME/blobs/${sha256(LAYER)}`,
  `NAME/referrers/${manifestDigest(IMAGE)}`,
  `NAME/referrers/${manifestDigest(IMAGE)}?artifactType=x`,
];

describe('a hidden repository', () => {
  it('is not looked up, which would take longer than looking for an absent one', async () => {
    for (const [at, repository] of HIDDEN.entries()) {
      const read = async (name: string) => {
        lookedUp.length = 0;
        for (const target of READS) await ask(target, name);
        return [...lookedUp];
      };
      const [hidden, absent] = [await read(repository), await read(ABSENT[at]!)];
      expect(hidden, repository).not.toContain(repository);
      expect(hidden, repository).toHaveLength(absent.length);
    }
  });

  it.each(READS)('answers an anonymous client as an absent one: %s', async (target) => {
    for (const [at, repository] of HIDDEN.entries()) {
      for (const method of ['GET', 'HEAD']) {
        const hidden = await ask(target, repository, { method });
        expect(hidden.status).toBe(401);
        expect(hidden.headers['www-authenticate']).toContain('scope="repository:NAME:pull"');
        expect(hidden).toEqual(await ask(target, ABSENT[at]!, { method }));
        // Also of a name that no rule covers.
        expect({ ...(await ask(target, 'nobody/has/this', { method })) }).toEqual(hidden);
      }
    }
  });

  it.each(READS)('answers a token without the right as an absent one: %s', async (target) => {
    for (const [at, repository] of HIDDEN.entries()) {
      for (const method of ['GET', 'HEAD']) {
        const hidden = await ask(target, repository, { method, authorization: others });
        expect(hidden).toEqual(await ask(target, ABSENT[at]!, { method, authorization: others }));
        if (!target.includes('referrers')) expect(hidden.status).toBe(404);
      }
    }
  });

  it('has no empty configuration either: functions and catalogs have it without a push, others with an image', async () => {
    const target = `NAME/blobs/${sha256('{}')}`;
    for (const authorization of ['', others]) {
      for (const [at, repository] of HIDDEN.entries()) {
        const hidden = await ask(target, repository, { authorization });
        expect(hidden).toEqual(await ask(target, ABSENT[at]!, { authorization }));
      }
    }
    expect((await ask(target, 'ops/tools', { authorization: ops })).status).toBe(200);
  });

  it('is read by those with the right, and no cache may keep it', async () => {
    const tag = `"${manifestDigest(IMAGE)}"`;
    for (const [target, headers, status] of [
      ['NAME/manifests/1', {}, 200],
      ['NAME/manifests/1', { 'If-None-Match': tag }, 304],
      [`NAME/blobs/${sha256(LAYER)}`, {}, 200],
      [`NAME/blobs/${sha256(LAYER)}`, { 'If-None-Match': `"${sha256(LAYER)}"` }, 304],
      [`NAME/blobs/${sha256(LAYER)}`, { Range: 'bytes=1-3' }, 206],
    ] as const) {
      const answer = await ask(target, 'ops/tools', { authorization: ops, headers });
      expect(answer.status).toBe(status);
      expect(answer.headers['cache-control']).toBe('private, no-store');
      expect(answer.headers.vary).toBe('Authorization, Cookie');
      // An ETag is no right.
      for (const authorization of [others, '']) {
        expect((await ask(target, 'ops/tools', { authorization, headers })).status).toBeGreaterThan(400);
      }
    }
    expect((await ask('NAME/tags/list', 'inner/tools', { authorization: others })).status).toBe(200);
  });

  it('is not a source of blobs for those who may not read it', async () => {
    const digest = sha256(LAYER);
    const mount = async (from: string, authorization: string) => {
      const target = `open/mounted/blobs/uploads/?mount=${digest}&from=${from}`;
      return (await client.request('POST', target, { authorization })).status;
    };
    expect(await mount('ops/tools', others)).toBe(202);
    expect(await mount('ops/xools', others)).toBe(202);
    expect(
      (await client.request('POST', `open/mounted/blobs/uploads/?mount=${digest}`, { authorization: others }))
        .status,
    ).toBe(202);
    expect(await mount('ops/tools', ops)).toBe(201);
  });
});

describe('what a team cannot read', () => {
  it('it does not change, also where everybody may begin groups', async () => {
    const released = { group: 'secret.example.com', kind: 'SetLabels', release: '1.0.0' };
    const admin = `Bearer ${(await registry.token({})).secret}`;
    const pusher = `Bearer ${(await registry.token({ name: 'pusher', scopes: ['push'] })).secret}`;
    // Nobody owns the private group.
    await applyAccess(registry, RULES.replace('owner: ops, ', ''));
    const manifest = () => ask('NAME/manifests/1.0.0', HIDDEN[1]!, { authorization: admin });
    const { headers } = await manifest();
    for (const [authorization, repository] of [
      [others, HIDDEN[0]!],
      [others, HIDDEN[1]!],
      [others, HIDDEN[3]!],
      [pusher, HIDDEN[3]!],
    ] as const) {
      const changed = async (method: string, target: string) =>
        expect((await ask(target, repository, { authorization, method })).status).toBe(403);
      for (const reference of ['1', manifestDigest(IMAGE), headers['docker-content-digest']]) {
        await changed('DELETE', `NAME/manifests/${reference}`);
      }
      await changed('POST', 'NAME/blobs/uploads/');
    }
    const published = await registry.send('PUT', releasePath(released), definitionText(released), others);
    expect(published.status).toBe(403);
    expect((await manifest()).status).toBe(200);
    await applyAccess(registry, RULES);
  });
});

describe('a token that may push to every repository', () => {
  it('cannot tell whether a group exists by pushing its scripts', async () => {
    const { secret } = await registry.token({ name: 'pusher of all', scopes: ['push'] });
    const pushes = (repository: string) =>
      ask('NAME/blobs/uploads/', repository, { method: 'POST', authorization: `Bearer ${secret}` });
    for (const name of ['tools', 'tools/deep', 'set-labels']) {
      const hidden = await pushes(`scripts/secret.example.com/${name}`);
      expect(hidden.status).toBe(403);
      const absent = await pushes(`scripts/xecret.example.com/${name}`);
      expect({ ...hidden, body: hidden.body.replaceAll('secret', 'xecret') }).toEqual(absent);
    }
    expect((await pushes('open/any')).status).toBe(202);
    // Where nothing is hidden, there is nothing to tell, and it keeps the right.
    await applyAccess(registry, 'teams: []\n');
    expect((await pushes('scripts/xecret.example.com/tools')).status).toBe(202);
    await applyAccess(registry, RULES);
  });
});

describe('a token of a team that may sign all catalogs', () => {
  it('cannot tell whether there is a private one', async () => {
    const rights = { groups: ['*'], repositories: ['catalogs/*'], team: 'others' };
    const { secret } = await registry.token({ name: 'signer', scopes: ['push'], ...rights });
    const authorization = `Bearer ${secret}`;
    const changes = [
      ['POST', 'NAME/blobs/uploads/'],
      ['PUT', 'NAME/manifests/1'],
      ['PUT', `NAME/manifests/${manifestDigest(IMAGE)}`],
      ['DELETE', 'NAME/manifests/1'],
      ['DELETE', `NAME/blobs/${sha256(LAYER)}`],
    ] as const;
    for (const [method, target] of changes) {
      const hidden = await ask(target, HIDDEN[2]!, { method, authorization });
      expect([method, target, hidden.status]).toEqual([method, target, 404]);
      expect(hidden).toEqual(await ask(target, ABSENT[2]!, { method, authorization }));
    }
    const issued = async (repository: string) => {
      const query = `token?service=krmhub&scope=repository:${repository}:pull,push,delete`;
      const basic = `Basic ${btoa(`me:${secret}`)}`;
      const response = await client.request('GET', query, { authorization: basic });
      return ((await response.json()) as { token: string }).token;
    };
    // As docker, oras, and cosign ask: with an access token, also one that was issued for another repository.
    const tokensOf = async (repository: string) =>
      Promise.all([repository, 'catalogs/default'].map(async (name) => `Bearer ${await issued(name)}`));
    const [ofHidden, ofAbsent] = [await tokensOf(HIDDEN[2]!), await tokensOf(ABSENT[2]!)];
    for (const [method, target] of changes) {
      for (const [at, token] of ofHidden.entries()) {
        const hidden = await ask(target, HIDDEN[2]!, { method, authorization: token });
        expect([method, target, hidden.status]).toEqual([method, target, 404]);
        expect(hidden).toEqual(await ask(target, ABSENT[2]!, { method, authorization: ofAbsent[at]! }));
      }
    }
    const granted = async (repository: string) => {
      const token = await issued(repository);
      const claims = Buffer.from(token.split('.')[0]!, 'base64url').toString();
      return (JSON.parse(claims) as { access: { actions: string[] }[] }).access.map(({ actions }) => actions);
    };
    expect(await granted(HIDDEN[2]!)).toEqual(await granted(ABSENT[2]!));
    expect(await granted('catalogs/default')).toEqual([['pull', 'push', 'delete']]);
    const upload = await ask('NAME/blobs/uploads/', 'catalogs/default', { method: 'POST', authorization });
    expect(upload.status).toBe(202);
  });
});

describe('a token of a team for one group', () => {
  it('reads a private catalog of the team only if it names the catalog', async () => {
    const reads = async (rights: { groups: string[]; repositories: string[] }) => {
      const name = `${rights.groups} ${rights.repositories}`;
      const { secret } = await registry.token({ name, scopes: ['read'], team: 'ops', ...rights });
      const headers = { Authorization: `Bearer ${secret}` };
      const { status } = await registry.request('/catalogs/vault/catalog.yaml', { headers });
      const { status: pulled } = await ask('NAME/tags/list', HIDDEN[2]!, {
        authorization: headers.Authorization,
      });
      expect(pulled).toBe(status);
      return status;
    };
    const groups = ['open.example.com'];
    expect(await reads({ groups: ['*'], repositories: ['*'] })).toBe(200);
    expect(await reads({ groups, repositories: ['*'] })).toBe(404);
    expect(await reads({ groups, repositories: ['catalogs/vault'] })).toBe(200);
    expect(await reads({ groups, repositories: ['ops/*', 'catalogs/*'] })).toBe(200);
  });
});

describe('a public repository', () => {
  it('needs no token, and what it does not have is not found', async () => {
    for (const repository of ['open/tools', 'functions/open.example.com/setlabels', 'catalogs/default']) {
      expect((await ask('NAME/tags/list', repository)).status).toBe(200);
      expect((await ask('NAME/manifests/99.0.0', repository)).status).toBe(404);
      expect((await ask(`NAME/blobs/${sha256('nothing')}`, repository)).status).toBe(404);
      expect((await ask(`NAME/referrers/${sha256('nothing')}`, repository)).status).toBe(200);
    }
    const { headers } = await ask(`NAME/manifests/${manifestDigest(IMAGE)}`, 'open/tools');
    expect(headers['cache-control']).toBe('public, max-age=31536000, immutable');
  });
});

describe('a token of /v2/token', () => {
  const issue = (authorization: string, ...names: string[]) =>
    issueFor(authorization, ...names.map((name) => `repository:${name}:pull`));
  const issueFor = async (authorization: string, ...scopes: string[]) => {
    const query = scopes.map((scope) => `scope=${scope}`).join('&');
    const response = await client.request('GET', `token?service=krmhub&${query}`, { authorization });
    expect(response.status).toBe(200);
    const { token } = (await response.json()) as { token: string };
    const { access } = JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()) as {
      access: { repository: string; actions: string[] }[];
    };
    return {
      token,
      pulls: access.filter(({ actions }) => actions.includes('pull')).map((one) => one.repository),
    };
  };
  const basic = (bearer: string) => `Basic ${btoa(`me:${bearer.slice('Bearer '.length)}`)}`;

  it('permits pulls where its actor may read, and says nothing about the others', async () => {
    const names = ['open/tools', 'inner/tools', 'ops/tools', ...ABSENT];
    expect((await issue('', ...names)).pulls).toEqual(['open/tools']);
    const reader = await registry.token({ name: 'reader', scopes: ['read'], groups: [], repositories: [] });
    expect((await issue(basic(`Bearer ${reader.secret}`), ...names)).pulls).toEqual([
      'open/tools',
      'inner/tools',
    ]);
  });

  it('reads only what is public, and the repositories that it was issued for', async () => {
    const { token } = await issue(basic(ops), 'open/tools');
    const authorization = `Bearer ${token}`;
    for (const repository of ['ops/tools', 'ops/xools', 'functions/secret.example.com/setlabels']) {
      for (const target of READS) {
        const { status, headers } = await ask(target, repository, { authorization });
        expect(status).toBe(401);
        expect(headers['www-authenticate']).toContain(
          'scope="repository:NAME:pull",error="insufficient_scope"',
        );
      }
    }
    for (const repository of ['open/tools', 'functions/open.example.com/setlabels']) {
      expect((await ask('NAME/tags/list', repository, { authorization })).status).toBe(200);
    }
    const pushing = await client.request('GET', 'token?scope=repository:open/mounts:push', {
      authorization: basic(ops),
    });
    const pusher = `Bearer ${((await pushing.json()) as { token: string }).token}`;
    const mount = `open/mounts/blobs/uploads/?mount=${sha256(LAYER)}&from=ops/tools`;
    expect((await client.request('POST', mount, { authorization: pusher })).status).toBe(202);
    expect((await client.request('POST', mount, { authorization: ops })).status).toBe(201);
    const path = '/api/v1/functions/secret.example.com/SetLabels';
    const statusFor = async (bearer: string) =>
      (await registry.request(path, { headers: { Authorization: bearer } })).status;
    expect([await statusFor(ops), await statusFor(authorization)]).toEqual([200, 404]);
  });

  it('lists what its actor may read only if it was issued for the list', async () => {
    const list = async (token: string) => {
      const { status, headers, body } = await ask('_catalog', '-', { authorization: `Bearer ${token}` });
      if (status !== 200) return headers['www-authenticate'];
      return (JSON.parse(body) as { repositories: string[] }).repositories.filter((name) =>
        name.endsWith('/tools'),
      );
    };
    const challenge = expect.stringContaining('scope="registry:catalog:*",error="insufficient_scope"');
    expect(await list((await issue(basic(ops), 'ops/tools')).token)).toEqual(challenge);
    expect(await list((await issueFor(basic(ops))).token)).toEqual(challenge);
    const scope = 'registry:catalog:*';
    expect(await list((await issueFor(basic(ops), scope)).token)).toEqual([
      'inner/tools',
      'open/tools',
      'ops/tools',
    ]);
    expect(await list((await issueFor(basic(others), scope)).token)).toEqual(['inner/tools', 'open/tools']);
    // Nobody is asked for credentials to list what is public.
    expect(await list((await issue('', 'open/tools')).token)).toEqual(['open/tools']);
    // The list is not what is in it.
    const { token } = await issueFor(basic(ops), scope);
    const pulled = await ask('NAME/manifests/1', 'ops/tools', { authorization: `Bearer ${token}` });
    expect(pulled.status).toBe(401);
  });

  it('reads what its actor may read, as long as that one may', async () => {
    const read = async (token: string) =>
      (await ask('NAME/manifests/1', 'ops/tools', { authorization: `Bearer ${token}` })).status;
    const { token, pulls } = await issue(basic(ops), 'ops/tools');
    expect(pulls).toEqual(['ops/tools']);
    expect(await read(token)).toBe(200);
    expect(await read((await issue(basic(others), 'ops/tools')).token)).toBe(404);
    expect(await read((await issue('', 'ops/tools')).token)).toBe(401);
    await applyAccess(registry, RULES.replaceAll('to: {team: ops}', 'to: {team: others}'));
    expect(await read(token)).toBe(404);
    await applyAccess(registry, RULES);
    expect(await read(token)).toBe(200);
  });
});

it('the pages of the catalog end, and have every repository once that the actor may read', async () => {
  const random = new Random(7);
  const names = Array.from({ length: 40 }, (_, at) => `${random.pick(['ops', 'inner', 'open'])}/many-${at}`);
  for (const name of names) expect((await client.put(name, '1', imageManifest([]))).status).toBe(201);
  // Clients without a token get a list that is at most a second old.
  await setTimeout(1_000);
  const readable = { '': ['open'], [others]: ['open', 'inner'], [ops]: ['open', 'inner', 'ops'] };
  for (const [authorization, owners] of Object.entries(readable)) {
    for (const size of [1, 2, 7, 100]) {
      const found: string[] = [];
      for (let next: string | undefined = `_catalog?n=${size}`; next !== undefined; ) {
        const response: Response = await client.request('GET', next, { authorization });
        const { repositories } = (await response.json()) as { repositories: string[] };
        expect(repositories.length).toBeGreaterThan(0);
        found.push(...repositories);
        next = /^<\/v2\/(.+)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1];
      }
      expect(found.filter((name) => name.includes('/many-'))).toEqual(
        names.filter((name) => owners.includes(name.split('/')[0]!)).sort(),
      );
      expect(new Set(found).size).toBe(found.length);
    }
  }
});
