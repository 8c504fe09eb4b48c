import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signedIn, type TestBrowser } from '../../testing/operator-session.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';

const HOSTILE = '<script>alert(1)</script>"\u202e';

let registry: TestRegistry;
let browser: TestBrowser;
beforeAll(async () => {
  registry = await openTestRegistry();
  browser = await signedIn(registry, { name: 'auditor', scopes: ['audit'] });
  const act = { at: new Date().toISOString(), by: HOSTILE, outcome: 'refused' as const };
  await registry.parts.store.recordAct({
    ...{ ...act, action: 'request.refuse', object: `PUT /${HOSTILE}` },
    ...{ detail: { reason: HOSTILE }, origin: { address: HOSTILE, requestId: HOSTILE } },
  });
});
afterAll(() => registry.close());

describe('the page of the audit log', () => {
  it('is for operators with the scope audit or admin', async () => {
    const publisher = await signedIn(registry, { scopes: ['publish', 'yank', 'push'] });
    expect((await publisher.get('/operate/audit')).status).toBe(403);
    const admin = await signedIn(registry, { scopes: ['admin'] });
    expect((await admin.get('/operate/audit')).status).toBe(200);
    expect((await browser.get('/operate/audit')).status).toBe(200);
  });

  it('shows rows that match, without their markup', async () => {
    const page = await browser.text('/operate/audit?outcome=refused&object=PUT');
    expect(page).toContain('&lt;script&gt;alert(1)');
    expect(page).not.toContain('<script>alert(1)');
    expect(page).not.toContain('token.create</b>');
    expect(await browser.text('/operate/audit?actor=nobody')).toContain('No rows');
    expect(await browser.text('/operate/audit?action=token.create')).toContain('token.create</b>');
    expect((await browser.get('/operate/audit?outcome=maybe')).status).toBe(400);
  });

  it('has pages of all rows', async () => {
    const { store } = registry.parts;
    for (let count = 0; count < 120; count += 1) {
      const act = { at: new Date().toISOString(), by: 'many', outcome: 'done' as const };
      await store.recordAct({ ...act, action: 'token.use', object: `token/${count}` });
    }
    const seen: string[] = [];
    for (let target: string | undefined = '/operate/audit?actor=many'; target !== undefined; ) {
      const page: string = await browser.text(target);
      seen.push(...[...page.matchAll(/<bdi>token\/<wbr\/>(\d+)<\/bdi>/g)].map(([, count]) => count!));
      target = /href="([^"]+)" rel="next"/.exec(page)?.[1]?.replaceAll('&amp;', '&');
    }
    expect(seen).toEqual(Array.from({ length: 120 }, (_, at) => String(119 - at)));
  });
});
