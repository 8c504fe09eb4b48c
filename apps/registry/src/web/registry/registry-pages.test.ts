import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';

let registry: TestRegistry;
beforeAll(async () => {
  registry = await openTestRegistry();
  await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
});
afterAll(() => registry.close());

const read = async (path: string) =>
  (await registry.request(path, { headers: { Accept: 'text/html' } })).text();

describe('the page of events', () => {
  it('shows what happened with the hour, links releases, and continues before an event', async () => {
    const page = await read('/events');
    expect(page).toMatch(
      /<time [^>]*>\d{4}-\d\d-\d\d \d\d:\d\d UTC<\/time> <b title="release.published">published<\/b> <a href="\/functions\/example.com\/SetLabels\/releases\/1.0.0">/,
    );
    const sequences = [...page.matchAll(/id="event-(\d+)"/g)].map(([, sequence]) => Number(sequence));
    expect(sequences).toEqual([...sequences].sort((a, b) => b - a));
    expect(page).toMatch(/<b title="catalog.cut">snapshot built<\/b> default \d+ by/);
    const older = await read(`/events?before=${sequences[0]}`);
    expect(older).not.toContain(`id="event-${sequences[0]}"`);
    expect(older).toContain('href="/events" rel="first"');
    expect(older).toContain('content="noindex"');
  });

  it('names no token in the link of who did it', async () => {
    expect(await read('/events')).not.toContain('/operate/events?by=');
  });
});

describe('the page of keys', () => {
  it('shows the keys of the API, and which one signs', async () => {
    const { keys } = (await (await registry.request('/.well-known/krmhub-keys.json')).json()) as {
      keys: { fingerprint: string; publicKey: string }[];
    };
    const page = await read('/keys');
    for (const { fingerprint, publicKey } of keys) {
      expect(page).toContain(`id="${fingerprint}"`);
      expect(page).toContain(publicKey.trimEnd());
    }
    expect(page.match(/signs now/g)).toHaveLength(1);
    expect(page).toContain('/catalogs/default --key registry.pub');
    const file = await registry.request('/.well-known/krmhub-key.pub');
    expect([file.headers.get('content-type'), await file.text()]).toEqual([
      'application/x-pem-file',
      keys[0]!.publicKey,
    ]);
  });
});
