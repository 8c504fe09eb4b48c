import type { TryItData } from '@krmhub/schema/documents/try-it';
import { type TestResult, testResultStatement } from '@krmhub/signing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newKey, policy, releaseDigests, signedBy } from '../../testing/signing.js';
import { openTestRegistry, type TestRegistry } from '../../testing/test-registry.js';

const KIND = 'SetLabels';
const key = newKey();
let registry: TestRegistry;

beforeAll(async () => {
  registry = await openTestRegistry();
  for (const release of ['1.0.0', '1.1.0'])
    expect((await registry.publish({ kind: KIND, release }, '')).status).toBe(201);
});
afterAll(() => registry.close());

const EXAMPLE = {
  name: 'basic',
  functionConfig: 'kind: SetLabels\n',
  input: { 'a.yaml': 'a: <b>1</b>\n' },
  output: { 'a.yaml': 'a: <b>2</b>\n' },
  messages: ['one changed'],
};
const REPORT: TestResult = {
  result: 'PASSED',
  configuration: [],
  passedTests: ['example basic'],
  warnedTests: [],
  failedTests: [],
  examples: [EXAMPLE],
};

async function read(path: string, headers: Record<string, string> = {}) {
  const response = await registry.request(`/functions/example.com/${KIND}${path}`, { headers });
  return { status: response.status, headers: response.headers, text: await response.text() };
}
const readPage = async (path = '') => read(path, { Accept: 'text/html' });
const readData = async (path = '') => JSON.parse((await read(`${path}/try.json`)).text) as TryItData;

describe('"Try it"', () => {
  it('names the schema, an example, and files that pages can keep', async () => {
    const data = await readData();
    expect(data).toMatchObject({ group: 'example.com', kind: KIND, examples: [] });
    expect(data.functionConfig).toContain('kind: SetLabels\n');
    // Kustomize can run it: the page has the same text.
    expect(data.functionConfig).toContain('config.kubernetes.io/function: |');
    expect(data.functionConfig).toContain('config.kubernetes.io/local-config: "true"');
    expect(data).not.toHaveProperty('script');
    for (const path of Object.values(data.files)) {
      const response = await registry.request(path);
      expect([path, response.status]).toEqual([path, 200]);
      expect(response.headers.get('cache-control')).toContain('immutable');
    }
  });

  it('has a frame that runs code and may not request anything, and a page that may have this frame only', async () => {
    const { files } = await readData();
    const frame = (await registry.request(files.frame)).headers.get('content-security-policy');
    expect(frame).toMatch(
      /^sandbox allow-scripts; default-src 'none'; script-src 'sha256-[^' ]+' 'unsafe-eval'; worker-src blob:; frame-ancestors 'self'$/,
    );
    const worker = (await registry.request(files.config)).headers.get('content-security-policy');
    expect(worker).toBe("default-src 'none'; frame-ancestors 'none'");
    expect((await readPage()).headers.get('content-security-policy')).toMatch(/; frame-src 'self'$/);
    const other = (await readPage('/releases')).headers.get('content-security-policy');
    expect(other).not.toContain('frame-src');
  });

  it('shows what a tester recorded, as text', async () => {
    const statement = testResultStatement(releaseDigests({ kind: KIND, release: '1.1.0' }), REPORT);
    const { status } = await registry.attach(
      { kind: KIND, release: '1.1.0' },
      await signedBy(key, statement),
    );
    expect(status).toBe(200);
    expect((await readData()).examples).toEqual([EXAMPLE]);
    expect((await readData('/releases/1.0.0')).examples).toEqual([]);
    const { text } = await readPage();
    expect(text).toContain('A tester recorded an example');
    expect(text).toContain('a: &lt;b>2&lt;/b>'.replaceAll('>', '&gt;'));
    expect(text).toContain('one changed');
  });

  it('does not show what a signer recorded that a policy does not trust', async () => {
    await registry.send('PUT', '/api/v1/policies?remove=true', policy([newKey()]));
    expect((await readData()).examples).toEqual([]);
    expect((await readPage()).text).not.toContain('A tester recorded');
    await registry.send('PUT', '/api/v1/policies?remove=true', policy([]));
  });

  it('does not offer a yanked release', async () => {
    const path = `/api/v1/functions/example.com/${KIND}/releases/1.0.0/yank`;
    expect((await registry.send('POST', path, { reason: 'broken' })).status).toBeLessThan(300);
    expect((await readPage('/releases/1.0.0')).text).not.toContain('data-try');
    expect((await readPage()).text).toContain('data-try');
    expect((await readPage('/releases/1.0.0')).text).not.toContain('href="#try"');
    const { text } = await readPage();
    // The section comes after the README, which can be long.
    expect(text.indexOf('href="#try"')).toBeLessThan(text.indexOf('class="about'));
    expect(text).toContain('href="#try"');
  });
});
