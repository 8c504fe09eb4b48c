import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type ScriptedServer, scriptedServer } from '@krmhub/oci/testing/scripted-server';
import { afterEach, describe, expect, it } from 'vitest';
import { testIo } from '../testing/command-line.js';
import { identityToken, identityTokenHint, workflowIdentityToken } from './identity-token.js';

const servers: ScriptedServer[] = [];
const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
  for (const server of servers.splice(0)) await server.close();
});

/** GitHub's service in a job, which answers so. */
async function actions(status: number, body: string) {
  const server = await scriptedServer((_, response) => response.writeHead(status).end(body));
  servers.push(server);
  const env = {
    ACTIONS_ID_TOKEN_REQUEST_URL: `http://${server.host}/token?api-version=2.0`,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'very secret',
  };
  return { server, io: testIo({ env }) };
}

it('requests a token for sigstore from GitHub Actions', async () => {
  const { server, io } = await actions(200, '{"value":"a.b.c"}');
  expect(await identityToken(io, undefined)).toBe('a.b.c');
  expect(server.requests[0]).toMatchObject({
    request: 'GET /token?api-version=2.0&audience=sigstore',
    authorization: 'Bearer very secret',
  });
});

it('prefers a token in the environment', async () => {
  const { server, io } = await actions(500, '');
  io.env.SIGSTORE_ID_TOKEN = ' d.e.f\n';
  expect([await identityToken(io, undefined), server.requests]).toEqual(['d.e.f', []]);
});

it.for([
  ['refuses', 403, 'very secret'],
  ['says nothing', 200, ''],
  ['says something else', 200, '{"token":"very secret"}'],
  ['has an empty one', 200, '{"value":""}'],
] as const)('says what is missing where the service %s', async ([, status, body]) => {
  const { io } = await actions(status, body);
  await expect(identityToken(io, undefined)).rejects.toMatchObject({
    hint: expect.stringContaining('id-token: write'),
    message: expect.not.stringContaining('secret'),
  });
});

it.each([500, 503, 429])('blames no permission where the service has trouble: status %s', async (status) => {
  const { io } = await actions(status, '');
  await expect(identityToken(io, undefined)).rejects.toMatchObject({
    code: 'unavailable',
    hint: 'Run the job again.',
  });
});

it('blames no permission where the network is at fault', async () => {
  const { server, io } = await actions(200, '{"value":"a.b.c"}');
  await server.close();
  for (const asked of [identityToken(io, undefined), workflowIdentityToken(io, 'https://hub.example.com')])
    await expect(asked).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringContaining('connection refused'),
      hint: `Run the job again. If it repeats, let the runner reach ${server.host}, which ACTIONS_ID_TOKEN_REQUEST_URL names.`,
    });
});

describe('a provider with a program for tokens', () => {
  /** A folder with the program, which prints its arguments. */
  const program = (name: string, more = '') => {
    const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-program-'));
    folders.push(folder);
    const script = `#!/bin/sh\nfor one in "$@"; do printf '%s|' "$one"; done\n${more}`;
    writeFileSync(path.join(folder, name), script, { mode: 0o755 });
    return folder;
  };

  it.for([
    [
      'BUILDKITE',
      'buildkite-agent',
      'oidc|request-token|--audience|https://hub.example.com|--claim|organization_id|--claim|pipeline_id|',
    ],
    ['CIRCLECI', 'circleci', 'run|oidc|get|--claims|{"aud":"https://hub.example.com"}|'],
  ] as const)(
    'is asked for one for the registry, with the IDs that are pinned: %s',
    async ([marker, name, asked]) => {
      const env = { [marker]: 'true', PATH: `${program(name)}:/usr/bin:/bin` };
      expect(await workflowIdentityToken(testIo({ env }), 'https://hub.example.com')).toBe(asked);
      expect(
        await workflowIdentityToken(testIo({ env: { ...env, [marker]: 'false' } }), 'x'),
      ).toBeUndefined();
      const failing = { ...env, PATH: `${program(name, 'exit 3')}:/usr/bin:/bin` };
      await expect(workflowIdentityToken(testIo({ env: failing }), 'x')).rejects.toThrow(
        `${name}: exit code 3`,
      );
      const without = { ...env, PATH: program('other') };
      await expect(workflowIdentityToken(testIo({ env: without }), 'x')).rejects.toThrow(`token from`);
    },
  );
});

it.for(['http://token.example.com/', 'hello'])(
  'sends the secret of a job nowhere that is not it: %s',
  async (url) => {
    const env = { ACTIONS_ID_TOKEN_REQUEST_URL: url, ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'very secret' };
    await expect(identityToken(testIo({ env }), undefined)).rejects.toMatchObject({ code: 'unreachable' });
  },
);

it('says what is missing of a request URL without its token', async () => {
  const io = testIo({ env: { ACTIONS_ID_TOKEN_REQUEST_URL: 'https://token.example.com/' } });
  for (const asked of [identityToken(io, undefined), workflowIdentityToken(io, 'https://hub.example.com')])
    await expect(asked).rejects.toMatchObject({
      code: 'unauthorized',
      message: expect.stringContaining('ACTIONS_ID_TOKEN_REQUEST_TOKEN is not'),
      hint: expect.stringContaining('id-token: write'),
    });
});

describe('a token that a job gives', () => {
  const audience = 'https://hub.example.com';
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const token = (aud: unknown) => `${encode({ alg: 'RS256' })}.${encode({ aud })}.AAAA`;
  const ask = (KRMHUB_ID_TOKEN: string, env: Record<string, string> = {}) =>
    workflowIdentityToken(testIo({ env: { KRMHUB_ID_TOKEN, ...env } }), audience);

  it('is sent to the registry that it is for', async () => {
    for (const aud of [audience, [audience]]) expect(await ask(` ${token(aud)}\n`)).toBe(token(aud));
    const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-token-'));
    folders.push(folder);
    const file = path.join(folder, 'token');
    writeFileSync(file, token([audience]));
    const env = { KRMHUB_ID_TOKEN_FILE: file };
    expect(await workflowIdentityToken(testIo({ env }), audience)).toBe(token([audience]));
    await expect(workflowIdentityToken(testIo({ env }), 'https://evil.example')).rejects.toMatchObject({
      message: expect.stringContaining(`the token in ${file} is for the audience "${audience}"`),
    });
  });

  it.for([
    [token('https://other.example.com'), 'is for the audience "https://other.example.com"'],
    [
      token([audience, 'https://other.example.com']),
      `is for the audience ["${audience}","https://other.example.com"]`,
    ],
    [token(`${audience}/`), `is for the audience "${audience}/"`],
    [token([[audience]]), `is for the audience ["${audience}"]`],
    [token(undefined), 'is not a token of a CI provider'],
    ['krmhub_secret', 'is not a token of a CI provider'],
    [`a.${encode(null)}.b`, 'is not a token of a CI provider'],
  ] as const)('is sent to no other one, which could use it there: %s', async ([given, why]) => {
    await expect(ask(given)).rejects.toMatchObject({
      code: 'unauthorized',
      message: expect.stringContaining(`the token in KRMHUB_ID_TOKEN ${why}`),
      hint: `Request a token with the audience ${audience}.`,
    });
    await expect(ask(given, { GITLAB_CI: 'true' })).rejects.toMatchObject({
      hint: expect.stringContaining(`aud: "${audience}"`),
    });
  });
});

it('says that a pull request from a fork gets no token', () => {
  const env = { GITHUB_ACTIONS: 'true', GITHUB_EVENT_NAME: 'pull_request' };
  expect(identityTokenHint(testIo({ env }), 'x')).toContain('fork');
  expect(identityTokenHint(testIo({ env: { ...env, GITHUB_EVENT_NAME: 'push' } }), 'x')).not.toContain(
    'fork',
  );
});
