import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';

let registry: TestRegistry;
beforeAll(async () => {
  registry = await openTestRegistry();
  await registry.publish({ kind: 'SetLabels', release: '1.0.0', versions: ['v1', 'v1beta1'] });
  await registry.publish(
    { kind: 'SetLabels', release: '2.0.0', description: 'Does more.' },
    '?wait=true&allowBreaking=true',
  );
});
afterAll(() => registry.close());

const ask = (target: string) => registry.request(target, { headers: { Accept: 'text/html' } });
const COMPARE = '/functions/example.com/SetLabels/compare';

describe('the comparison of two releases', () => {
  it('lists changes by impact, and links back', async () => {
    const text = await (await ask(`${COMPARE}?from=1.0.0&to=2.0.0`)).text();
    expect(text).toMatch(/Breaking <span class="quiet">1<\/span>/);
    expect(text).toContain('The API version v1beta1 is removed');
    expect(text).toContain('The image tag changed from v1.0.0 to v2.0.0');
    expect(text).toContain('href="/functions/example.com/SetLabels"');
    expect(text).toContain('href="/functions/example.com/SetLabels/releases/1.0.0"');
    expect(text).toContain('krmhub diff example.com/SetLabels@1.0.0 2.0.0');
    expect(text).toContain('<option value="1.0.0" selected="">');
    expect(text).toContain('content="noindex"');
    const breaking = text.indexOf('id="breaking"');
    expect(text.indexOf('id="compatible"')).toBeGreaterThan(breaking);
  });

  it('compares the newest release with the one before it by default', async () => {
    const response = await ask(COMPARE);
    expect([response.status, response.headers.get('location')]).toEqual([
      302,
      `${COMPARE}?from=1.0.0&to=2.0.0`,
    ]);
  });

  it('compares in both directions, and reports no changes', async () => {
    expect(await (await ask(`${COMPARE}?from=2.0.0&to=1.0.0`)).text()).toContain('v1beta1 is added');
    expect(await (await ask(`${COMPARE}?from=2.0.0&to=2.0.0`)).text()).toContain(
      'The definitions are identical.',
    );
  });

  it('refers to the command for large definitions', async () => {
    const versions = Array.from({ length: 200 }, (_, index) => `v${index + 1}`);
    for (const release of ['1.0.0', '2.0.0']) {
      const { status } = await registry.publish({ kind: 'Large', release, versions });
      expect(status).toBe(201);
    }
    const large = '/functions/example.com/Large/compare';
    const text = await (await ask(`${large}?from=1.0.0&to=2.0.0`)).text();
    expect(text).toContain('too large for a comparison on this page');
    expect(text).toContain('krmhub diff example.com/Large@1.0.0 2.0.0');
    expect(text).not.toContain('has the tag v2.0.0');
    expect(await (await ask(`${large}?from=1.0.0&to=1.0.0`)).text()).toContain(
      'The definitions are identical.',
    );
  });

  it.each([
    [`${COMPARE}?from=1.0.0&to=3.0.0`, 404, 'has no release 3.0.0'],
    [`${COMPARE}?from=x&to=2.0.0`, 400, 'is not a valid release'],
    [`${COMPARE}?to=1.0.0`, 404, 'no release before 1.0.0'],
    ['/functions/example.com/Nothing/compare', 404, 'not found'],
  ])('explains the error: %s', async (target, status, words) => {
    const response = await ask(target);
    expect([response.status, (await response.text()).includes(words)]).toEqual([status, true]);
  });
});
