import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  definitionText,
  openTestRegistry,
  releasePath,
  type TestRegistry,
} from '../../testing/test-registry.js';
import { badgeImage } from './badge-image.js';

let registry: TestRegistry;
beforeAll(async () => {
  registry = await openTestRegistry();
  await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
  await registry.publish({ kind: 'SetLabels', release: '1.2.0' });
});
afterAll(() => registry.close());

const BADGE = '/badges/example.com/SetLabels.svg';

async function title(path: string): Promise<string | undefined> {
  const response = await registry.request(path);
  expect(response.status).toBe(200);
  return /<title>(.*?)<\/title>/.exec(await response.text())?.[1];
}

describe('badges', () => {
  it('show the newest release, its signature, and whether what runs is pinned', async () => {
    expect(await title(BADGE)).toBe('krmhub: 1.2.0');
    expect(await title(`${BADGE}?show=signed`)).toBe('signature: not signed');
    const isPinned = definitionText({ kind: 'SetLabels', release: '1.2.0' }).includes('sha256');
    expect(await title(`${BADGE}?show=pinned`)).toBe(`runs: ${isPinned ? 'pinned' : 'can change'}`);
  });

  it('show that the newest release is yanked', async () => {
    await registry.publish({ kind: 'Bad', release: '1.0.0' });
    await registry.send('POST', `${releasePath({ kind: 'Bad', release: '1.0.0' })}/yank`, {
      reason: 'broken',
    });
    expect(await title('/badges/example.com/Bad.svg')).toBe('krmhub: 1.0.0 yanked');
  });

  it('can be cached and revalidated, and run nothing', async () => {
    const response = await registry.request(BADGE);
    expect(response.headers.get('content-type')).toBe('image/svg+xml');
    expect(response.headers.get('cache-control')).toBe('public, max-age=300');
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'; sandbox");
    const etag = response.headers.get('etag')!;
    expect((await registry.request(BADGE, { headers: { 'If-None-Match': etag } })).status).toBe(304);
  });

  it('of an unknown function are images with status 404', async () => {
    const response = await registry.request('/badges/example.com/Nothing.svg');
    expect(response.status).toBe(404);
    expect(response.headers.get('content-type')).toBe('image/svg+xml');
    expect(await response.text()).toContain('function not found');
  });

  it.each(['/badges/example.com/%3Cscript%3E.svg', '/badges/a"b.com/X.svg', `${BADGE}?show=%3Cscript%3E`])(
    'refuse %s',
    async (path) => {
      const response = await registry.request(path);
      expect(response.status).toBe(400);
      expect(await response.text()).not.toContain('<script');
    },
  );
});

describe('the image of a badge', () => {
  it('escapes hostile texts, and limits their length', () => {
    const image = badgeImage({
      label: '"><script>alert(1)</script>',
      message: `&\u202e\u0000${'x'.repeat(10_000)}`,
      tone: 'plain',
    });
    expect(image).not.toMatch(/<script|\u202e|\u0000|&(?!amp;|lt;|gt;|quot;)/);
    expect(image.length).toBeLessThan(2_000);
  });

  it('is as wide as its texts', () => {
    const width = (message: string) =>
      Number(/width="(\d+)"/.exec(badgeImage({ label: 'krmhub', message, tone: 'good' }))![1]);
    expect(width('1.0.0')).toBeLessThan(width('1.0.0-rc.1'));
    expect(width('iiiii')).toBeLessThan(width('WWWWW'));
  });
});
