import type { TokenScope } from '@krmhub/api/token-scopes';
import { sha256 } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { storeTeamToken } from '../../testing/access.js';
import { signedIn } from '../../testing/operator-session.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';

let registry: TestRegistry;
beforeEach(async () => {
  registry = await openTestRegistry();
});
afterEach(() => registry.close());

const PAGE = '/operate/access';
const document = (spec: string) =>
  `apiVersion: krmhub.dev/v1alpha1\nkind: Access\nmetadata: {name: registry}\nspec: ${spec}\n`;
const OWNED = document(`
  teams: [{name: red, displayName: Red <team>}]
  groups: [{pattern: "*.example.com", owner: red, visibility: private}]
  grants: [{to: {team: red}, may: [read], in: {catalog: in-house}}]`);
const CONFIRMED = { text: OWNED, shown: sha256(OWNED), do: 'apply' };
const words = (page: string) =>
  page
    .replace(/<[^>]*>/g, '')
    .replaceAll('&quot;', '"')
    .replace(/\s+/g, ' ');
const stored = async () => (await registry.parts.store.access())?.text ?? '';
const expected = async () => sha256(await stored());

describe('the Access document', () => {
  it('is checked without a change, and says who gains and loses what', async () => {
    const browser = await signedIn(registry);
    const before = await stored();
    const response = await browser.act(PAGE, { text: OWNED, expected: await expected(), do: 'check' });
    expect(response.status).toBe(200);
    const page = words(await response.text());
    expect(page).toContain('The document is valid');
    expect(page).toContain('no longer: read on *.example.com');
    expect(page).toContain('anonymous clients, clients of internal networks');
    expect(page).toContain('now: own on *.example.com');
    expect(await stored()).toBe(before);
  });

  it('is applied only after its effects were shown for the same text', async () => {
    const browser = await signedIn(registry);
    const before = await stored();
    const apply = async (text: string, shown?: string) =>
      browser.act(PAGE, {
        ...{ text, expected: sha256(before), do: 'apply' },
        ...(shown === undefined ? {} : { shown }),
      });
    const asked = await apply(OWNED);
    const page = await asked.text();
    expect(asked.status).toBe(200);
    expect(words(page)).toContain('Nothing was changed yet');
    expect(page.indexOf('Nothing was changed yet')).toBeLessThan(page.indexOf('id="check"'));
    expect(words(page)).toContain('now: own on *.example.com: team red');
    const shown = /name="shown" value="([^"]+)"/.exec(page)?.[1];
    expect(shown).toBe(sha256(OWNED));
    // The text was edited after its effects were shown.
    const edited = await apply(OWNED.replace('private', 'internal'), shown);
    expect(words(await edited.text())).toContain('Nothing was changed yet');
    expect(await stored()).toBe(before);
    expect((await apply(OWNED, shown)).status).toBe(303);
    expect(await stored()).toBe(OWNED);
  });

  it('is applied at once if nobody gains or loses a right', async () => {
    const browser = await signedIn(registry);
    const text = `# A comment.\n${await stored()}`;
    expect((await browser.act(PAGE, { text, expected: await expected(), do: 'apply' })).status).toBe(303);
  });

  it('is applied only after what ends with a team, and what snapshots still show, was shown', async () => {
    await registry.publish({ group: 'a.example.com', kind: 'SetLabels', release: '1.0.0' });
    await registry.waitForCatalogs();
    const browser = await signedIn(registry);
    const hiding = await browser.act(PAGE, { text: OWNED, expected: await expected(), do: 'apply' });
    expect(words(await hiding.text())).toMatch(
      /Catalog default: snapshot \d+ still contains a\.example\.com\/SetLabels\..*only a takedown/,
    );
    await browser.act(PAGE, { ...CONFIRMED, expected: await expected() });
    await storeTeamToken(registry.parts.store, 'red');
    const text = document('{groups: [{pattern: "*.example.com", visibility: private}]}');
    const asked = await browser.act(PAGE, { text, expected: await expected(), do: 'apply' });
    expect(words(await asked.text())).toMatch(
      /Revokes the token token of red \([0-9a-f]{8}\) of the former team red\./,
    );
    expect(await stored()).toBe(OWNED);
  });

  it('is applied, and shows teams and what is not public', async () => {
    const browser = await signedIn(registry);
    expect(words(await browser.text(PAGE))).toContain('Every group is open');
    expect(words(await browser.text('/operate'))).toContain('Every group is open');
    const applied = await browser.act(PAGE, { ...CONFIRMED, expected: await expected() });
    expect([applied.status, applied.headers.get('location')]).toEqual([303, `${PAGE}?applied=true`]);
    const page = await browser.text(`${PAGE}?applied=true`);
    expect(page).not.toContain('<team>');
    expect(words(page)).toContain('Document applied');
    expect(words(page)).toContain('owns *.example.com; may read in catalog in-house');
    expect(words(page)).toContain('group *.example.com: private');
    expect(words(page)).not.toContain('Every group is open');
    expect(words(await browser.text('/operate'))).not.toContain('Every group is open');
  });

  it('is not applied over that of another user', async () => {
    const browser = await signedIn(registry);
    const old = await expected();
    await browser.act(PAGE, { ...CONFIRMED, expected: old });
    const late = await browser.act(PAGE, { text: document('{}'), expected: old, do: 'apply' });
    expect(late.status).toBe(409);
    const page = await late.text();
    expect(words(page)).toContain('The document has changed since you started');
    expect(page).toContain(`name="expected" value="${await expected()}"`);
    expect(await stored()).toBe(OWNED);
  });

  it('shows every problem with its line, and keeps the text', async () => {
    const browser = await signedIn(registry);
    const text = document('{tems: []}');
    const response = await browser.act(PAGE, { text, expected: await expected(), do: 'apply' });
    expect(response.status).toBe(400);
    const page = await response.text();
    expect(words(page)).toMatch(/line 4, column \d+/);
    expect(page).toContain('{tems: []}');
  });

  it.each<[TokenScope[], number, number]>([
    [['read'], 6, 7],
    [['audit'], 7, 8],
    [['publish', 'yank'], 6, 7],
    [['admin'], 11, 11],
  ])('is among the links of a token with %j only if it can be opened', async (scopes, hiding, open) => {
    for (const [spec, count] of [
      ['{}', open],
      ['{groups: [{pattern: a.example.com, visibility: private}]}', hiding],
    ] as const) {
      const admin = await signedIn(registry);
      const text = document(spec);
      await admin.act(PAGE, { text, shown: sha256(text), expected: await expected(), do: 'apply' });
      const browser = await signedIn(registry, { scopes });
      const page = await browser.text('/operate');
      const [bar = '', rest = ''] = page.split('</nav>').slice(-2);
      const links = (html: string) =>
        [...html.matchAll(/href="([^"]*\/operate[^"]*)"/g)].map(([, target]) => target!);
      const offered = links(bar.slice(bar.lastIndexOf('<nav')));
      expect(offered).toHaveLength(count);
      for (const target of new Set([...offered, ...links(rest)])) {
        const { status } = await browser.get(new URL(target, 'http://registry.test').pathname);
        expect([scopes, spec, target, status]).toEqual([scopes, spec, target, 200]);
      }
    }
  });

  it('is only for administrators, because it names what is private', async () => {
    const browser = await signedIn(registry, { scopes: ['publish', 'yank'] });
    await registry.send('PUT', '/api/v1/access', OWNED);
    expect((await browser.get(PAGE)).status).toBe(403);
  });
});

it('the status names no catalog that the user may not read', async () => {
  await registry.close();
  registry = await openTestRegistry({
    wrapStore: (store) => ({
      ...store,
      commitSnapshot: (commit) =>
        commit.catalog === 'hidden' ? Promise.reject(new Error('disk gone')) : store.commitSnapshot(commit),
    }),
  });
  const recipe = `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: hidden}
spec: {sources: [{name: ours, functions: {}}]}
`;
  await registry.send(
    'PUT',
    '/api/v1/access',
    document('{catalogs: [{pattern: hidden, visibility: private}]}'),
  );
  await registry.send('PUT', '/api/v1/catalogs/hidden', recipe);
  const { snapshotBuilder } = registry.parts;
  await expect.poll(() => snapshotBuilder.status().failing).toMatchObject([{ catalog: 'hidden' }]);
  const status = async (wanted?: Parameters<typeof signedIn>[1]) =>
    words(await (await signedIn(registry, wanted)).text('/operate'));
  expect(await status()).toContain('hidden: internal error');
  const others = await status({ scopes: ['read'] });
  expect(others).toContain('Catalog builds succeed');
  expect(others).not.toContain('hidden');
});

describe('a check of access', () => {
  it('gives the decision, or what is wrong with the question', async () => {
    const browser = await signedIn(registry);
    await registry.send('PUT', '/api/v1/access', OWNED);
    const ask = async (actor: string, object: string) =>
      words(await browser.text(`${PAGE}?${new URLSearchParams({ actor, action: 'publish', object })}`));
    expect(await ask('team:red', 'a.example.com')).toContain('The team "red" owns the group');
    expect(await ask('anonymous', 'a.example.com')).toContain('Missing: the scope "publish"');
    expect(await ask('<b>', 'a.example.com')).toContain('not found');
    expect(await ask('anonymous', '')).toContain('Enter an actor and an object.');
  });
});

describe('a token of a team', () => {
  it('needs no groups, and is refused for an unknown team', async () => {
    const browser = await signedIn(registry);
    await registry.send('PUT', '/api/v1/access', OWNED);
    const form = { name: 'red-ci', scopes: 'publish', groups: '', repositories: '', expiresInDays: '1' };
    const refused = await browser.act('/operate/tokens/new', { ...form, team: 'redd' });
    expect(words(await refused.text())).toContain('Did you mean red?');
    expect((await browser.act('/operate/tokens/new', { ...form, team: 'red' })).status).toBe(303);
    const token = (await registry.parts.store.tokens()).find(({ name }) => name === 'red-ci');
    expect(token).toMatchObject({ team: 'red', groups: ['*'], scopes: ['publish'] });
    expect(words(await browser.text('/operate/tokens'))).toContain('at most what the team red may do');
  });
});
