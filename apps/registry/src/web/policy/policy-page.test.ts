import { afterAll, beforeAll, expect, it } from 'vitest';
import { newKey, policy } from '../../testing/signing.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';

let registry: TestRegistry;
const key = newKey();
beforeAll(async () => {
  registry = await openTestRegistry();
});
afterAll(() => registry.close());

const page = async (target: string) => {
  const response = await registry.request(target, { headers: { Accept: 'text/html' } });
  return { status: response.status, text: await response.text() };
};

it('shows each policy with what it covers and its signers by name', async () => {
  expect((await page('/policies')).text).toContain('No policies yet');
  expect((await page('/policies/team')).status).toBe(404);
  const apply = async (body: string) => {
    const { status } = await registry.send('PUT', '/api/v1/policies', body);
    expect(status).toBe(200);
  };
  await apply(policy([key]));
  const list = (await page('/policies')).text;
  expect(list).toContain('<a href="/policies/team">team</a>');
  const { status, text } = await page('/policies/team');
  expect(status).toBe(200);
  expect(text).toContain(`<code class="digest">${key.fingerprint}</code>`);
  expect(text).toContain('BEGIN PUBLIC KEY');
  expect(text).not.toContain('>revoked<');
  await apply(policy([key], { signer: 'revoked: <b>stolen</b>' }));
  const revoked = (await page('/policies/team')).text;
  expect(revoked).toContain('>revoked<');
  expect(revoked).toContain('&lt;b&gt;stolen');
});

it('says which identity of which issuer a policy trusts', async () => {
  const { status } = await registry.send(
    'PUT',
    '/api/v1/policies?remove=true',
    `apiVersion: krmhub.dev/v1alpha1
kind: SigningPolicy
metadata: {name: pipelines}
spec:
  groups: ['*.example.com', example.org]
  releases: '>=1.0.0'
  signers:
  - {issuer: 'https://issuer.example.com', subject: 'release@example.com'}
`,
  );
  expect(status).toBe(200);
  const { text } = await page('/policies/pipelines');
  for (const part of ['release@example.com', 'https://issuer.example.com', '&gt;=1.0.0', '*.example.com'])
    expect(text).toContain(part);
  expect(text).toContain('href="/functions?group=example.org"');
});
