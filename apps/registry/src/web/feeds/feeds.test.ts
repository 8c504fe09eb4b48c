import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestRegistry, releasePath, type TestRegistry } from '../../testing/test-registry.js';
import { atomFeed, permanentId } from './atom.js';

let registry: TestRegistry;
beforeAll(async () => {
  registry = await openTestRegistry({ config: { publicUrl: 'https://krm.example.com' } });
  await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
  await registry.publish({ kind: 'SetLabels', release: '1.1.0' });
  await registry.publish({ kind: 'Other', release: '1.0.0' });
  const response = await registry.send(
    'POST',
    `${releasePath({ kind: 'SetLabels', release: '1.0.0' })}/yank`,
    { reason: 'loses <labels> & more' },
  );
  expect(response.status).toBe(200);
});
afterAll(() => registry.close());

const ALL = '/functions.atom';
const ONE = '/functions/example.com/SetLabels/releases.atom';

async function feed(target: string) {
  const response = await registry.request(target);
  const text = await response.text();
  const entries = [...text.matchAll(/<entry>(.*?)<\/entry>/gs)].map(([, entry = '']) => ({
    id: /<id>(.*?)<\/id>/.exec(entry)?.[1],
    title: /<title>(.*?)<\/title>/.exec(entry)?.[1],
    updated: /<updated>(.*?)<\/updated>/.exec(entry)?.[1],
    link: /href="(.*?)"/.exec(entry)?.[1],
    summary: /<summary>(.*?)<\/summary>/.exec(entry)?.[1],
  }));
  return { response, text, entries };
}

describe('feeds of releases', () => {
  it.each([ALL, ONE])('%s has what RFC 4287 requires, the newest first', async (target) => {
    const { response, text, entries } = await feed(target);
    expect(response.headers.get('content-type')).toBe('application/atom+xml; charset=utf-8');
    expect(text).toContain(
      `<link rel="self" type="application/atom+xml" href="https://krm.example.com${target}"/>`,
    );
    expect(text.match(/<feed xmlns="http:\/\/www.w3.org\/2005\/Atom">/)).not.toBeNull();
    const times = entries.map(({ updated }) => updated!);
    expect(times).toEqual([...times].sort().reverse());
    expect(/<updated>(.*?)<\/updated>/.exec(text)?.[1]).toBe(times[0]);
    const ids = entries.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids)
      expect(id).toMatch(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const etag = response.headers.get('etag')!;
    expect((await registry.request(target, { headers: { 'If-None-Match': etag } })).status).toBe(304);
  });

  it('have the same ID for the same event', async () => {
    const all = await feed(ALL);
    const one = await feed(ONE);
    expect(one.entries.map(({ title }) => title)).toEqual([
      'example.com/SetLabels 1.0.0 yanked',
      'example.com/SetLabels 1.1.0',
      'example.com/SetLabels 1.0.0',
    ]);
    expect(all.entries.filter(({ title }) => title?.includes('SetLabels'))).toEqual(one.entries);
    expect(all.entries).toHaveLength(4);
    expect(one.entries[0]).toMatchObject({
      link: 'https://krm.example.com/functions/example.com/SetLabels/releases/1.0.0',
      summary: 'loses &lt;labels&gt; &amp; more',
    });
  });

  it('change with new events', async () => {
    await registry.publish({ kind: 'Late', release: '1.0.0' });
    expect((await feed(ALL)).entries[0]!.title).toBe('example.com/Late 1.0.0');
  });

  it.each([ALL, ONE, '/catalogs/default/snapshots.atom'])(
    '%s links to all earlier entries',
    async (target) => {
      for (let at = 0; at < 60; at += 1) {
        await registry.publish({ kind: 'SetLabels', release: `2.0.${at}` });
        if (target.startsWith('/catalogs/') && at % 2 === 0) await registry.waitForCatalogs();
      }
      await registry.waitForCatalogs();
      const ids: string[] = [];
      for (let next: string | undefined = target, pages = 0; next !== undefined; pages += 1) {
        expect(pages).toBeLessThan(50);
        const { response, text, entries } = await feed(next);
        expect(response.status).toBe(200);
        expect(text).toContain(
          `rel="self" type="application/atom+xml" href="https://krm.example.com${next}"`,
        );
        // New entries do not move the documents that follow.
        if (pages === 0)
          await registry.publish({ kind: 'SetLabels', release: `3.0.${ids.length}${target.length}` });
        ids.push(...entries.map(({ id }) => id!));
        next = /<link rel="next"[^>]* href="https:\/\/krm.example.com([^"]*)"/.exec(text)?.[1];
      }
      expect(ids.length).toBeGreaterThan(target.startsWith('/catalogs/') ? 30 : 50);
      expect(new Set(ids).size).toBe(ids.length);
      expect((await feed(`${target}?before=0`)).response.status).toBe(400);
    },
  );

  it('do not exist for unknown functions', async () => {
    expect((await feed('/functions/example.com/Nothing/releases.atom')).response.status).toBe(404);
  });
});

it('a feed escapes hostile text', () => {
  const hostile = ']]><script>"\u0000\u0008\u202e\ufffe\ud800&amp;';
  const text = atomFeed({
    title: hostile,
    self: '/x',
    page: '/y',
    id: permanentId(hostile),
    updated: '1970-01-01T00:00:00.000Z',
    entries: [
      {
        id: 'urn:x',
        title: hostile,
        link: hostile,
        updated: 'x',
        author: hostile,
        summary: 'y'.repeat(1_000_000),
      },
    ],
  });
  expect(text).not.toMatch(/<script|[\u0000-\u0008\u202e\ufffe]/);
  expect(text).toContain(']]&gt;&lt;script&gt;&quot;');
  expect(text.length).toBeLessThan(10_000);
  expect(permanentId('a', 'b')).not.toBe(permanentId('a,b'));
});
