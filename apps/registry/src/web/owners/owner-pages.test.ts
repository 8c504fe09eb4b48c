import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestBrowser } from '../../testing/operator-session.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';

const AT = '2030-01-01T00:00:00.000Z';
const teams = Array.from({ length: 60 }, (_, at) => `many-${String(at).padStart(2, '0')}`);
const ACCESS = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  openGroups: ["*"]
  teams:
  - {name: red, displayName: Red <b>team</b>, contact: "javascript:alert(1)"}
  - {name: blue, displayName: Blue team, contact: blue@example.com}
  - {name: shadow, displayName: Unknown people}
${teams.map((name) => `  - {name: ${name}}`).join('\n')}
  groups:
  - {pattern: red.example.com, owner: red}
  - {pattern: "*.red.example.com", owner: red}
  - {pattern: secret.red.example.com, owner: red, visibility: private}
  - {pattern: hidden.example.com, owner: shadow, visibility: private}
  - pattern: half.example.com
    owner: red
    functions: [{kind: KeepSecret, visibility: private}]
${teams.map((name) => `  - {pattern: ${name}.example.net, owner: ${name}}`).join('\n')}
`;

let registry: TestRegistry;
let admin: TestBrowser;
beforeAll(async () => {
  registry = await openTestRegistry({ config: { publicUrl: 'http://registry.test' } });
  for (const [group, kind] of [
    ['red.example.com', 'SetColor'],
    ['a.red.example.com', 'SetShade'],
    ['secret.red.example.com', 'KeepSecret'],
    ['half.example.com', 'KeepSecret'],
    ['hidden.example.com', 'KeepSecret'],
    ['nobody.example.org', 'SetNothing'],
    ['blue.example.org', 'SetBlue'],
  ] as const) {
    const { status } = await registry.publish({ group, kind, release: '1.0.0' });
    expect(status).toBe(201);
  }
  const { store, access } = registry.parts;
  const claim = { group: 'blue.example.org', team: 'blue', proof: 'dns', claimedBy: 'ci' } as const;
  await store.putOwnerClaim({ ...claim, claimedAt: AT, checkedAt: AT, missingSince: AT, problem: 'gone' });
  const event = { type: 'access.applied', at: AT, by: 'test' } as const;
  await store.applyAccess({
    ...{ text: ACCESS, appliedAt: AT, appliedBy: 'test', expectedRevision: 1, event },
  });
  await access.reload(store);
  admin = new TestBrowser(registry);
  await admin.signIn((await registry.token({ name: 'reader' })).secret);
});
afterAll(() => registry.close());

const anyone = () => new TestBrowser(registry);
const words = (page: string) =>
  page
    .replace(/<[^>]*>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replace(/\s+/g, ' ');

describe('the list of owners', () => {
  it('has every team once, page by page, and how many functions nobody owns', async () => {
    const found: string[] = [];
    let next: string | undefined = '/owners';
    for (let pages = 0; next !== undefined; pages += 1) {
      expect(pages).toBeLessThan(3);
      const page: string = await anyone().text(next);
      found.push(...[...page.matchAll(/<h2><a href="\/owners\/([^"]+)"/g)].map(([, team]) => team!));
      expect(words(page)).toContain('1 function in groups without an owner, or only in upstream catalogs.');
      expect(page).toContain('href="/functions?owner=not+verified"');
      expect(page).not.toContain('<b>team</b>');
      next = /<a href="([^"]+)" rel="next">/.exec(page)?.[1];
    }
    expect(found).toEqual(['blue', ...teams, 'red']);
  });

  it('has what only some may read for them alone', async () => {
    expect(words(await admin.text('/owners?after=many-59'))).toContain('Unknown people hidden.example.com');
    expect(await anyone().text('/owners?after=many-59')).not.toContain('hidden.example.com');
  });
});

describe('the page of an owner', () => {
  it('shows its groups with how each was shown, signers, and functions that the reader may see', async () => {
    const page = words(await anyone().text('/owners/red'));
    expect(page).toContain('Red <b>team</b>');
    expect(page).toContain('red.example.com verified by an administrator');
    expect(page).toContain('Functions 2');
    expect(page).toContain('No displayed release has a signature.');
    expect(page).not.toMatch(/KeepSecret|secret\.red/);
    const all = words(await admin.text('/owners/red'));
    expect(all).toContain('Functions 4');
    expect(all).toContain('secret.red.example.com');
  });

  it('says since when a proof is missing, and how to reach the team', async () => {
    const page = await anyone().text('/owners/blue');
    expect(words(page)).toMatch(
      /blue\.example\.org verified by DNS , checked 2030-01-01 .*proof missing since/,
    );
    expect(page).toContain('<a href="mailto:blue@example.com">');
    expect(await anyone().text('/owners/red')).not.toContain('href="javascript');
  });

  it('is absent for a team whose groups the reader may not read, as for one that owns nothing', async () => {
    const hidden = await anyone().get('/owners/shadow');
    const absent = await anyone().get('/owners/absent');
    expect([hidden.status, absent.status]).toEqual([404, 404]);
    const comparable = async (response: Response, team: string) =>
      (await response.text())
        .replaceAll(team, 'TEAM')
        .replaceAll(response.headers.get('x-request-id') ?? '', 'ID');
    expect(await comparable(hidden, 'shadow')).toBe(await comparable(absent, 'absent'));
    expect((await admin.get('/owners/shadow')).status).toBe(200);
    expect((await admin.get('/owners/others')).status).toBe(404);
  });
});

it('the sitemap has the owners that everybody may see', async () => {
  const text = await anyone().text('/sitemaps/1.xml');
  expect(text).toContain('<loc>http://registry.test/owners/red</loc>');
  expect(text).toContain('<loc>http://registry.test/owners</loc>');
  expect(text).not.toContain('/owners/shadow');
});
