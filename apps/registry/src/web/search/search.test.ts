import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../../limits.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

let registry: TestRegistry;
beforeAll(async () => {
  registry = await openTestRegistry();
  await registry.publish({ kind: 'SetLabels', release: '1.0.0', tags: ['mutator', 'labels'] });
  await registry.publish({ kind: 'SetLabels', release: '0.9.0', group: 'other.example', tags: ['mutator'] });
  await registry.publish({ kind: 'CheckLimits', release: '1.0.0', tags: ['validator'] });
  for (let at = 0; at < 25; at++) {
    await registry.publish(
      { kind: `Many${at}`, release: '1.0.0', group: 'many.example', tags: ['many'] },
      '',
    );
  }
});
afterAll(() => registry.close());

const browse = (target: string) => registry.request(target, { headers: { Accept: BROWSER } });
const readPage = async (target: string) => {
  const response = await browse(target);
  expect(response.status, target).toBe(200);
  return response.text();
};
/** Returns the links of a page by their text. */
function listLinks(page: string): Map<string, string> {
  const links = new Map<string, string>();
  for (const [, href = '', inner = ''] of page.matchAll(/<a [^>]*?href="([^"]+)"[^>]*>(.*?)<\/a>/gs)) {
    links.set(
      inner
        .replace(/<[^>]*>/g, '')
        .replace(/\s+/g, ' ')
        .trim(),
      href.replaceAll('&amp;', '&'),
    );
  }
  return links;
}

describe('the search page', () => {
  it('shows results, and is not indexed', async () => {
    const response = await browse('/functions?q=labels');
    expect(response.headers.get('x-robots-tag')).toBe('noindex');
    const page = await response.text();
    expect(page).toContain('<meta name="robots" content="noindex"/>');
    expect(page).toContain('28 functions');
    expect(page).toContain('value="labels"');
    expect(listLinks(page).get('SetLabels')).toBe('/functions/example.com/SetLabels');
    expect(page).toContain('SetLabels does what its name says.');
    expect(page).toContain('not signed');
    expect(page).toMatch(/<time datetime="\d{4}-\d\d-\d\dT[^"]*Z"/);
  });

  it.each([
    ['example.com/SetLabels@1.0.0', '/functions/example.com/SetLabels/releases/1.0.0'],
    ['example.com/setlabels@v1.0', '/functions/example.com/SetLabels/releases/1.0.0'],
    ['example.com/SetLabels@7.0.0', '/functions/example.com/SetLabels'],
  ])('opens the page that %s names', async (text, path) => {
    const response = await browse(`/functions?${new URLSearchParams({ q: text })}`);
    expect([response.status, response.headers.get('location')]).toEqual([302, path]);
  });

  it('lists the functions of a group, and opens the release of a digest', async () => {
    const group = await readPage('/functions/many.example');
    expect(group).toContain('<h1>many.example</h1>');
    expect(group).toContain('25 functions. <a');
    expect(group.match(/class="found-function"/g)).toHaveLength(25);
    expect(listLinks(await readPage('/functions?q=labels')).get('other.example/')).toBe(
      '/functions/other.example',
    );
    expect((await browse('/functions/none.example')).status).toBe(404);
    const detail = await registry.request('/api/v1/functions/example.com/CheckLimits');
    const { releases } = (await detail.json()) as { releases: { digest: string }[] };
    const found = await browse(`/functions?q=${releases[0]!.digest}`);
    expect(found.headers.get('location')).toBe('/functions/example.com/CheckLimits/releases/1.0.0');
  });

  it('says in its title what it searches, and that results have most of the words only', async () => {
    expect(await readPage('/functions?q=labels&tag=mutator')).toContain(
      '<title>labels, tag mutator – functions',
    );
    expect(await readPage('/functions?q=labels%20mutator%20unheard')).toContain('These have most of them.');
  });

  it('finds the functions that run a pasted image', async () => {
    const { body } = await registry.publish({
      kind: 'SetLabels',
      release: '1.0.0',
      tags: ['mutator', 'labels'],
    });
    expect(body.outcome).toBe('unchanged');
    const detail = await (await registry.request('/api/v1/functions/example.com/SetLabels')).text();
    const image = /"image":"([^"]+)"/.exec(detail)![1]!;
    const page = await readPage(
      `/functions?${new URLSearchParams({ q: image.replace(/@.*|:[^/]*$/, ':other') })}`,
    );
    expect(page).toContain('SetLabels');
    expect(page).not.toContain('No function matches');
  });

  it('corrects a typing error, and says so', async () => {
    const page = await readPage('/functions?q=lables');
    expect(page).toContain('These are the results for');
    expect(page).toContain('href="/functions?q=labels"');
    expect(page).toContain('28 functions');
    const { corrected, total } = (await (await registry.request('/api/v1/functions?q=lables')).json()) as {
      corrected?: string;
      total: number;
    };
    expect([corrected, total]).toEqual(['labels', 28]);
  });

  it.each([
    ['chekc', 'check'],
    ['chexk', 'check'],
    ['chexx', undefined],
    ['lamits', 'limits'],
    ['limmitz', 'limits'],
  ])('corrects one letter of a short word, and two of a longer one: %s', async (word, wanted) => {
    const found = (await (await registry.request(`/api/v1/functions?q=${word}`)).json()) as {
      corrected?: string;
    };
    expect(found.corrected).toBe(wanted);
  });

  it('has facets with counts that toggle, and chips that remove a filter', async () => {
    const narrowed = listLinks(await readPage('/functions?q=labels'));
    expect(narrowed.get('labels1')).toBe('/functions?q=labels&tag=labels');
    expect(narrowed.get('other.example1')).toBe('/functions?q=labels&group=other.example');
    const page = await readPage('/functions?q=labels&tag=mutator&group=example.com&sort=name');
    const links = listLinks(page);
    expect(page).toContain('1 function<');
    // A facet is counted without its own filter: the other group would add one result.
    expect(links.get('other.example1')).toBe(
      '/functions?q=labels&tag=mutator&group=example.com&group=other.example&sort=name',
    );
    expect(links.get('example.com – remove1')).toBe('/functions?q=labels&tag=mutator&sort=name');
    expect(links.get('Tag mutator× – remove')).toBe('/functions?q=labels&group=example.com&sort=name');
    expect(links.get('Text labels× – remove')).toBe('/functions?tag=mutator&group=example.com&sort=name');
    expect(links.get('Clear all')).toBe('/functions');
    const ordered = listLinks(await readPage('/functions?q=labels&tag=mutator&sort=name'));
    expect(ordered.get('Relevance')).toBe('/functions?q=labels&tag=mutator');
    expect(ordered.get('Newest')).toBe('/functions?q=labels&tag=mutator&sort=newest');
    expect(page).toContain('<input type="hidden" name="group" value="example.com"/>');
  });

  it('offers kinds that exist in several groups', async () => {
    const page = await readPage('/functions');
    expect(listLinks(page).get('SetLabels2')).toBe('/functions?kind=SetLabels');
    expect(listLinks(page).has('CheckLimits1')).toBe(false);
    expect(listLinks(await readPage('/functions?kind=checklimits')).get('Kind checklimits× – remove')).toBe(
      '/functions',
    );
  });

  it('pages by cursor, in each order, without gaps', async () => {
    for (const query of ['tag=many', 'q=many', 'tag=many&sort=newest']) {
      const seen = new Set<string>();
      let next: string | undefined = `/functions?${query}`;
      for (let pages = 0; next !== undefined && pages < 5; pages++) {
        const page: string = await readPage(next);
        for (const [, kind = ''] of page.matchAll(/href="\/functions\/many\.example\/(Many\d+)"/g))
          seen.add(kind);
        if (pages > 0) expect(listLinks(page).get('First page')).toBe(`/functions?${query}`);
        next = listLinks(page).get('Next page');
      }
      expect(seen.size, query).toBe(25);
    }
    expect([...listLinks(await readPage('/functions?sort=newest')).values()]).toContain(
      '/functions/many.example/Many24',
    );
  });

  it.each([
    ['tag:mutator labels', '/functions?q=labels&tag=mutator'],
    ['kind:Set is:signed -tag:x', '/functions?q=kind%3ASet+-tag%3Ax&signed=true'],
    ['labels GROUP:other.example tag:labels', '/functions?q=labels&tag=labels&group=other.example'],
    ['pinned:true apiVersion:example.com/v1', '/functions?apiVersion=example.com%2Fv1&pinned=true'],
    ['publisher:"Example Co" licence:MIT', '/functions?publisher=Example+Co&license=MIT'],
    ['example.com/setlabels', '/functions/example.com/SetLabels'],
    [' other.example/SetLabels ', '/functions/other.example/SetLabels'],
  ])('leads from %s to %s', async (q, location) => {
    const response = await browse(`/functions?q=${encodeURIComponent(q)}`);
    expect([response.status, response.headers.get('location')]).toEqual([302, location]);
  });

  it('preserves filters when others are typed', async () => {
    const response = await browse('/functions?q=tag%3Alabels&tag=mutator&tag=labels&sort=newest');
    expect(response.headers.get('location')).toBe('/functions?tag=mutator&tag=labels&sort=newest');
  });

  it.each([
    'runtime:docker',
    'pinned:perhaps',
    'tag:',
    'xtag:a',
    'example.com/Nothing',
    'a/b/c',
    `tag:${'x'.repeat(254)}`,
  ])('reads as text: %s', async (q) => {
    expect((await browse(`/functions?q=${encodeURIComponent(q)}`)).status).toBe(200);
  });

  it('repeats a search without results, and suggests others', async () => {
    const page = await readPage('/functions?q=zebra&tag=labels');
    expect(page).toContain('<h2 id="found-title">No function matches all of these filters</h2>');
    expect(page).toContain('<bdi>zebra</bdi>');
    const links = listLinks(page);
    expect(links.get('search without this filter')).toBe('/functions?q=zebra');
    expect(links.get('many 25')).toBe('/functions?tag=many');
    expect(links.get('Show all functions.')).toBe('/functions');
  });

  it('explains invalid parameters on a page', async () => {
    for (const [query, words] of [
      ['tags=x', 'did you mean &quot;tag&quot;?'],
      ['runtime=docker', '&quot;runtime&quot; must be one of container'],
      ['sort=oldest', '&quot;sort&quot; must be one of relevance'],
      [`q=${'x'.repeat(501)}`, '&quot;q&quot; is longer than 500'],
      ['cursor=nonsense', 'The cursor does not belong to this search'],
      ['limit=5', '&quot;limit&quot; is unknown'],
    ]) {
      const response = await browse(`/functions?${query}`);
      expect(response.status, query).toBe(400);
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(await response.text()).toContain(words);
    }
  });

  it('counts as a read', async () => {
    const limited = await openTestRegistry({ config: { requestsPerMinute: 1 } });
    try {
      expect((await limited.request('/functions')).headers.get('ratelimit')).toMatch(/^"requests";r=0/);
      const refused = await limited.request('/functions', { headers: { Accept: BROWSER } });
      expect([refused.status, refused.headers.get('content-type')]).toEqual([
        429,
        'text/plain; charset=utf-8',
      ]);
      expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    } finally {
      await limited.close();
    }
  });
});

describe('hostile text', () => {
  const SCRIPT = '<script>alert(1)</script><img src=x onerror=alert(1)>"\'';

  it('is shown as text', async () => {
    const hostile = await openTestRegistry();
    try {
      const description = JSON.stringify(`${SCRIPT} and ${'long '.repeat(200)}`);
      const published = await hostile.publish({
        kind: 'Evil',
        release: '1.0.0',
        description,
        tags: [JSON.stringify(SCRIPT), '"javascript:alert(1)"'],
      });
      expect(published.status, JSON.stringify(published.body)).toBe(201);
      for (const target of [
        '/',
        '/functions',
        `/functions?q=${encodeURIComponent(SCRIPT)}`,
        `/functions?tag=${encodeURIComponent(SCRIPT)}`,
        `/functions?publisher=${encodeURIComponent(`${SCRIPT}\u202e\u0000\u001b[2J`)}`,
      ]) {
        const response = await hostile.request(target, { headers: { Accept: BROWSER } });
        // The value of a field contains exactly the typed text.
        const page = (await response.text()).replace(/ value="[^"<>]*"/g, '');
        expect(response.status, target).toBe(200);
        expect(page, target).not.toMatch(
          /<script>|<img src=x|\sonerror=[^&]*>|href="javascript:|[\u202e\u0000\u001b]/,
        );
        expect(page, target).toContain('&lt;script&gt;');
        expect(page.length, target).toBeLessThan(60_000);
      }
    } finally {
      await hostile.close();
    }
  });
});

describe('suggestions', () => {
  it('are functions with their description and URL', async () => {
    const response = await registry.request('/suggestions?q=set%20lab');
    expect(response.headers.get('content-type')).toBe('application/x-suggestions+json');
    expect(await response.json()).toEqual([
      'set lab',
      ['other.example/SetLabels', 'example.com/SetLabels'],
      ['SetLabels does what its name says.', 'SetLabels does what its name says.'],
      ['/functions/other.example/SetLabels', '/functions/example.com/SetLabels'],
    ]);
  });

  it('are empty without text, and few with many results', async () => {
    expect(await (await registry.request('/suggestions')).json()).toEqual(['', [], [], []]);
    expect(await (await registry.request('/suggestions?q=%20')).json()).toEqual([' ', [], [], []]);
    const [, names] = (await (await registry.request('/suggestions?q=many')).json()) as [string, string[]];
    expect(names).toHaveLength(8);
  });
});

describe('a search with more filters than a page shows', () => {
  const filters = (count: number, value = 'x') =>
    Array.from({ length: count }, (_, at) => `${at % 2 === 0 ? 'tag' : 'kind'}=${value}${at}`).join('&');

  it('is refused: each of many links would repeat all of them', async () => {
    const { maxSearchFilters, maxSearchAddressLength } = SERVER_LIMITS;
    await readPage(`/functions?${filters(maxSearchFilters)}`);
    const long = await browse(`/functions?${filters(20, 'x'.repeat(maxSearchAddressLength / 20))}`);
    for (const response of [await browse(`/functions?${filters(maxSearchFilters + 1)}`), long]) {
      expect(response.status).toBe(400);
      expect(await response.text()).toContain('Too many search filters');
    }
  });

  it('counts repeated filters once', async () => {
    const page = await readPage(`/functions?${'runtime=container&'.repeat(800)}kind=SetLabels`);
    expect(page.length).toBeLessThan(60_000);
    expect(page).not.toContain('runtime=container&amp;runtime=container');
  });
});

describe('files for browsers and crawlers', () => {
  it('have absolute URLs if the public URL is known', async () => {
    const known = await openTestRegistry({ config: { publicUrl: 'https://example.com/krm' } });
    try {
      const response = await known.request('/opensearch.xml');
      expect(response.headers.get('content-type')).toBe('application/opensearchdescription+xml');
      const text = await response.text();
      expect(text).toContain('template="https://example.com/krm/functions?q={searchTerms}"');
      expect(text).toContain('template="https://example.com/krm/suggestions?q={searchTerms}"');
      expect(await (await known.request('/robots.txt')).text()).toContain('Disallow: /krm/functions?\n');
      const page = await (await known.request('/', { headers: { Accept: BROWSER } })).text();
      expect(page).toContain('href="/krm/opensearch.xml"');
    } finally {
      await known.close();
    }
  });

  it('do not exist if it is unknown', async () => {
    expect((await registry.request('/opensearch.xml')).status).toBe(404);
    expect(await readPage('/')).not.toContain('opensearch.xml');
    const robots = await registry.request('/robots.txt');
    expect(robots.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(await robots.text()).toMatch(/^User-agent: \*\nDisallow: /);
  });
});
