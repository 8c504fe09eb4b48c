import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { expectEnd, fileRegistry, runTest, temporaryFolder, testRegistry } from '../testing/command-line.js';

const registry = fileRegistry();
let home: string;
beforeEach(() => {
  home = temporaryFolder();
});

const file = () => path.join(home, '.config/krmhub/credentials.json');
const run = (args: string[], options: { stdin?: string; tty?: boolean; env?: Record<string, string> } = {}) =>
  runTest(args, { ...options, env: { HOME: home, KRMHUB_REGISTRY: registry.url, ...options.env } });

it('saves a token from stdin for later commands, until logout', async () => {
  const login = await run(['login'], { stdin: `${registry.token}\n` });
  expect(login.err()).toContain('as admin');
  expect([login.exitCode, login.out()]).toEqual([0, '']);
  expect(login.err()).not.toContain(registry.token);
  expect((await stat(file())).mode & 0o777).toBe(0o600);

  const whoami = await run(['whoami', '-o', 'json']);
  expect(JSON.parse(whoami.out())).toMatchObject({ registry: registry.url, name: 'admin' });
  expect(whoami.out()).not.toContain(registry.token);

  expect((await run(['logout', registry.url])).err()).toMatch(
    /removed the token .*krmhub token revoke [0-9a-f-]{36}\n/,
  );
  expect(await readFile(file(), 'utf8')).not.toContain(registry.token);
  expect((await run(['logout'])).err()).toContain('no saved token for');
  expectEnd(await run(['whoami']), 6, 'krmhub login');
});

it('reads the token from the environment, or from a prompt without showing it', async () => {
  expect((await run(['login'], { env: { KRMHUB_TOKEN: registry.token } })).exitCode).toBe(0);
  expect((await run(['logout'])).exitCode).toBe(0);
  const typed = `wrong\u0015${registry.token}x\u007f\r`;
  const login = await run(['login', registry.url], { tty: true, stdin: typed });
  expect([login.exitCode, login.out()]).toEqual([0, '']);
  expect(login.err()).toContain(`Token for ${registry.url}: `);
  expect(login.err()).not.toContain(registry.token.slice(0, 20));
  expect((await run(['whoami'])).exitCode).toBe(0);
});

it('makes the registry the default, which KRMHUB_REGISTRY and --registry override', async () => {
  const plain = (args: string[], stdin = '') => runTest(args, { stdin, env: { HOME: home } });
  const login = await plain(['login', registry.url], registry.token);
  expectEnd(login, 0, 'commands use this registry by default');
  const whoami = await plain(['whoami', '-o', 'json']);
  expect(JSON.parse(whoami.out())).toMatchObject({ registry: registry.url, name: 'admin' });
  const elsewhere = { KRMHUB_REGISTRY: 'http://127.0.0.1:1' };
  expectEnd(await run(['whoami'], { env: elsewhere }), 5, 'http://127.0.0.1:1');
  expectEnd(await plain(['whoami', '--registry', 'http://127.0.0.1:1']), 5, 'http://127.0.0.1:1');
  expectEnd(
    await run(['login', registry.url], { stdin: registry.token, env: elsewhere }),
    0,
    `KRMHUB_REGISTRY is set: commands use http://127.0.0.1:1, not ${registry.url}`,
  );
  expect((await plain(['logout'])).err()).toContain('commands use http://localhost:8080 by default');
});

it('prefers stdin to the environment, and prints which token commands use', async () => {
  const login = await run(['login'], { stdin: registry.token, env: { KRMHUB_TOKEN: 'another' } });
  expectEnd(login, 0, `KRMHUB_TOKEN is set: commands use it for ${registry.url}, before a saved token`);
  expect((await run(['login'], { stdin: registry.token })).err()).not.toContain('KRMHUB_TOKEN');
  const whoami = await run(['whoami'], { env: { KRMHUB_TOKEN: registry.token } });
  expectEnd(whoami, 0, 'KRMHUB_TOKEN is set');
});

it.each([
  ['nothing', '', false, 2],
  ['two lines', 'a\nb\n', false, 2],
  ['something else', 'not-a-token', false, 6],
  ['an unknown token', `krmhub_${'0'.repeat(72)}`, false, 6],
  ['an interrupt', 'abc\u0003', true, 2],
])('saves nothing when it is given %s', async (_, stdin, tty, code) => {
  const login = await run(['login'], { stdin, tty });
  expect(login.exitCode).toBe(code);
  expect(login.err()).toContain('error');
  await expect(stat(file())).rejects.toThrow();
});

it('sends a saved token only to its registry', async () => {
  await run(['login'], { stdin: registry.token });
  const other = await testRegistry();
  const whoami = await run(['whoami', '--registry', other.url]);
  await other.close();
  expectEnd(whoami, 6, 'requires a token');
});

it('rejects a credentials file that is readable by other users or invalid', async () => {
  await run(['login'], { stdin: registry.token });
  await chmod(file(), 0o644);
  const readable = await run(['whoami']);
  expect([readable.exitCode, readable.err().includes('chmod 600')]).toEqual([5, true]);
  await writeFile(file(), '{"version":1,"tokens":{"a":1}}');
  await chmod(file(), 0o600);
  expect((await run(['whoami'])).err()).toContain('krmhub login');
});

it('rejects two registries, and invalid URLs', async () => {
  const two = await run(['login', 'http://a.example', '--registry', 'http://b.example'], { stdin: 'x' });
  expect(two.exitCode).toBe(2);
  expect((await run(['login', 'registry'], { stdin: 'x' })).exitCode).toBe(2);
  const nobody = await run(['login', 'http://127.0.0.1:1'], { stdin: 'x' });
  expect([nobody.exitCode, nobody.err().includes('cannot reach')]).toEqual([5, true]);
});
