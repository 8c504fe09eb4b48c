import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { documentBlocks } from '../document-blocks.js';
import { spawn } from '../processes.js';
import { fixtures, root } from '../running.js';
import { type ContainerEngine, openContainerEngine, whyNoContainers } from './container-engine.js';

const why = whyNoContainers();
const minutes = 60_000;

/** The image is built and run by the commands of the document, on the network of this machine. */
describe.skipIf(why !== undefined)(`a container${why === undefined ? '' : ` (skipped: ${why})`}`, () => {
  let engine: ContainerEngine;
  let url: string;
  let port: string;

  beforeAll(async () => {
    engine = await openContainerEngine();
    port = String(await freePort());
    url = `http://localhost:${port}`;
  }, 5 * minutes);
  afterAll(() => engine?.remove(), 2 * minutes);

  const inside = (script: string, ...more: string[]) =>
    engine.podman('exec', ...more, 'krmhub', 'node', '-p', script);
  const catalog = async () => (await fetch(`${url}/catalogs/default/catalog.yaml`)).text();

  async function shell(script: string): Promise<string> {
    const text = script
      .replaceAll('http://localhost:8080', url)
      .replaceAll(
        '--publish 127.0.0.1:8080:8080',
        `--network host --env KRMHUB_HOST=127.0.0.1 --env KRMHUB_PORT=${port}`,
      );
    const env = { ...engine.env, KRMHUB_REGISTRY: url };
    const child = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', text], {
      cwd: root,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (part) => {
        output += part;
      });
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`ended with ${code}:\n${text}\n${output}`);
    return output;
  }

  const [build, run, upgrade, ...unknown] = documentBlocks('docs/operate.md', 'podman') as [
    string,
    string,
    string,
  ];
  const [newToken, ...unknownOfTokens] = documentBlocks('docs/operate-tokens.md', 'podman') as [string];

  it(
    'is built from the packaged program, on a base given as an argument',
    async () => {
      expect([...unknown, ...unknownOfTokens]).toEqual([]);
      await shell(build);
      const [image] = JSON.parse(await engine.podman('image', 'inspect', 'krmhub'));
      expect(image.Config).toMatchObject({ User: '10001:10001', Cmd: ['serve'], StopSignal: 'SIGTERM' });
      expect(image.Config.Volumes).toEqual({ '/var/lib/krmhub': {} });
      expect(image.Config.ExposedPorts).toEqual({ '8080/tcp': {} });
      expect(image.Config.Labels).toMatchObject({
        'org.opencontainers.image.title': 'krmhub',
        'org.opencontainers.image.licenses': 'Apache-2.0',
        'org.opencontainers.image.version': (
          await engine.podman('run', '--rm', 'krmhub', '--version')
        ).trim(),
        'org.opencontainers.image.base.name': 'localhost/krmhub-test-base',
      });
    },
    10 * minutes,
  );

  it(
    'serves what is published into it',
    async () => {
      const output = await shell(run);
      expect(output).toContain('functions.example.com/SetLabels');
      expect(await catalog()).toContain('kind: SetLabels');
    },
    5 * minutes,
  );

  it(
    'is healthy and ready',
    async () => {
      await engine.podman('healthcheck', 'run', 'krmhub');
      expect((await fetch(`${url}/readyz`)).status).toBe(200);
    },
    2 * minutes,
  );

  it(
    'runs as a user without privileges and capabilities, and cannot change its own files',
    async () => {
      const status = await inside('fs.readFileSync("/proc/1/status", "utf8")');
      expect(status).toMatch(/^Name:\tnode$/m);
      expect(status).toMatch(/^Uid:\t10001\t10001\t10001\t10001$/m);
      expect(status).toMatch(/^Gid:\t10001\t10001\t10001\t10001$/m);
      expect(status).toMatch(/^CapEff:\t0+$/m);
      expect(status).toMatch(/^NoNewPrivs:\t1$/m);
      const write = (file: string) =>
        inside(`try { fs.writeFileSync(${JSON.stringify(file)}, ""); "written" } catch ({ code }) { code }`);
      for (const file of ['/new', '/opt/krmhub/program/new', '/opt/krmhub/program/bin/krmhub', '/etc/passwd'])
        expect([file, await write(file)]).toEqual([file, 'EROFS']);
      expect(await write('/var/lib/krmhub/probe')).toBe('written');
      expect(
        await inside('fs.rmSync("/var/lib/krmhub/probe"); fs.statSync("/var/lib/krmhub").mode & 0o777'),
      ).toBe(String(0o700));
    },
    2 * minutes,
  );

  it(
    'contains the command line',
    async () => {
      const listed = await engine.podman(
        'exec',
        '--env',
        `KRMHUB_REGISTRY=${url}`,
        'krmhub',
        'krmhub',
        'search',
        'labels',
      );
      expect(listed).toContain('SetLabels');
    },
    2 * minutes,
  );

  it(
    "replaces a lost administrator's token",
    async () => {
      const readToken = () => inside('fs.readFileSync("/var/lib/krmhub/admin.token", "utf8").trim()');
      const tokens = async (token: string) => {
        const answer = await fetch(`${url}/api/v1/tokens`, { headers: { Authorization: `Bearer ${token}` } });
        return ((await answer.json()) as { tokens: unknown[] }).tokens.length;
      };
      const lost = await readToken();
      await shell(`${newToken}\nuntil podman healthcheck run krmhub; do sleep 1; done`);
      const found = await readToken();
      expect(found).not.toBe(lost);
      expect([await tokens(found), await tokens(lost)]).toEqual([2, 2]);
    },
    5 * minutes,
  );

  it(
    'completes pending requests after SIGTERM, exits with 0, and another continues with its volume',
    async () => {
      const token = await inside('fs.readFileSync("/var/lib/krmhub/admin.token", "utf8").trim()');
      const body = readFileSync(path.join(fixtures, 'functions/set-labels/1.0.0.yaml'));
      const release = `${url}/api/v1/functions/functions.example.com/SetLabels/releases/1.0.0`;
      const publish = request(release, {
        method: 'PUT',
        headers: {
          Authorization: `Bearer ${token}`,
          'Content-Type': 'application/yaml',
          'Content-Length': body.length,
        },
      });
      const answered = once(publish, 'response') as Promise<[IncomingMessage]>;
      publish.write(body.subarray(0, 100));
      await sleep(500);
      const stop = engine.podman('stop', 'krmhub');
      await sleep(1_000);
      publish.end(body.subarray(100));
      const [answer] = await answered;
      expect(answer.resume().statusCode).toBe(201);
      await stop;
      expect(await engine.podman('inspect', 'krmhub', '--format', '{{.State.ExitCode}}')).toBe('0');
      expect(await engine.podman('logs', 'krmhub')).toContain('"msg":"registry stopped"');
      await engine.podman('start', 'krmhub');
      const output = await shell(upgrade);
      expect(output).toContain('kind: SetLabels');
      const kept = await fetch(`${release}/definition.yaml`);
      expect([kept.status, Buffer.from(await kept.arrayBuffer()).equals(body)]).toEqual([200, true]);
      // The API version that only this release has.
      await expect.poll(catalog, { timeout: 30_000 }).toContain('set-labels:v1.0.0');
    },
    10 * minutes,
  );

  it(
    'reports why it cannot start on a folder of another user',
    async () => {
      const folder = path.join(engine.folder, 'of-root');
      mkdirSync(folder, { mode: 0o755 });
      const refused = engine.podman(
        'run',
        '--rm',
        '--read-only',
        '--volume',
        `${folder}:/var/lib/krmhub`,
        'krmhub',
      );
      await expect(refused).rejects.toMatchObject({
        code: 5,
        stderr: expect.stringMatching(/cannot write to the data folder \/var\/lib\/krmhub.*\n.*from user 0/),
      });
    },
    2 * minutes,
  );
});

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
