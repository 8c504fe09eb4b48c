import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signedIn } from '../../testing/operator-session.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';

let registry: TestRegistry;
beforeAll(async () => {
  registry = await openTestRegistry();
  await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
});
afterAll(() => registry.close());

const policy = (name: string, group = 'example.com') => `apiVersion: krmhub.dev/v1alpha1
kind: SigningPolicy
metadata: {name: ${name}}
spec:
  groups: [${group}]
  signers: [{issuer: https://issuer.example, subject: ${name}@example.com}]
`;
const PAGE = '/operate/policies';
const words = (page: string) => page.replace(/<[^>]*>/g, '').replace(/\s+/g, ' ');
const stored = async () => registry.parts.store.policies();

describe('the signing policies', () => {
  it('are checked without a change, and say who becomes trusted', async () => {
    const browser = await signedIn(registry);
    const response = await browser.act(PAGE, { text: policy('team'), expected: '0', do: 'check' });
    expect(response.status).toBe(200);
    const page = words(await response.text());
    expect(page).toContain('The policies are valid');
    expect(page).toContain('example.com: signatures are needed; trusts team@example.com');
    expect(page).toMatch(/example\.com\/ ?SetLabels@1\.0\.0 ?: not signed, then not trusted/);
    expect(await stored()).toBeUndefined();
  });

  it('show every problem with its line, and keep the text', async () => {
    const browser = await signedIn(registry);
    const text = policy('team').replace('groups:', 'grups:');
    const response = await browser.act(PAGE, { text, expected: '0', do: 'apply' });
    expect(response.status).toBe(400);
    const page = await response.text();
    expect(words(page)).toMatch(/line 5, column \d+/);
    expect(page).toContain('grups: [example.com]');
    expect(await stored()).toBeUndefined();
  });

  it('are applied, and not over those of another user', async () => {
    const browser = await signedIn(registry);
    const applied = await browser.act(PAGE, { text: policy('team'), expected: '0', do: 'apply' });
    expect([applied.status, applied.headers.get('location')]).toEqual([303, `${PAGE}?applied=true`]);
    expect(await browser.text(`${PAGE}?applied=true`)).toContain('Policies applied');
    const { revision, text } = (await stored())!;
    expect(text).toBe(policy('team'));
    const late = await browser.act(PAGE, {
      text: policy('team', 'other.example'),
      expected: '0',
      do: 'apply',
    });
    expect(late.status).toBe(409);
    const page = await late.text();
    expect(page).toContain('The policies have changed since you started');
    expect(page).toContain(`name="expected" value="${revision}"`);
    expect((await stored())!.text).toBe(policy('team'));
  });

  it('are removed only after a confirmation', async () => {
    const browser = await signedIn(registry);
    const expected = String((await stored())!.revision);
    const form = { text: policy('other'), expected, do: 'apply' };
    const refused = await browser.act(PAGE, form);
    expect(refused.status).toBe(409);
    const page = await refused.text();
    expect(words(page)).toContain('This would remove policies: team.');
    expect(page).toContain('name="remove"');
    expect((await stored())!.text).toBe(policy('team'));
    expect((await browser.act(PAGE, { ...form, remove: 'true' })).status).toBe(303);
    expect((await stored())!.text).toBe(policy('other'));
  });

  it('of a user with fewer rights are text', async () => {
    const page = await (await signedIn(registry, { scopes: ['yank'] })).text(PAGE);
    expect(page).toContain('other@example.com');
    expect(page).not.toContain('<textarea');
  });
});
