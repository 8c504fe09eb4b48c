import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createLog } from '../log.js';
import { definitionText, releasePath } from '../testing/test-registry.js';
import { readConfig } from './config.js';
import { type RunningRegistry, startRegistry } from './serve.js';

let folder: string;
let registry: RunningRegistry;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-connections-'));
  registry = await startRegistry({
    config: readConfig({}, { port: '0', data: folder }),
    log: createLog('silent', { write: () => undefined }),
  });
});
afterEach(async () => {
  await registry.close();
  await rm(folder, { recursive: true });
});

it('health probes on new connections do not wait for publishers at work', async () => {
  const token = (await readFile(registry.adminTokenFile, 'utf8')).trim();
  const agent = new Agent({ keepAlive: true, maxSockets: 50 });
  const order: string[] = [];
  const send = async (what: string, target: string, options: object, body?: string) => {
    const sent = request(`${registry.url}${target}`, options).end(body);
    const [response] = await once(sent, 'response');
    response.resume();
    await once(response, 'end');
    order.push(what);
    return response.statusCode;
  };
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/yaml' };
  const publish = (at: number) => {
    const definition = { kind: `Function${at}`, release: '1.0.0' };
    const options = { method: 'PUT', agent, headers };
    return send('publish', releasePath(definition), options, definitionText(definition));
  };
  const probe = () => send('probe', '/healthz', { agent: false });
  // Their connections are open.
  await Promise.all(Array.from({ length: 50 }, (_, at) => publish(at)));
  order.length = 0;
  const publishing = Array.from({ length: 50 }, (_, at) => publish(100 + at));
  const probing = Array.from({ length: 30 }, probe);
  expect(new Set(await Promise.all(publishing))).toEqual(new Set([201]));
  expect(new Set(await Promise.all(probing))).toEqual(new Set([200]));
  const before = order.slice(0, order.lastIndexOf('probe')).filter((what) => what === 'publish');
  expect(before.length).toBeLessThan(25);
  agent.destroy();
});
