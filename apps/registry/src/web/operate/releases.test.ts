import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signedIn } from '../../testing/operator-session.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';

let registry: TestRegistry;
beforeAll(async () => {
  registry = await openTestRegistry();
  for (const release of ['1.0.0', '1.1.0', '1.2.0']) await registry.publish({ kind: 'SetLabels', release });
});
afterAll(() => registry.close());

const OF = '/operate/releases/example.com/SetLabels';
/** Returns the words of a page, without markup. */
const words = (page: string) => page.replace(/<[^>]*>/g, '').replace(/\s+/g, ' ');
const stored = async (release: string) =>
  (await registry.parts.store.function('example.com', 'SetLabels'))?.releases.find(
    (one) => one.release === release,
  );

describe('the page of a release', () => {
  it('is found by its name', async () => {
    const browser = await signedIn(registry);
    const found = await browser.get('/operate/releases?name=example.com/SetLabels%40v1.1');
    expect([found.status, found.headers.get('location')]).toEqual([303, `${OF}/1.1.0`]);
    const list = await browser.text('/operate/releases?name=example.com/setlabels');
    expect(list).toContain(`href="${OF}/1.2.0"`);
    for (const [name, status, text] of [
      ['nothing', 400, 'Enter GROUP/KIND'],
      ['example.com/Nothing', 404, 'Function example.com/Nothing not found'],
      ['example.com/SetLables', 404, 'not found. Did you mean example.com/SetLabels?'],
    ] as const) {
      const response = await browser.get(`/operate/releases?${new URLSearchParams({ name })}`);
      expect(response.status).toBe(status);
      const page = await response.text();
      expect(page).toContain(text);
      expect(page).toMatch(/id="name"[^>]*aria-invalid="true"/);
    }
  });

  it('shows publishers which packages lock the function', async () => {
    const browser = await signedIn(registry);
    expect(words(await browser.text(`${OF}/1.0.0`))).toContain(
      'No package reported that it locks the function.',
    );
    const locked = { group: 'example.com', kind: 'SetLabels', version: 'v1' };
    const releases = [{ ...locked, release: '1.0.0', fields: ['labels'] }];
    await registry.send('PUT', '/api/v1/consumers', { name: 'github.com/example/shop', releases });
    await registry.send('PUT', '/api/v1/consumers', { name: `sha256:${'a'.repeat(64)}`, releases });
    const page = await browser.text(`${OF}/1.0.0`);
    expect(page).toContain('<strong>1.0.0</strong>');
    const text = words(page);
    for (const part of ['2 packages reported', '1.0.0 with v1: 2 packages', 'labels of v1: 2 packages']) {
      expect(text).toContain(part);
    }
    expect(text).toContain('Public ones: github.com/example/shop');
    expect(page).not.toContain('a'.repeat(64));
    const reader = await signedIn(registry, { scopes: ['yank'], groups: ['*'] });
    expect(await reader.text(`${OF}/1.0.0`)).not.toContain('Used by');
  });

  it('yanks and unyanks', async () => {
    const browser = await signedIn(registry);
    const yanked = await browser.act(`${OF}/1.0.0`, { do: 'yank', reason: 'drops labels' });
    expect([yanked.status, yanked.headers.get('location')]).toEqual([303, `${OF}/1.0.0?done=yank`]);
    expect((await stored('1.0.0'))?.yanked).toMatchObject({ reason: 'drops labels', by: 'tester' });
    const page = await browser.text(`${OF}/1.0.0?done=yank`);
    expect(page).toContain('The release is yanked');
    expect(page).toContain('Drops labels.');
    expect((await browser.act(`${OF}/1.0.0`, { do: 'unyank' })).status).toBe(303);
    expect((await stored('1.0.0'))?.yanked).toBeUndefined();
    expect(await browser.text(`${OF}/1.0.0?done=yank`)).not.toContain('The release is yanked');
  });

  it('deprecates with a replacement', async () => {
    const browser = await signedIn(registry);
    const form = { do: 'deprecate', reason: '', replacement: 'example.com/setlabels@^1.2.0' };
    expect((await browser.act(`${OF}/1.0.0`, form)).status).toBe(303);
    expect((await stored('1.0.0'))?.deprecated).toMatchObject({
      replacement: { group: 'example.com', kind: 'SetLabels', releases: '^1.2.0' },
    });
    expect(words(await browser.text(`${OF}/1.0.0`))).toContain('Use example.com/SetLabels@^1.2.0.');
    expect((await browser.act(`${OF}/1.0.0`, { do: 'undeprecate' })).status).toBe(303);
    expect((await stored('1.0.0'))?.deprecated).toBeUndefined();
  });

  it.each([
    ['yank-reason', { do: 'yank', reason: ' ' }],
    ['deprecate-reason', { do: 'deprecate', reason: '', replacement: '' }],
    ['deprecate-replacement', { do: 'deprecate', reason: 'old', replacement: 'nothing' }],
    ['deprecate-replacement', { do: 'deprecate', reason: 'old', replacement: 'example.com/Nothing' }],
  ])('shows what is wrong at the field %s, and changes nothing', async (field, form) => {
    const browser = await signedIn(registry);
    const response = await browser.act(`${OF}/1.1.0`, form);
    expect(response.status).toBe(400);
    const page = await response.text();
    expect(page).toMatch(
      new RegExp(`id="${field}"[^>]*aria-describedby="${field}-problem[^>]*aria-invalid="true"`),
    );
    expect(page).toContain(`id="${field}-problem"`);
    expect(await stored('1.1.0')).not.toHaveProperty('deprecated');
  });

  it('changes only what the token may change', async () => {
    const other = await signedIn(registry, { scopes: ['yank'], groups: ['other.example'] });
    const page = await other.text(`${OF}/1.1.0`);
    expect(words(page)).toContain('your token needs the group');
    expect(page).not.toMatch(/<form method="post" action="(?!\/sign-out)/);
    expect((await other.act(`${OF}/1.1.0`, { do: 'yank', reason: 'mine' })).status).toBe(403);
    const own = await signedIn(registry, { scopes: ['yank'], groups: ['example.com'] });
    expect((await own.act(`${OF}/1.1.0`, { do: 'deprecate', reason: 'old' })).status).toBe(303);
    expect((await own.get(`${OF}/1.1.0/takedown`)).status).toBe(403);
  });
});

describe('a takedown', () => {
  it('names everything that goes, asks, and takes it down', async () => {
    const browser = await signedIn(registry);
    const page = await browser.text(`${OF}/1.2.0/takedown`);
    expect(page).toContain(
      '<li><span class="found-group">example.com/</span><wbr/>SetLabels@<wbr/>1.2.0</li>',
    );
    expect(page).toContain((await stored('1.2.0'))!.digest);
    expect(page).toContain('Withdrawn snapshots');
    expect(page).toContain('You cannot undo a takedown');
    for (const form of [
      { reason: 'a secret' },
      { reason: '', confirmed: '1' },
      { reason: 'x', confirmed: '2' },
    ]) {
      const refused = await browser.act(`${OF}/1.2.0/takedown`, form);
      expect(refused.status).toBe(400);
      expect(await refused.text()).toContain('aria-invalid="true"');
    }
    expect(await stored('1.2.0')).toBeDefined();
    const done = await browser.act(`${OF}/1.2.0/takedown`, { reason: 'a secret', confirmed: '1' });
    expect(done.status).toBe(303);
    expect(await stored('1.2.0')).toBeUndefined();
    expect(words(await browser.text(done.headers.get('location')!))).toContain(
      'example.com/SetLabels@1.2.0 is no longer',
    );
    expect(await browser.text('/operate/releases?gone=example.com/SetLabels@1.1.0')).not.toContain(
      'no longer',
    );
    expect(await browser.text(`${OF}/1.2.0/takedown`)).toContain('was taken down');
  });
});

describe('events', () => {
  it('are shown newest first, and by token', async () => {
    const browser = await signedIn(registry, { name: 'robot' });
    await browser.act(`${OF}/1.0.0`, { do: 'yank', reason: '<b>hostile</b>' });
    const page = await browser.text('/operate/events');
    expect(page.indexOf('release.yanked')).toBeLessThan(page.indexOf('release.published'));
    expect(page).toContain('&lt;b&gt;hostile');
    const own = await browser.text('/operate/events?by=robot');
    expect(own).toContain('release.yanked');
    expect(own).not.toContain('release.published');
    expect(await browser.text('/operate/events?by=nobody')).toContain('No events');
    const tokens = await browser.text('/operate/tokens');
    expect(tokens).toContain('href="/operate/events?by=robot"');
    const early = await browser.text('/operate/events?before=2');
    expect(early.match(/id="event-/g)).toHaveLength(1);
  });
});
