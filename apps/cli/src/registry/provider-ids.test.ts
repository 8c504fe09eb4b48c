import { type ScriptedServer, scriptedServer } from '@krmhub/oci/testing/scripted-server';
import { afterEach, describe, expect, it } from 'vitest';
import { testIo } from '../testing/command-line.js';
import { type NamedWorkflow, providerIds } from './provider-ids.js';

const servers: ScriptedServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

/** A GitLab server of one's own, which answers so. */
async function gitlab(status: number, body: string, env: Record<string, string> = {}) {
  const server = await scriptedServer((_, response) => response.writeHead(status).end(body));
  servers.push(server);
  const workflow: NamedWorkflow = {
    provider: 'gitlab',
    settings: { project: 'example/sub group/functions' },
    issuer: `http://${server.host}`,
  };
  const ids = providerIds(testIo({ env: { ...env, GITLAB_HOST: env.GITLAB_HOST ?? server.host } }), workflow);
  return { server, ids };
}

describe('the IDs of a project', () => {
  it('are asked for by its whole path, with the credentials of that server only', async () => {
    const found = '{"id":12,"namespace":{"id":34}}';
    const own = await gitlab(200, found, { GITLAB_TOKEN: 'secret' });
    expect(await own.ids).toEqual({ projectId: '12', namespaceId: '34' });
    expect(own.server.requests[0]).toMatchObject({
      request: 'GET /api/v4/projects/example%2Fsub%20group%2Ffunctions',
      authorization: 'Bearer secret',
    });
    const other = await gitlab(200, found, { GITLAB_TOKEN: 'secret', GITLAB_HOST: 'gitlab.com' });
    expect(await other.ids).toEqual({ projectId: '12', namespaceId: '34' });
    expect(other.server.requests[0]?.authorization ?? '').toBe('');
  });

  it.for([
    [404, '{}'],
    [200, 'hello'],
    [200, '{"id":"12","namespace":{"id":34}}'],
    [200, '{"id":12,"namespace":null}'],
    [200, '{"id":1e300,"namespace":{"id":34}}'],
    [302, ''],
    [500, ''],
    [200, ' '.repeat(2_000_000)],
  ] as const)('are none if the server answers %s', async ([status, body]) => {
    const { ids } = await gitlab(status, body);
    await expect(ids).rejects.toMatchObject({ code: status === 404 ? 'not-found' : 'unreachable' });
  });

  it.for([301, 308])(
    'are not taken from the first run if the project has moved, status %s',
    async (status) => {
      const { ids } = await gitlab(status, '{"message":"Moved"}');
      const hint = expect.stringContaining('has another name now');
      await expect(ids).rejects.toMatchObject({ code: 'conflict', hint });
    },
  );

  it('are not asked for where a provider has none to ask', async () => {
    const io = testIo();
    for (const workflow of [
      { provider: 'google', settings: { subject: '1' } },
      { provider: 'github', settings: { repository: 'a/b' }, issuer: 'https://issuer.example.com' },
    ] as const)
      expect(await providerIds(io, workflow)).toBeUndefined();
  });
});
