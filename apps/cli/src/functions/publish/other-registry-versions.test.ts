import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectEnd, fileRegistry, runTest } from '../../testing/command-line.js';

const DEFINITION = path.resolve(
  import.meta.dirname,
  '../../../../../test/fixtures/functions/set-labels/1.0.0.yaml',
);
const NAME = 'functions.example.com/SetLabels@1.0.0';

const registry = fileRegistry();
let later: Server;
let env: Record<string, string>;

/**
 * A real registry, whose responses to publishes have values that this version does not know, and whose responses to
 * takedowns lack what older versions did not have.
 */
beforeAll(async () => {
  later = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { authorization = '', 'content-type': type = '' } = request.headers;
    const answer = await fetch(registry.url + request.url, {
      method: request.method!,
      headers: { authorization, 'content-type': type },
      ...(chunks.length > 0 ? { body: Buffer.concat(chunks) } : {}),
    });
    const body = (await answer.json()) as { outcome?: string; refused?: unknown };
    if (request.method === 'PUT' && body.outcome !== undefined) {
      body.outcome = 'quarantined\u001b[2J';
    }
    if (request.method === 'POST') delete body.refused;
    response
      .writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
      .end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => later.listen(0, '127.0.0.1', resolve));
  env = { ...registry.env, KRMHUB_REGISTRY: `http://127.0.0.1:${(later.address() as AddressInfo).port}` };
});
afterAll(async () => {
  later.closeAllConnections();
  await new Promise((resolve) => later.close(resolve));
});

describe('publish to a registry of a later version', () => {
  it('prints what was published, and that it does not know the outcome', async () => {
    const dry = await runTest(['publish', DEFINITION, '--dry-run'], { env });
    expect([dry.exitCode, dry.out()]).toEqual([0, expect.stringContaining('would be quarantined␛[2J')]);
    const io = await runTest(['publish', DEFINITION], { env });
    expect([io.exitCode, io.out()]).toEqual([0, expect.stringContaining('quarantined␛[2J')]);
    expect(io.err()).toContain(
      `warning: the registry accepted ${NAME} with the outcome "quarantined␛[2J", which this version of krmhub does not know`,
    );
    expect(io.err()).toContain('1 with an unknown outcome');
    expect(io.err()).not.toContain('internal error');
    expect((await runTest(['show', NAME], { env: registry.env })).exitCode).toBe(0);
  });

  it('prints the outcome as it is as JSON', async () => {
    const io = await runTest(['publish', DEFINITION, '-o', 'json'], { env });
    expect(JSON.parse(io.out()).releases[0].outcome).toBe('quarantined\u001b[2J');
  });
});

describe('takedown in a registry of an earlier version', () => {
  const args = ['takedown', NAME, '--reason', 'malware', '--refuse-runtimes'];

  it('says that nothing refuses the runtimes', async () => {
    const dry = await runTest([...args, '--dry-run'], { env });
    expectEnd(dry, 5, 'the registry ignored `--refuse-runtimes`');
    const io = await runTest([...args, '--yes'], { env });
    expectEnd(io, 5, 'the registry took the release down, but ignored `--refuse-runtimes`');
    expectEnd(await runTest(['show', NAME], { env }), 3, 'was taken down');
  });
});
