import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from './config-file.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function load(
  text: string | Uint8Array,
  env: Record<string, string> = {},
  overrides: Parameters<typeof loadConfig>[1] = {},
) {
  await writeFile(path.join(folder, 'krmhub.yaml'), text);
  return loadConfig(env, { config: 'krmhub.yaml', ...overrides }, folder);
}

async function listProblems(...input: Parameters<typeof load>): Promise<string> {
  const error = await load(...input).then(
    () => undefined,
    (failure: unknown) => failure,
  );
  expect(error).toBeInstanceOf(KrmhubError);
  expect((error as KrmhubError).code).toBe('usage');
  return (error as KrmhubError).message;
}

describe('loadConfig', () => {
  const text = `# A registry behind an ingress
publicUrl: https://krm.example.com/hub/
trustedProxies:
- 10.0.0.0/8
- fd00::/8
port: 9000
host: 0.0.0.0
writesPerMinute: 0
`;

  it('reads a file, which the environment overrides, and options override both', async () => {
    expect(await load(text)).toMatchObject({
      publicUrl: 'https://krm.example.com/hub',
      trustedProxies: ['10.0.0.0/8', 'fd00::/8'],
      port: 9000,
      host: '0.0.0.0',
      writesPerMinute: 0,
      requestsPerMinute: 3_000,
    });
    const env = { KRMHUB_PORT: '9001', KRMHUB_HOST: '::1', KRMHUB_LOG_LEVEL: '' };
    const both = await load(`${text}logLevel: warn\n`, env, { port: '9002' });
    expect(both).toMatchObject({ port: 9002, host: '::1', logLevel: 'warn' });
  });

  it('reads the file that the environment names, also as JSON', async () => {
    await writeFile(path.join(folder, 'krmhub.json'), '{"port": 9003, "trustedProxies": "::1, 10.1.2.3"}');
    expect(await loadConfig({ KRMHUB_CONFIG: 'krmhub.json' }, {}, folder)).toMatchObject({
      port: 9003,
      trustedProxies: ['::1', '10.1.2.3'],
    });
    expect((await loadConfig({ KRMHUB_CONFIG: '' }, {}, folder)).port).toBe(8080);
  });

  it('reports every problem at once, each with its position', async () => {
    const message = await listProblems(
      `port: 65536
publicURL: https://x.example
KRMHUB_HOST: x
logLevel:
  of: everything
trustedProxies: [10.0.0.0/40, ::1]
writesPerMinute: many
constructor: 1
`,
      { KRMHUB_HOST: 'a b', KRMHUB_DAT: '1' },
    );
    for (const part of [
      'krmhub.yaml:1:7: port: "65536" is not a port',
      'krmhub.yaml:2:1: unknown setting "publicURL"; did you mean publicUrl?',
      'krmhub.yaml:3:1: unknown setting "KRMHUB_HOST"; use one of host, port,',
      'krmhub.yaml:5:3: logLevel: not a string or a number',
      'krmhub.yaml:6:17: trustedProxies: "10.0.0.0/40": not an address',
      'krmhub.yaml:7:18: writesPerMinute: "many" is not a number',
      'krmhub.yaml:8:1: unknown setting "constructor"',
      'KRMHUB_HOST: "a b"',
      'KRMHUB_DAT: unknown setting; did you mean KRMHUB_DATA?',
    ]) {
      expect(message).toContain(part);
    }
  });

  it.each([
    ['port: 1\nport: 2\n', 'krmhub.yaml:2:1'],
    ['port: [\n', 'krmhub.yaml:'],
    ['port: 1\n__proto__: 1\n', 'krmhub.yaml:2:1'],
    ['- port\n', 'one mapping of settings'],
    ['port: 1\n---\nport: 2\n', 'one mapping of settings'],
    [new Uint8Array([0xff, 0x00]), 'krmhub.yaml'],
  ])('rejects %j', async (wrong, part) => {
    expect(await listProblems(wrong)).toContain(part);
  });

  it('reads the example of the documentation', async () => {
    const document = await readFile(new URL('../../../../docs/configuration.md', import.meta.url), 'utf8');
    const shown = /```yaml\n([\s\S]*?)```/.exec(document)?.[1] ?? '';
    expect(await load(shown)).toMatchObject({
      publicUrl: 'https://krm.example.com',
      trustedProxies: ['10.0.0.0/8'],
      writesPerMinute: 600,
    });
  });

  it('reports which file it cannot read, and the option that names it', async () => {
    await expect(loadConfig({ KRMHUB_CONFIG: '/nowhere.yaml' }, {}, folder)).rejects.toMatchObject({
      message: 'cannot read the configuration file /nowhere.yaml: no such file',
      hint: 'Correct the path in KRMHUB_CONFIG.',
    });
  });
});
