import type { CatalogDetail } from '@krmhub/api/model';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openTestRegistry, releasePath, type TestRegistry } from '../../testing/test-registry.js';
import { catalogText, startUpstream, type TestUpstream } from '../../testing/upstream-server.js';

const SCRIPT = '<script>alert(1)</script><img src=x onerror=alert(1)>';

let registry: TestRegistry;
let upstream: TestUpstream;

async function apply(name: string, text: string, on = registry): Promise<void> {
  const response = await on.send(
    'PUT',
    `/api/v1/catalogs/${name}`,
    `apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\n${text}`,
  );
  expect(response.status, JSON.stringify(response.body)).toBeLessThan(300);
}

async function post(target: string, body?: object): Promise<void> {
  const response = await registry.send('POST', target, body);
  expect(response.status, JSON.stringify(response.body)).toBe(200);
}

/** Tries again as the response 503 asks: the registry waits for syncs only for a while. */
async function cut(name: string): Promise<void> {
  const attempt = () => registry.send('POST', `/api/v1/catalogs/${name}/cut`);
  await vi.waitFor(async () => expect((await attempt()).status).toBe(200), { timeout: 300_000 });
}

const browse = (target: string, on = registry) => on.request(target, { headers: { Accept: 'text/html' } });

async function readPage(target: string, on = registry): Promise<string> {
  const response = await browse(target, on);
  const text = await response.text();
  expect(response.status, `${target}: ${text}`).toBe(200);
  expectWhole(text);
  return text;
}

/** Expects one h1, unique ids, fragment links with targets, and nothing that runs or escapes. */
function expectWhole(text: string): void {
  expect(text.match(/<h1[ >]/g)).toHaveLength(1);
  const ids = [...text.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id!);
  expect(new Set(ids).size).toBe(ids.length);
  for (const [, id] of text.matchAll(/href="#([^"]*)"/g)) expect(ids).toContain(id);
  expect(text).not.toMatch(/<script>|<img src=x|\sstyle=|href="javascript:|[\u202e\u0000\u001b]/);
}

/** Returns the visible text of a page. */
function visibleText(text: string): string {
  return text
    .slice(text.indexOf('<main'), text.indexOf('</main>'))
    .replace(/<[^>]*>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
    .replace(/\s+/g, ' ');
}

function listNames(text: string): string[] {
  const contents = text.slice(text.indexOf('id="contents"'));
  return [...contents.matchAll(/class="place-name" href="\/functions\/[^/]+\/([^"]+)"/g)].map(
    ([, kind]) => kind!,
  );
}

const findHref = (text: string, rel: string) =>
  new RegExp(`<a href="([^"]+)" rel="${rel}"`).exec(text)?.[1]?.replaceAll('&amp;', '&');

beforeAll(async () => {
  upstream = await startUpstream();
  upstream.files.set(
    '/catalog.yaml',
    `${catalogText({ Elsewhere: 'From elsewhere.', SetLabels: 'Theirs.' })}`,
  );
  upstream.files.set(
    '/broken.yaml',
    `${catalogText({ Good: 'One.' }, 'good.example.com')}  - group: "${SCRIPT}"\n    names: {kind: Bad}\n`,
  );
  registry = await openTestRegistry({ sources: { sourceAddresses: ['127.0.0.1'] } });
  await registry.publish({ kind: 'SetLabels', release: '1.0.0', group: 'up.example.com' });
  await registry.publish({ kind: 'Yanked', release: '1.0.0' });
  await registry.publish({ kind: 'Denied', release: '1.0.0' });
  await registry.publish({ kind: 'Plain', release: '1.0.0' });
  await apply(
    'platform',
    `metadata: {name: platform, labels: {team: platform, stage: production}}
spec:
  sources:
  - name: ours
    functions: {release: '>=1.0.0'}
    match: [{group: example.com}, {group: up.example.com}]
    exclude: [{kind: Nothing}]
  - name: theirs
    catalog: {url: '${upstream.origin}/catalog.yaml', refresh: 6h, minimumAge: 0s}
    match: [{group: up.example.com}]
  - name: broken
    catalog: {url: '${upstream.origin}/broken.yaml', refresh: 1h}
  - name: missing
    catalog: {url: '${upstream.origin}/missing.yaml', refresh: 1h}
  policy:
    deny:
    - {kind: Denied, reason: '${SCRIPT} is not for us'}
`.replace(', minimumAge: 0s', ''),
  );
  await cut('platform');
  await registry.publish({ kind: 'Plain', release: '1.1.0' });
  await registry.publish({ kind: 'Late', release: '1.0.0' });
  await post(`${releasePath({ kind: 'Yanked', release: '1.0.0' })}/yank`, { reason: 'it loses labels' });
  await registry.waitForCatalogs();
});
afterAll(async () => {
  await registry.close();
  await upstream.close();
});

describe('the list of catalogs', () => {
  it('describes each, with the state of its sources', async () => {
    const text = await readPage('/catalogs');
    const words = visibleText(text);
    expect(words).toContain('default');
    expect(words).toContain('Functions of this registry.');
    expect(words).toMatch(/sync of 1 of 3 upstream catalogs failed/);
    expect(words).toContain(`theirs ( ${new URL(upstream.origin).host} )`);
    expect(words).toContain('stage : production');
    expect(words).toMatch(/5 functions snapshot \d+ built \d{4}-/);
    for (const href of ['/catalogs/platform', '/catalogs/platform/snapshots.atom', '/catalogs/default']) {
      expect(text).toContain(`href="${href}"`);
    }
    expect(text).toContain('aria-current="true">Catalogs');
  });

  it('continues after a name', async () => {
    const words = visibleText(await readPage('/catalogs?after=default'));
    expect(words).not.toContain('default');
    expect(words).toContain('platform');
    expect((await browse('/catalogs?after=NO')).status).toBe(400);
  });

  it('stays small with many catalogs, page by page', async () => {
    const many = await openTestRegistry();
    try {
      for (let at = 10; at < 65; at++) {
        const recipe = `metadata: {name: c${at}}\nspec: {sources: [{name: ours, functions: {}}]}\n`;
        await apply(`c${at}`, recipe, many);
      }
      const first = await readPage('/catalogs', many);
      expect(first.match(/class="found-function"/g)).toHaveLength(50);
      const rest = await readPage(findHref(first, 'next')!, many);
      expect(rest.match(/class="found-function"/g)).toHaveLength(6);
      expect([findHref(rest, 'next'), findHref(rest, 'first')]).toEqual([undefined, '/catalogs']);
    } finally {
      await many.close();
    }
  });
});

describe('the description of a catalog', () => {
  it('is on its page, in the list, and in the API, and builds no snapshot', async () => {
    const recipe = (description: string) =>
      `metadata: {name: described}\nspec:\n  description: ${JSON.stringify(description)}\n  sources: [{name: ours, functions: {}}]\n`;
    await apply('described', recipe('Reviewed functions.'));
    await cut('described');
    const read = async (): Promise<CatalogDetail> =>
      (await (await registry.request('/api/v1/catalogs/described')).json()) as CatalogDetail;
    const before = await read();
    expect(before.description).toBe('Reviewed functions.');
    await apply('described', recipe(SCRIPT));
    await cut('described');
    const { description, newest } = await read();
    expect(description).toBe(SCRIPT);
    expect(newest).toEqual(before.newest);
    for (const target of ['/catalogs/described', '/catalogs']) {
      expect(visibleText(await readPage(target))).toContain(SCRIPT);
    }
  });
});

describe('the page of a catalog', () => {
  it('says how to use it, and what it contains with descriptions', async () => {
    const text = await readPage('/catalogs/platform');
    const words = visibleText(text);
    expect(listNames(text)).toEqual(['Late', 'Plain', 'Good', 'Elsewhere', 'SetLabels']);
    expect(words).toMatch(/Plain Plain does what its name says\. 1\.1\.0 v1 from ours/);
    expect(words).toMatch(/Elsewhere From elsewhere\. v1 from theirs/);
    expect(words).toContain('5 functions');
    expect(words).toContain('catalogs: - https://REGISTRY /catalogs/platform transformers:');
    expect(words).toContain('krmhub plugins install -c https://REGISTRY /catalogs/platform');
    expect(words).toContain('krmhub kpt sync . --trusted-catalog https://REGISTRY /catalogs/platform');
    expect(words).toContain('krmhub fn eval . -c https://REGISTRY /catalogs/platform');
    expect(words).toContain('krmhub catalog pull platform --out catalog.yaml');
    expect(words).toMatch(/oras pull REGISTRY \/catalogs\/platform:\d+/);
    expect(words).toContain('stage : production');
    expect(words).toMatch(/Functions 5 Sources 4 Not included 4 Snapshots \d+ Trust Recipe/);
  });

  it.each([
    ['sources', 'sources', 'missing missing'],
    ['report', 'report', 'Shadowed'],
    ['history', 'snapshots', 'Atom feed of snapshots'],
    ['trust', 'trust', '/catalogs/platform --out platform'],
    ['recipe', 'recipe', 'kind : CatalogRecipe'],
  ])(
    'has a tab %s with an address of its own, to which the old fragment leads',
    async (tab, fragment, words) => {
      const path = `/catalogs/platform/${tab}`;
      const text = await readPage(path);
      expect(visibleText(text)).toContain(words);
      expect(text).toContain(`<a href="${path}" aria-current="page">`);
      expect(text).not.toContain('id="contents"');
      expect(await readPage('/catalogs/platform')).toContain(`<a href="${path}" id="${fragment}"`);
    },
  );

  it('lists its sources in the order of the recipe', async () => {
    const text = await readPage('/catalogs/platform/sources');
    const order = [...text.matchAll(/id="source-([a-z]+)"/g)].map(([, name]) => name);
    expect(order).toEqual(['ours', 'theirs', 'broken', 'missing']);
    const words = visibleText(text);
    expect(words).toContain(
      'Functions of this registry: releases >=1.0.0, only group example.com or group up.example.com, without kind Nothing',
    );
    expect(words).toContain('only group up.example.com');
    expect(words).toContain('synced every 6 hours');
    expect(words).toContain('missing missing');
    expect(words).toMatch(/Not found at this URL, since \d{4}-\d\d-\d\d \d\d:\d\d UTC/);
    expect(words).toContain('Check the url in the recipe');
    expect(words).toContain(
      'The registry has no copy of missing, so the catalog contains none of its functions.',
    );
    expect(words).toContain('1 invalid');
    expect(text).toContain('href="/catalogs/platform?source=ours#contents"');
  });

  it('shows the signing key and its expiry, and never that this suffices', async () => {
    const { keys } = (await (await registry.request('/.well-known/krmhub-keys.json')).json()) as {
      keys: { fingerprint: string }[];
    };
    const text = await readPage('/catalogs/platform/trust');
    expect(text).toContain(keys[0]!.fingerprint);
    expect(visibleText(text)).toContain('Signature expires');
    expect(visibleText(text)).not.toMatch(/\bverified\b/i);
  });

  it('links to every rendition, and each exists', async () => {
    const tabs = ['', '/sources', '/report', '/history', '/trust', '/recipe'];
    const pages = await Promise.all(tabs.map((tab) => readPage(`/catalogs/platform${tab}`)));
    const main = pages.map((text) => text.slice(text.indexOf('<main'), text.indexOf('</main>'))).join('');
    const targets = [...main.matchAll(/href="(\/[^"#]*)/g)].map(([, target]) =>
      target!.replaceAll('&amp;', '&'),
    );
    for (const profile of ['kep', 'kep-schema', 'kustomize-prototype', 'porch', 'kpt-list']) {
      expect(targets).toContain(`/catalogs/platform/catalog.yaml?profile=${profile}`);
    }
    expect(targets).toContain('/catalogs/platform/catalog.json?kind=KRMFunctionCatalog');
    for (const target of new Set(targets)) {
      // Comparing without two snapshots redirects to the newest ones.
      const { status } = await browse(target);
      expect(status, target).toBe(target.endsWith('/compare') ? 302 : 200);
    }
  });

  it('lists snapshots with the changes of each', async () => {
    const text = await readPage('/catalogs/platform/history');
    const rows = [...text.matchAll(/<tr>.*?<\/tr>/gs)].map(([row]) =>
      visibleText(`<main>${row}</main>`).trim(),
    );
    expect(rows[1]).toMatch(/^Snapshot \d+ .* UTC 5 functions 1 removed sha256:/);
    expect(rows[2]).toMatch(/6 functions 1 added sha256:/);
    expect(rows[3]).toMatch(/5 functions 1 changed sha256:/);
    expect(rows.at(-1)).toContain('first snapshot');
    const first = visibleText(await readPage('/catalogs/platform/history?before=2'));
    expect(first).toContain('first snapshot');
    expect(first).toContain('First page');
    expect(first).not.toContain('Snapshot 2');
  });

  it.each([
    ['?q=plain', ['Plain']],
    ['?q=UP.example', ['Elsewhere', 'SetLabels']],
    ['?source=theirs', ['Elsewhere']],
    ['?source=ours&q=', ['Late', 'Plain', 'SetLabels']],
    ['?source=&q=late', ['Late']],
    ['?source=broken&q=good', ['Good']],
    ['?after=good.example.com/Good', ['Elsewhere', 'SetLabels']],
    ['?q=nothing', []],
    [`?q=${encodeURIComponent('%_')}`, []],
  ])('filters its functions: %s', async (query, kinds) => {
    const text = await readPage(`/catalogs/platform${query}`);
    expect(listNames(text)).toEqual(kinds);
    if (kinds.length === 0) expect(visibleText(text)).toContain('No function matches.');
    const count = query.startsWith('?after') ? '' : `${kinds.length} of `;
    expect(visibleText(text)).toMatch(new RegExp(`Functions ${count}\\d+ Name contains`));
    expect(text).toContain('<meta name="robots" content="noindex"/>');
  });

  it('repeats the filter as text', async () => {
    const text = await readPage(`/catalogs/platform?q=${encodeURIComponent(`${SCRIPT}"'`)}`);
    expect(text).toContain('value="&lt;script&gt;');
  });

  it.each([
    ['/catalogs/platform?after=nothing', 400, 'is not GROUP/KIND'],
    ['/catalogs/platform?source=A_B', 400, 'is not a valid source name'],
    [`/catalogs/platform?q=${'x'.repeat(254)}`, 400, 'is longer than 253'],
    ['/catalogs/platform?filter=x', 400, '&quot;filter&quot; is unknown'],
    ['/catalogs/none', 404, 'Catalog none not found'],
    ['/catalogs/none/sources', 404, 'Catalog none not found'],
    ['/catalogs/platform/history?before=x', 400, 'is not a serial'],
    ['/catalogs/none/report', 404, 'Catalog none not found'],
    ['/catalogs/none/compare', 404, 'Catalog none not found'],
    ['/catalogs/NONE', 400, 'is not a valid catalog name'],
    ['/catalogs/platform/report?of=things', 400, 'is not one of refused, shadowed, yanked'],
    ['/catalogs/platform/compare?from=x', 400, 'is not a serial'],
    ['/catalogs/platform/compare?from=1&to=999', 404, 'has no snapshot 999'],
  ])('responds to %s with %i, as a page', async (target, status, message) => {
    const response = await browse(target);
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(await response.text()).toContain(message);
  });
});

describe('the report', () => {
  it('explains each kind of remark and its remedy', async () => {
    const text = await readPage('/catalogs/platform/report');
    const words = visibleText(text);
    expect(words).toContain('Refused 1 Shadowed 1 Yanked 1');
    expect(words).toMatch(/example\.com\/ ?Denied v1 of ours 1\.0\.0 denied the recipe denies it/);
    expect(words).toContain(`${SCRIPT} is not for us`);
    expect(words).toContain('Remove the rule if it is wrong.');
    expect(words).toMatch(/SetLabels v1 of theirs comes from ours 1\.0\.0/);
    expect(words).toMatch(/Yanked 1\.0\.0 of ours/);
    expect(words).toContain('Sources whose sync failed 1');
    expect(words).toMatch(/Invalid entries 1 .*entry 1/);
    expect(words).toContain('krmhub catalog report platform');
  });

  it('lists the functions of each kind', async () => {
    const words = visibleText(await readPage('/catalogs/platform/report?of=shadowed'));
    expect(words).toContain('SetLabels');
    expect(words).not.toContain('Denied');
    const beyond = await readPage('/catalogs/platform/report?of=refused&after=zzz.example.com/Z');
    expect(visibleText(beyond)).toContain('No more.');
    expect(findHref(beyond, 'first')).toBe('/catalogs/platform/report?of=refused');
  });

  it('is empty for a catalog that leaves nothing out', async () => {
    const quiet = await openTestRegistry();
    try {
      await quiet.publish({ kind: 'One', release: '1.0.0' });
      expect(visibleText(await readPage('/catalogs/default/report', quiet))).toContain('Nothing is omitted.');
      expect(visibleText(await readPage('/catalogs/default/report?of=yanked', quiet))).toContain('None.');
    } finally {
      await quiet.close();
    }
  });
});

describe('what changed between two snapshots', () => {
  it('is listed by impact', async () => {
    const { snapshots } = (await (await registry.request('/catalogs/platform/snapshots')).json()) as {
      snapshots: { serial: number; digest: string }[];
    };
    const newest = snapshots[0]!.serial;
    const text = await readPage(`/catalogs/platform/compare?from=1&to=${newest}`);
    const words = visibleText(text);
    expect(words).toContain('1 added, 1 removed, 1 changed');
    expect(words).toMatch(/Yanked breaking the function is removed function-removed/);
    expect(words).toMatch(/Late compatible the function is added/);
    expect(words).toMatch(/Plain compatible v1: the release changed from 1\.0\.0 to 1\.1\.0 upgraded/);
    expect(words).toContain(`krmhub catalog diff platform 1 ${newest}`);
    const back = visibleText(await readPage(`/catalogs/platform/compare?from=${newest}&to=1`));
    expect(back).toMatch(/Late breaking the function is removed/);
    expect(back).toMatch(/Plain to review v1: the release changed from 1\.1\.0 to 1\.0\.0 downgraded/);
    const same = visibleText(await readPage(`/catalogs/platform/compare?from=${newest}&to=${newest}`));
    expect(same).toContain('No function changed');
  });

  it('compares the newest with the one before it by default, at one URL', async () => {
    const response = await browse('/catalogs/platform/compare');
    expect(response.status).toBe(302);
    const location = response.headers.get('location')!;
    expect(location).toMatch(/^\/catalogs\/platform\/compare\?from=\d+&to=\d+$/);
    await readPage(location);
    const { snapshots } = (await (await registry.request('/catalogs/platform/snapshots')).json()) as {
      snapshots: { serial: number; digest: string }[];
    };
    const [to, from] = snapshots;
    const byDigest = await browse(`/catalogs/platform/compare?from=${from!.digest}&to=${to!.digest}`);
    expect(byDigest.headers.get('location')).toBe(location);
  });

  it('takes the serials of snapshots that it does not list', async () => {
    const many = await openTestRegistry();
    try {
      const count = 103;
      for (let label = 1; label <= count; label++) {
        const recipe = `metadata: {name: many, labels: {number: "${label}"}}\nspec: {sources: [{name: many, functions: {}}]}\n`;
        await apply('many', recipe, many);
        await many.waitForCatalogs();
        if (label === 100) {
          expect(await readPage('/catalogs/many/compare?from=1&to=2', many)).not.toContain('<datalist');
        }
      }
      const text = await readPage('/catalogs/many/compare?from=1&to=2', many);
      expect(visibleText(text)).toContain(
        'The lists suggest the newest 100 snapshots. For an older one, type its serial.',
      );
      expect(text).toMatch(/<input id="from" name="from" value="1" list="from-serials"/);
      const listed = /<datalist id="from-serials">(.*?)<\/datalist>/s.exec(text)![1]!;
      expect(listed.match(/<option/g)).toHaveLength(101);
      const old = await browse('/catalogs/many/compare?to=2', many);
      expect(old.headers.get('location')).toBe('/catalogs/many/compare?from=1&to=2');
    } finally {
      await many.close();
    }
  }, 120_000);

  it('does not exist for a single snapshot', async () => {
    const alone = await openTestRegistry();
    try {
      await alone.waitForCatalogs();
      const response = await browse('/catalogs/default/compare', alone);
      expect(response.status).toBe(404);
      expect(await response.text()).toContain('does not have two snapshots to compare');
    } finally {
      await alone.close();
    }
  });
});

describe('the feed of snapshots', () => {
  it('has what RFC 4287 requires, the newest first', async () => {
    const response = await registry.request('/catalogs/platform/snapshots.atom');
    expect(response.headers.get('content-type')).toBe('application/atom+xml; charset=utf-8');
    const text = await response.text();
    const entries = text.split('<entry>').slice(1);
    const times = entries.map((entry) => /<updated>(.*?)<\/updated>/.exec(entry)![1]!);
    expect(times).toEqual([...times].sort().reverse());
    expect(/<updated>(.*?)<\/updated>/.exec(text)![1]).toBe(times[0]);
    const ids = entries.map((entry) => /<id>(urn:uuid:[0-9a-f-]{36})<\/id>/.exec(entry)![1]);
    expect(new Set(ids).size).toBe(ids.length);
    expect(entries[0]).toMatch(/<title>platform \d+<\/title>/);
    expect(entries[0]).toMatch(/<summary>1 removed\. 5 functions, sha256:[0-9a-f]{64}\.<\/summary>/);
    expect(entries[0]).toMatch(/href="\/catalogs\/platform\/compare\?from=\d+&amp;to=\d+"/);
    const etag = response.headers.get('etag')!;
    const again = await registry.request('/catalogs/platform/snapshots.atom', {
      headers: { 'If-None-Match': etag },
    });
    expect(again.status).toBe(304);
    expect((await registry.request('/catalogs/none/snapshots.atom')).status).toBe(404);
  });
});
