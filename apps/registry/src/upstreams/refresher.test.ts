import type { ApplyResult, Source, SourceList } from '@krmhub/api/model';
import { fillPath } from '@krmhub/api/paths';
import { REFRESH_LIMITS } from '@krmhub/catalog';
import { type SnapshotReport, sha256 } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../limits.js';
import { applyAccess } from '../testing/access.js';
import { newKey, type TestKey } from '../testing/signing.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';
import {
  catalogText,
  plainBundle,
  snapshotBundle,
  startUpstream,
  type TestUpstream,
} from '../testing/upstream-server.js';

const HOUR = 3_600_000;
const FILE = '/catalog.yaml';
const BUNDLE = '/snapshot.sigstore.json';

let registry: TestRegistry;
let upstream: TestUpstream;
beforeEach(async () => {
  upstream = await startUpstream();
  registry = await openTestRegistry({ sources: { sourceAddresses: ['127.0.0.1'] } });
});
afterEach(async () => {
  await registry.close();
  await upstream.close();
});

interface RecipeOptions {
  name?: string;
  /** URLs by name of the source. */
  urls?: Record<string, string>;
  minimumAge?: string;
  /** Mirror prefix that replaces `registry.example.com/`. */
  mirror?: string;
  /** Of what entries lack, in YAML. */
  defaults?: string;
  signers?: TestKey[];
}

function recipe({
  name = 'ours',
  urls = { theirs: upstream.origin + FILE },
  minimumAge,
  mirror,
  defaults,
  signers = [],
}: RecipeOptions) {
  const sources = Object.entries(urls).map(
    ([source, url]) =>
      `  - name: ${source}\n    catalog: {url: '${url}', refresh: 1h${minimumAge === undefined ? '' : `, minimumAge: ${minimumAge}`}}\n${mirror === undefined ? '' : `    rewrite: [{from: registry.example.com/, to: ${mirror}}]\n`}${defaults === undefined ? '' : `    defaults: ${defaults}\n`}`,
  );
  const policy = signers.map(
    ({ pem }) => `        - key: |\n${pem.trimEnd().replace(/^/gm, '            ')}\n`,
  );
  return `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: ${name}}
spec:
  sources:
${sources.join('')}${
  signers.length === 0
    ? ''
    : `  policy:
    requireSignature:
    - groups: ['*']
      signers:
${policy.join('').replace(/^ {2}/gm, '')}`
}`;
}

async function call<T>(method: string, target: string, text?: string): Promise<T> {
  const { status, body } = await registry.send<T>(method, target, text);
  expect(status, JSON.stringify(body)).toBeLessThan(300);
  return body;
}

const apply = (options: RecipeOptions = {}) =>
  call<ApplyResult>('PUT', fillPath('catalog', { name: options.name ?? 'ours' }), recipe(options));
/** Tries again as the response 503 asks: the registry waits for syncs only for a while. */
async function cut(name = 'ours'): Promise<void> {
  const attempt = () => registry.send('POST', fillPath('cut', { name }));
  await expect
    .poll(async () => (await attempt()).status, { interval: 10, timeout: 150_000 })
    .toBeLessThan(300);
}
const refresh = (source = 'theirs', name = 'ours') =>
  call<Source>('POST', fillPath('refreshSource', { name, source }));
const put = (entries: Record<string, string>) => {
  const text = catalogText(entries);
  upstream.files.set(FILE, text);
  return text;
};
const kinds = async (name = 'ours') => {
  const places = await registry.parts.store.latestEntryRows(name);
  return places.filter(({ entry }) => entry !== undefined).map(({ kind }) => kind);
};
const events = async () =>
  (await registry.parts.store.events(0, 100)).flatMap(({ type }) =>
    type.startsWith('source.') ? [type] : [],
  );
const report = async () => call<SnapshotReport>('GET', fillPath('catalogReport', { name: 'ours' }));

it('a source with a group that looks like one of the registry has a warning in the report and in the inputs', async () => {
  await registry.publish({ group: 'up.examp1e.com', kind: 'Own', release: '1.0.0' });
  put({ One: 'first' });
  await apply();
  await cut();
  const warning = {
    code: 'look-alike-group',
    group: 'up.example.com',
    message: expect.stringContaining('looks like the group up.examp1e.com of this registry: '),
    like: 'up.examp1e.com',
  };
  expect((await report()).sources![0]).toMatchObject({ state: 'current', warnings: [warning] });
  expect(await kinds()).toEqual(['One']);
  const inputs = await registry.request(fillPath('catalogInputs', { name: 'ours' }), {
    headers: { Authorization: await registry.bearer() },
  });
  const [head = ''] = (await inputs.text()).split('\n');
  expect(JSON.parse(head).sources[0].warnings).toEqual([warning]);
  const page = await (await registry.request('/catalogs/ours/report')).text();
  expect(page).toContain('Look-alike groups');
  // A sync without a change keeps it, and one with a change compares again.
  await refresh();
  await cut();
  expect((await report()).sources![0]!.warnings).toHaveLength(1);
  upstream.files.set(FILE, catalogText({ One: 'first' }).replaceAll('up.example.com', 'other.org'));
  await refresh();
  await cut();
  expect((await report()).sources![0]).not.toHaveProperty('warnings');
});

it('a source with groups that look like owned ones without functions, or with an encoded label, has warnings', async () => {
  await applyAccess(
    registry,
    `teams: [{name: platform}]
groups:
- {pattern: "*.hidden.exarnple.com", owner: platform, visibility: private}
- {pattern: "*.up.examp1e.com", owner: platform}`,
  );
  const { store } = registry.parts;
  const at = '2030-01-01T00:00:00.000Z';
  const claim = { group: 'proved.org', team: 'platform', proof: 'dns' } as const;
  await store.putOwnerClaim({ ...claim, claimedAt: at, claimedBy: 'ci', checkedAt: at });
  const groups = ['up.example.com', 'prooved.org', 'xn--exmple-cua.org', 'unlike.net'];
  const entries = { One: 'first', Two: 'second', Three: 'third', Four: 'fourth' };
  const text = catalogText(entries).replaceAll('up.example.com', () => groups.shift()!);
  upstream.files.set(FILE, text);
  await apply();
  await cut();
  const [source] = (await report()).sources!;
  expect(source!.warnings?.map(({ group, like }) => [group, like])).toEqual([
    ['up.example.com', '*.up.examp1e.com'],
    ['prooved.org', 'proved.org'],
    ['xn--exmple-cua.org', 'xn--exmple-cua.org'],
  ]);
  // It is told to those who may read the pattern.
  await applyAccess(
    registry,
    `teams: [{name: platform}]
groups: [{pattern: "*.up.examp1e.com", owner: platform, visibility: private}]`,
  );
  const page = await (await registry.request('/catalogs/ours/report')).text();
  expect([page.includes('examp1e.com'), page.includes('prooved.org')]).toEqual([false, true]);
});

describe('a source with defaults', () => {
  const lacking = () =>
    upstream.files.set(FILE, catalogText({ One: 'first' }).replace(/^ *(?:publisher|license): .*\n/gm, ''));
  const served = async () => {
    const { store } = registry.parts;
    const { serial } = (await store.catalog('ours'))!.newest!;
    return (
      (await store.snapshotEntry('ours', serial, { group: 'up.example.com', kind: 'One' }))?.json ?? '{}'
    );
  };

  it('has its copy read again when a recipe adds or changes them, though no byte has changed', async () => {
    lacking();
    await apply();
    await cut();
    expect(await kinds()).toEqual([]);
    expect((await report()).sources![0]).toMatchObject({ invalidEntries: 1 });
    for (const license of ['MIT', 'Apache-2.0']) {
      await apply({ defaults: `{license: ${license}}` });
      await cut();
      expect(JSON.parse(await served())).toMatchObject({
        publisher: 'up.example.com',
        versions: [{ license }],
      });
    }
    expect(upstream.requests.filter(({ path }) => path === FILE).length).toBeGreaterThan(1);
    await apply();
    await cut();
    expect(await kinds()).toEqual([]);
  });

  it('is reported with the fields that were filled in', async () => {
    lacking();
    await apply({ defaults: '{publisher: Up Co}' });
    await cut();
    const filled = {
      completed: [{ entry: 0, group: 'up.example.com', kind: 'One', fields: ['publisher', 'license'] }],
      completedEntries: 1,
    };
    expect((await report()).sources![0]).toMatchObject({ invalidEntries: 0, ...filled });
    expect((await refresh()).copy).toMatchObject(filled);
    expect(JSON.parse(await served())).toMatchObject({
      publisher: 'Up Co',
      versions: [{ license: 'LicenseRef-unknown' }],
    });
    const page = await (await registry.request('/catalogs/ours/report')).text();
    expect(page).toContain('Completed entries');
    expect(page).toContain('publisher, license');
  });

  it('is not reported where nothing was lacking', async () => {
    put({ One: 'first' });
    await apply({ defaults: '{publisher: Up Co}' });
    await cut();
    expect((await report()).sources![0]).not.toHaveProperty('completed');
    expect(JSON.parse(await served())).toMatchObject({ publisher: 'Upstream Co' });
  });
});

describe('a source', () => {
  it('keeps its last good copy while its new address fails', async () => {
    put({ One: 'first' });
    await apply();
    await cut();
    const mistyped = `${upstream.origin}/catalgo.yaml`;
    await apply({ urls: { theirs: mistyped } });
    await cut();
    expect(await kinds()).toEqual(['One']);
    const [source] = (await call<SourceList>('GET', `${fillPath('sources', {})}?catalog=ours`)).sources;
    expect(source).toMatchObject({
      url: mistyped,
      state: 'stale',
      problem: 'not-found',
      copy: { formerUrl: upstream.origin + FILE, entries: 1 },
    });
    expect((await report()).sources![0]!.reason).toContain(
      `the copy from ${upstream.origin}${FILE} is used until a sync succeeds`,
    );
    upstream.files.set('/catalgo.yaml', catalogText({ Two: 'second' }));
    expect((await refresh()).copy).not.toHaveProperty('formerUrl');
    await cut();
    expect(await kinds()).toEqual(['Two']);
  });

  it('is fetched when its recipe is applied, and its entries are in the catalog', async () => {
    const text = put({ One: 'first', Two: 'second' });
    await apply();
    await cut();
    expect(await kinds()).toEqual(['One', 'Two']);
    const { sources } = await call<SourceList>('GET', `${fillPath('sources', {})}?catalog=ours`);
    expect(sources).toEqual([
      {
        catalog: 'ours',
        source: 'theirs',
        url: upstream.origin + FILE,
        state: 'current',
        nextAt: expect.any(String),
        checkedAt: expect.any(String),
        copy: {
          digest: sha256(text),
          size: text.length,
          fetchedAt: sources[0]!.checkedAt,
          entries: 2,
          invalid: [],
          invalidEntries: 0,
          signedBy: [],
        },
      },
    ]);
    const copy = await registry.request(fillPath('sourceCopy', { name: 'ours', source: 'theirs' }), {
      headers: { Authorization: await registry.bearer() },
    });
    expect(await copy.text()).toBe(text);
    expect(await events()).toEqual(['source.changed']);
  });

  it('that hangs does not delay the source of a new recipe', async () => {
    let asked = 0;
    upstream.misbehave = () => void asked++;
    await apply();
    await expect.poll(() => asked).toBe(1);
    const demanded = refresh();
    upstream.misbehave = undefined;
    upstream.files.set('/other.yaml', catalogText({ Other: 'other' }));
    await apply({ urls: { theirs: `${upstream.origin}/other.yaml` } });
    await cut();
    expect(await kinds()).toEqual(['Other']);
    expect(await demanded).toMatchObject({ url: `${upstream.origin}/other.yaml`, state: 'current' });
  });

  it('is synced on time although many others hang', async () => {
    const dead = await Promise.all(Array.from({ length: SERVER_LIMITS.maxRefreshes }, () => startUpstream()));
    try {
      put({ One: 'first' });
      const urls = dead.map(({ origin }, at) => [`dead${at}`, origin + FILE]);
      await apply({ urls: { theirs: upstream.origin + FILE, ...Object.fromEntries(urls) } });
      await cut();
      let hanging = 0;
      for (const one of dead) one.misbehave = () => void hanging++;
      registry.advance(2 * HOUR);
      put({ One: 'first', Two: 'second' });
      registry.parts.refresher.wake();
      await expect.poll(() => kinds()).toEqual(['One', 'Two']);
      expect(hanging).toBe(SERVER_LIMITS.maxRefreshesOfFailed);
    } finally {
      await registry.close();
      for (const one of dead) await one.close();
    }
  });

  it('is synced again when it is due, and not before', async () => {
    put({ One: 'first' });
    await apply();
    await cut();
    registry.parts.refresher.wake();
    registry.advance(HOUR - 60_000);
    registry.parts.refresher.wake();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(upstream.requests).toHaveLength(1);
    put({ One: 'other', Three: 'third' });
    registry.advance(120_000);
    registry.parts.refresher.wake();
    await expect.poll(() => kinds()).toEqual(['One', 'Three']);
    expect(upstream.requests).toHaveLength(2);
    expect(await events()).toEqual(['source.changed', 'source.changed']);
  });

  it('is fetched conditionally, and changes nothing if it is unchanged', async () => {
    put({ One: 'first' });
    await apply();
    await cut();
    const last = await registry.parts.store.lastEvent();
    const { checkedAt: first } = await refresh();
    const { checkedAt: second } = await refresh();
    expect(second! > first!).toBe(true);
    expect(upstream.requests.map(({ unchanged }) => unchanged)).toEqual([false, true, true]);
    expect(await registry.parts.store.lastEvent()).toBe(last);
  });

  it('keeps its last good copy while it fails, and reports the problem', async () => {
    put({ One: 'first' });
    await apply();
    await cut();
    for (const [misbehave, problem] of [
      [(_: unknown, response: { destroy(): void }) => response.destroy(), 'unreachable'],
      [(_: unknown, response: { end(text: string): void }) => response.end('<html>'), 'invalid-catalog'],
    ] as const) {
      upstream.misbehave = misbehave as never;
      const failing = await refresh();
      expect(failing).toMatchObject({ state: 'stale', problem, failingSince: expect.any(String) });
      expect(failing.copy?.entries).toBe(1);
    }
    expect(await kinds()).toEqual(['One']);
    expect((await report()).sources).toMatchObject([{ source: 'theirs', state: 'stale' }]);
    const metrics = await (await registry.request('/metrics')).text();
    expect(metrics).toMatch(/^krmhub_source_failing_seconds\{catalog="ours",source="theirs"\} \d+\.\d+$/m);
    expect(metrics).toContain('outcome="unreachable"} 1');
    upstream.misbehave = undefined;
    expect(await refresh()).toMatchObject({ state: 'current' });
    expect(await events()).toEqual(['source.changed', 'source.failing', 'source.recovered']);
  });

  it('that fails from the start is missing, and does not delay the others', async () => {
    put({ One: 'first' });
    await apply({ urls: { theirs: upstream.origin + FILE, gone: `${upstream.origin}/gone.yaml` } });
    await cut();
    expect(await kinds()).toEqual(['One']);
    expect((await report()).sources).toMatchObject([
      { source: 'theirs', state: 'current' },
      { source: 'gone', state: 'missing', reason: expect.any(String) },
    ]);
    const { failure, nextAt } = (await registry.parts.store.source('ours', 'gone'))!;
    expect(failure).toMatchObject({ problem: 'not-found', attempts: 1 });
    const delay = Date.parse(nextAt) - Date.parse(failure!.since);
    expect(delay).toBe(REFRESH_LIMITS.firstRetrySeconds * 1_000);
  });

  it('cannot use an address that the operator has not allowed', async () => {
    const port = new URL(upstream.origin).port;
    await apply({ urls: { v6: `http://[::1]:${port}${FILE}`, name: `http://metadata.localhost:1/` } });
    await cut();
    const { sources } = await call<SourceList>('GET', fillPath('sources', {}));
    expect(sources.map(({ state }) => state)).toEqual(['missing', 'missing']);
    expect(sources.map(({ problem }) => problem)).toContain('forbidden-address');
    expect(upstream.requests).toEqual([]);
  });

  it('keeps its copy when a catalog is hostile or takes too long to read', async () => {
    put({ One: 'first' });
    await apply();
    await cut();
    for (const hostile of [
      `a: &a [${'x,'.repeat(1_000)}]\n${Array.from({ length: 9 }, (_, at) => `b${at}: &b${at} [${`*${at === 0 ? 'a' : `b${at - 1}`},`.repeat(9)}]`).join('\n')}`,
      '['.repeat(100_000),
      `${catalogText({})}---\n${catalogText({})}`,
      Buffer.from([0xff, 0xfe, 0x00]),
    ]) {
      upstream.files.set(FILE, hostile);
      expect(await refresh()).toMatchObject({ state: 'stale', problem: 'invalid-catalog' });
    }
    const halves = catalogText({ One: 'first', Two: 'second' }).replace('kind: Two', 'kind: two two');
    upstream.files.set(FILE, halves);
    expect(await refresh()).toMatchObject({
      state: 'current',
      copy: { entries: 1, invalidEntries: 1, invalid: [{ entry: 1 }] },
    });
  });

  it('is fetched whole again if its local copy is lost', async () => {
    const text = put({ One: 'first' });
    await apply();
    await cut();
    await registry.parts.copies.delete(sha256(text));
    expect(await refresh()).toMatchObject({ state: 'current' });
    expect(Buffer.from((await registry.parts.copies.get(sha256(text)))!).toString()).toBe(text);
    expect(upstream.requests.map(({ unchanged }) => unchanged)).toEqual([false, false]);
  });

  it('loses its old copies after a while', async () => {
    const first = sha256(put({ One: 'first' }));
    await apply();
    await cut();
    const second = sha256(put({ One: 'second' }));
    await refresh();
    const stored = async () => {
      const found = new Set<string>();
      for await (const digest of registry.parts.copies.list()) found.add(digest);
      return found;
    };
    expect(await stored()).toEqual(new Set([first, second]));
    for (const milliseconds of [
      SERVER_LIMITS.schedulePollMilliseconds,
      SERVER_LIMITS.retainCopyMilliseconds,
    ]) {
      registry.advance(milliseconds + 1_000);
      await refresh();
      registry.parts.refresher.wake();
    }
    await expect.poll(stored).toEqual(new Set([second]));
  });

  it('is synced once per recipe, never two at once on one host', async () => {
    let open = 0;
    let most = 0;
    upstream.misbehave = (_, response) => {
      open += 1;
      most = Math.max(most, open);
      setTimeout(() => {
        open -= 1;
        response.end(catalogText({ One: 'first' }));
      }, 30);
    };
    const urls = Object.fromEntries(
      Array.from({ length: 5 }, (_, at) => [`s${at}`, `${upstream.origin}/${at}.yaml`]),
    );
    await apply({ urls });
    await apply({ name: 'others', urls });
    await Promise.all([cut(), cut('others')]);
    expect(most).toBe(1);
    expect(upstream.requests).toHaveLength(10);
    const sources = await registry.parts.store.sources();
    expect(sources.every(({ copy }) => copy !== undefined)).toBe(true);
  });

  it('uses the mirror of the newest recipe', async () => {
    put({ One: 'first' });
    const image = async () => {
      const [place] = await registry.parts.store.latestEntryRows('ours');
      const entries = await registry.parts.store.entries([place!.entry!]);
      return /image: (\S+)/.exec([...entries.values()][0]!.yaml)?.[1];
    };
    for (const mirror of ['mirror.example.com/a/', 'mirror.example.com/b/']) {
      await apply({ mirror });
      await cut();
      expect(await image()).toBe(`${mirror}one`);
    }
  });

  it('defines the metadata of a function if it is first in the newest recipe', async () => {
    const other = await startUpstream();
    try {
      upstream.files.set(FILE, catalogText({ One: 'theirs' }));
      other.files.set(FILE, catalogText({ One: 'others' }).replace('- name: v1', '- name: v2'));
      const theirs = { theirs: upstream.origin + FILE };
      const others = { others: other.origin + FILE };
      for (const [first, urls] of [
        ['theirs', { ...theirs, ...others }],
        ['others', { ...others, ...theirs }],
      ] as const) {
        await apply({ urls });
        await cut();
        const [place] = await registry.parts.store.latestEntryRows('ours');
        const entries = await registry.parts.store.entries([place!.entry!]);
        expect([...entries.values()][0]!.yaml).toContain(`description: ${first}`);
      }
    } finally {
      await registry.close();
      await other.close();
    }
  });

  it('that was fetched for an older recipe is synced again', async () => {
    put({ One: 'first' });
    let answer: () => void = () => undefined;
    const asked = new Promise<void>((resolve) => {
      upstream.misbehave = (_, response) => {
        upstream.misbehave = undefined;
        answer = () => response.end(catalogText({ One: 'older' }));
        resolve();
      };
    });
    await apply({ minimumAge: '1h' });
    await asked;
    await apply({ minimumAge: '2h' });
    answer();
    await cut();
    expect(upstream.requests).toHaveLength(2);
    expect((await registry.parts.store.source('ours', 'theirs'))?.copy?.digest).toBe(
      sha256(catalogText({ One: 'first' })),
    );
  });

  it('loses nothing if the registry stops during a sync', async () => {
    put({ One: 'first' });
    await apply();
    await cut();
    const before = await registry.parts.store.source('ours', 'theirs');
    const asked = new Promise<void>((resolve) => {
      upstream.misbehave = (_, response) => {
        response.writeHead(200).write(catalogText({ One: 'half' }).slice(0, 200));
        resolve();
      };
    });
    const refreshing = registry.parts.refresher.refreshNow({ catalog: 'ours', source: 'theirs' });
    refreshing.catch(() => undefined);
    await asked;
    upstream.misbehave = undefined;
    put({ One: 'first', Two: 'second' });
    registry = await registry.reopen();
    await expect(refreshing).rejects.toMatchObject({ code: 'unavailable' });
    expect(await registry.parts.store.source('ours', 'theirs')).toEqual(before);
    await refresh();
    expect(await kinds()).toEqual(['One', 'Two']);
  });

  it('responds 404 if it does not exist', async () => {
    await apply();
    const response = await registry.send('POST', fillPath('refreshSource', { name: 'ours', source: 'none' }));
    expect(response.status).toBe(404);
    await expect(
      registry.parts.refresher.refreshNow({ catalog: 'ours', source: 'none' }),
    ).rejects.toMatchObject({
      code: 'not-found',
    });
  });
});

describe('an upstream entry', () => {
  it('is included when it reaches the minimum age, without a request', async () => {
    put({ One: 'first' });
    await apply({ minimumAge: '2h' });
    await cut();
    expect(await kinds()).toEqual([]);
    expect((await report()).refused).toMatchObject([{ kind: 'One', reasons: [{ code: 'minimum-age' }] }]);
    registry.advance(HOUR);
    put({ One: 'first', Two: 'second' });
    await refresh();
    registry.advance(HOUR);
    registry.parts.refresher.wake();
    await expect.poll(() => kinds()).toEqual(['One']);
    registry.advance(HOUR);
    registry.parts.refresher.wake();
    await expect.poll(() => kinds()).toEqual(['One', 'Two']);
    expect(await events()).toEqual(['source.changed', 'source.changed', 'source.matured', 'source.matured']);
  });

  it('keeps its age when it returns, and is never included if it was fixed in time', async () => {
    put({ One: 'first' });
    await apply({ minimumAge: '2h' });
    await cut();
    registry.advance(HOUR);
    put({});
    await refresh();
    put({ One: 'first' });
    await refresh();
    registry.advance(HOUR);
    registry.parts.refresher.wake();
    await expect.poll(() => kinds()).toEqual(['One']);
    put({ One: 'wrong' });
    await refresh();
    registry.advance(HOUR);
    put({ One: 'right' });
    await refresh();
    registry.advance(1.5 * HOUR);
    registry.parts.refresher.wake();
    await refresh();
    await registry.waitForCatalogs();
    const [place] = await registry.parts.store.latestEntryRows('ours');
    const entries = await registry.parts.store.entries([place!.entry!]);
    expect([...entries.values()][0]!.yaml).toContain('description: first');
    registry.advance(HOUR);
    registry.parts.refresher.wake();
    await expect
      .poll(async () => {
        const [now] = await registry.parts.store.latestEntryRows('ours');
        return [...(await registry.parts.store.entries([now!.entry!])).values()][0]!.yaml;
      })
      .toContain('description: right');
    // It was there for an hour. Its age does not grow while it is absent.
    put({ One: 'wrong' });
    await refresh();
    await registry.waitForCatalogs();
    const [still] = await registry.parts.store.latestEntryRows('ours');
    const served = await registry.parts.store.entries([still!.entry!]);
    expect([...served.values()][0]!.yaml).toContain('description: right');
  });
});

describe('a signed source', () => {
  const key = newKey();
  const inDays = (days: number) =>
    new Date(registry.parts.clock().getTime() + days * 24 * HOUR).toISOString();
  const sign = async (text: string, serial: number, days = 30, by = key) =>
    upstream.files.set(BUNDLE, await snapshotBundle(by, text, { serial, expires: inDays(days) }));

  it('is trusted because of its signer, and so are its entries', async () => {
    const text = put({ One: 'first' });
    await sign(text, 3);
    await apply({ signers: [key] });
    await cut();
    expect(await kinds()).toEqual(['One']);
    const { copy } = await refresh();
    expect(copy).toMatchObject({ serial: 3, signedBy: [`the key ${key.fingerprint}`] });
  });

  it('is not used if signed by someone else, until the recipe names that signer', async () => {
    const other = newKey();
    const text = put({ One: 'first' });
    await sign(text, 3, 30, other);
    await apply({ signers: [key] });
    await cut();
    expect(await kinds()).toEqual([]);
    expect((await report()).refused).toMatchObject([{ kind: 'One', reasons: [{ code: 'signature' }] }]);
    await sign(text, 3);
    await refresh();
    expect(await kinds()).toEqual(['One']);
    await apply({ signers: [other] });
    await cut();
    expect(await kinds()).toEqual([]);
    await apply({ signers: [other, key] });
    await cut();
    expect(await kinds()).toEqual(['One']);
  });

  it('cannot roll back, equivocate, freeze, or lose its signature', async () => {
    const [one, two, three] = ['one', 'two', 'three'].map((text) => catalogText({ One: text })) as [
      string,
      string,
      string,
    ];
    const serve = async (text: string, serial: number, days?: number) => {
      upstream.files.set(FILE, text);
      await sign(text, serial, days);
      return refresh();
    };
    upstream.files.set(FILE, two);
    await sign(two, 2);
    await apply({ signers: [key] });
    await cut();
    const served = await registry.parts.store.latestEntryRows('ours');
    const refused = async (looking: Promise<Source>, problem: string) => {
      expect(await looking).toMatchObject({
        problem,
        state: 'stale',
        copy: { digest: sha256(two), serial: 2 },
      });
    };
    await refused(serve(one, 1), 'rollback');
    await refused(serve(three, 2), 'equivocation');
    await refused(serve(three, 3, -1), 'frozen');
    upstream.files.set(FILE, three);
    await refused(refresh(), 'frozen');
    await sign(one, 3);
    await refused(refresh(), 'signature');
    await sign(three, 3, 30, newKey());
    await refused(refresh(), 'signature');
    upstream.files.set(BUNDLE, await plainBundle(key, sha256(three)));
    await refused(refresh(), 'signature');
    upstream.files.set(BUNDLE, 'no bundle');
    await refused(refresh(), 'signature');
    upstream.files.delete(BUNDLE);
    await refused(refresh(), 'signature');
    await registry.waitForCatalogs();
    expect(await registry.parts.store.latestEntryRows('ours')).toEqual(served);
    expect(await events()).toEqual(['source.changed', 'source.failing']);
    expect(await serve(three, 3)).toMatchObject({ state: 'current', copy: { serial: 3 } });
    // Without a new signature, the snapshot expires.
    registry.advance(31 * 24 * HOUR);
    expect(await refresh()).toMatchObject({ problem: 'frozen', state: 'stale' });
    await sign(three, 3);
    expect(await refresh()).toMatchObject({ state: 'current' });
    // A validly signed snapshot of another catalog of the same registry.
    const other = { serial: 9, expires: inDays(30), catalog: 'another' };
    upstream.files.set(BUNDLE, await snapshotBundle(key, three, other));
    expect(await refresh()).toMatchObject({ problem: 'signature' });
  });

  it('may have a signature that contains only a digest', async () => {
    const text = put({ One: 'first' });
    upstream.files.set(`${FILE}.sigstore.json`, await plainBundle(key, sha256(text)));
    await apply({ signers: [key] });
    await cut();
    expect(await kinds()).toEqual(['One']);
    put({ One: 'changed' });
    expect(await refresh()).toMatchObject({ problem: 'signature', state: 'stale' });
  });
});
