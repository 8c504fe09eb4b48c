import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { cleanEnvironment, command, temporaryFolder } from '../running.js';

/**
 * A catalog on the Internet must not lead to an address of the user's own network. In a network namespace of its own, a public address
 * is one of this machine, so that a real server can have it.
 */

const PUBLIC = '11.22.33.44';
const { folder, remove } = temporaryFolder();
afterAll(remove);

function inNamespace(script: string) {
  const setUp = `ip link set lo up && ip addr add ${PUBLIC}/32 dev lo && ip addr add ${PUBLIC.replace('44', '45')}/32 dev lo`;
  return spawnSync('unshare', ['--map-root-user', '--net', 'sh', '-c', `${setUp} && ${script}`], {
    cwd: folder,
    encoding: 'utf8',
    env: cleanEnvironment(folder, { KRMHUB_CACHE: path.join(folder, 'cache') }),
  });
}

const isPossible = inNamespace('true').status === 0;

/** Servers that redirect `/to/ADDRESS` to that address, and a catalog at any other path; then the command, for each first address. */
const SCRIPT = `
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { Worker, isMainThread, parentPort } from 'node:worker_threads';

const catalog = \`apiVersion: config.kubernetes.io/v1alpha1
kind: Catalog
metadata: {name: any}
spec:
  krmFunctions:
  - group: example.com
    names: {kind: SetLabels}
    versions: [{name: v1}]
    runtime: {container: {image: a.example.com/b@sha256:${'a'.repeat(64)}}}
\`;
if (!isMainThread) {
  const asked = [];
  const server = createServer((request, response) => {
    asked.push(request.socket.localAddress + request.url);
    const [, to] = /^\\/to\\/(.*)$/.exec(request.url) ?? [];
    if (to === undefined) response.end(catalog);
    else response.writeHead(302, { location: 'http://' + to + ':8080/catalog.yaml' }).end();
  });
  server.listen(8080, '0.0.0.0', () => parentPort.postMessage('ready'));
  parentPort.on('message', () => parentPort.postMessage(asked.splice(0)));
} else {
  const worker = new Worker(new URL(import.meta.url));
  const next = () => new Promise((resolve) => worker.once('message', resolve));
  await next();
  const results = {};
  for (const [from, to] of JSON.parse(process.argv[2])) {
    const url = 'http://' + from + ':8080/to/' + to;
    const { status, stderr } = spawnSync(process.execPath, [process.argv[3], 'resolve', 'example.com/v1', 'SetLabels', '-c', url], { encoding: 'utf8' });
    const answer = next();
    worker.postMessage('asked');
    results[from + ' ' + to] = { status, stderr, asked: await answer };
  }
  console.log(JSON.stringify(results));
  process.exit(0);
}
`;

it('is not followed from a public address to a private one', ({ skip }) => {
  skip(!isPossible, 'this machine does not allow network namespaces (unshare, ip)');
  const other = PUBLIC.replace('44', '45');
  const redirects = [
    [PUBLIC, '127.0.0.1'],
    [PUBLIC, '[::ffff:127.0.0.1]'],
    [PUBLIC, 'localhost'],
    [PUBLIC, other],
    ['127.0.0.1', '127.0.0.2'],
    ['127.0.0.1', PUBLIC],
  ];
  writeFileSync(path.join(folder, 'script.mjs'), SCRIPT);
  const { stdout, stderr } = inNamespace(
    `${process.execPath} script.mjs '${JSON.stringify(redirects)}' ${command}`,
  );
  expect(stderr).toBe('');
  const results = JSON.parse(stdout) as Record<string, { status: number; stderr: string; asked: string[] }>;
  for (const to of ['127.0.0.1', '[::ffff:127.0.0.1]', 'localhost']) {
    const { status, stderr: message, asked } = results[`${PUBLIC} ${to}`]!;
    expect([status, message]).toEqual([
      5,
      expect.stringContaining('is not an address of the public Internet'),
    ]);
    expect(asked).toEqual([`${PUBLIC}/to/${to}`]);
  }
  for (const name of [`${PUBLIC} ${other}`, '127.0.0.1 127.0.0.2', `127.0.0.1 ${PUBLIC}`]) {
    expect(results[name], name).toMatchObject({ status: 0 });
    expect(results[name]!.asked).toHaveLength(2);
  }
});
