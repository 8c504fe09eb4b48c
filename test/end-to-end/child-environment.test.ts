import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { spawn } from '../processes.js';
import { cleanEnvironment, command, temporaryFolder } from '../running.js';

/**
 * What programs see that krmhub starts: real children of every kind look at their own environment, and at those of all
 * other processes of the same command, and find no secret of krmhub but in krmhub itself.
 */

const { folder, remove } = temporaryFolder();
/** A registry that asks for credentials, so that krmhub asks a credential helper. */
const registry = createServer((_, response) => {
  response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="test"' }).end();
});
let address = '';
beforeAll(async () => {
  await once(registry.listen(0, '127.0.0.1'), 'listening');
  address = `127.0.0.1:${(registry.address() as AddressInfo).port}`;
});
afterAll(() => {
  registry.close();
  remove();
});
const canSee = existsSync('/proc/self/environ');
const SECRETS = [
  'KRMHUB_TOKEN',
  'KRMHUB_KEY_PASSWORD',
  'KRMHUB_DATABASE_URL',
  'KRMHUB_SOURCE_CREDENTIALS',
  'COSIGN_PASSWORD',
  'SIGSTORE_ID_TOKEN',
  'ACTIONS_ID_TOKEN_REQUEST_TOKEN',
];
const CANARY = 'canary-of-a-secret';

/** Logs that it ran, and which processes of this command hold the secret; then does its part. */
const probe = (work = 'cat') => `#!/bin/sh
echo "ran $(basename "$0")" >>PLACE/log
if env | grep -qs ${CANARY}; then echo "secret self $(basename "$0")" >>PLACE/log; fi
for process in /proc/[0-9]*; do
  if grep -qs PROBED=PLACE "$process/environ" && grep -qs ${CANARY} "$process/environ"; then
    echo "secret \${process#/proc/} $(basename "$0")" >>PLACE/log
  fi
done
${work}
`;
const LIST = 'apiVersion: config.kubernetes.io/v1\\nkind: ResourceList\\nitems: []\\n';
const PROGRAMS = {
  // An engine and kustomize with just enough behavior to get to the next child.
  docker: probe(`if [ "$1" = run ]; then cat; else echo '[] sha256:${'a'.repeat(64)}'; fi`),
  kustomize: probe(`printf '${LIST}' | docker run --network none krmhub.invalid/function-0`),
  git: probe('exit 1'),
  'docker-credential-probe': probe('echo "{\\"Username\\": \\"a\\", \\"Secret\\": \\"b\\"}"'),
};
const FN = `apiVersion: example.com/v1
kind: Fn
metadata:
  name: fn
  annotations:
    config.kubernetes.io/function: |
      exec:
        path: ./fn.sh
`;
const FILES = {
  'app/Kptfile':
    'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n  mutators:\n    - exec: ./fn.sh\n    - image: example.com/fn:v1\n',
  'app/a.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n',
  'declared/fn.yaml': FN,
  'built/kustomization.yaml': 'generators: [fn.yaml]\n',
  'built/fn.yaml': FN,
  'docker/config.json': '{"credsStore": "probe"}',
};

it.skipIf(!canSee).each<[args: string[], children: string[]]>([
  [
    ['fn', 'render', 'app', '--allow-package-exec'],
    ['fn.sh', 'docker'],
  ],
  [['fn', 'eval', 'app', '--exec', './fn.sh'], ['fn.sh']],
  [['fn', 'eval', 'app', '--image', 'example.com/fn:v1'], ['docker']],
  [['fn', 'run', 'declared', '--allow-package-exec'], ['fn.sh']],
  [
    ['build', 'built', '--', '--enable-alpha-plugins', '--enable-exec'],
    ['kustomize', 'fn.sh'],
  ],
  [['resolve', 'example.com/v1', 'Fn', '-c', 'git::http://REGISTRY/a//catalog.yaml'], ['git']],
  [['pull', 'oci://REGISTRY/a/b:v1'], ['docker-credential-probe']],
])('no child of krmhub %s sees its tokens and passwords', async (args, children) => {
  const place = path.join(folder, randomUUID());
  const write = (name: string, content: string, mode?: number) => {
    mkdirSync(path.dirname(path.join(place, name)), { recursive: true });
    writeFileSync(path.join(place, name), content.replaceAll('PLACE', place), { mode });
  };
  for (const [name, content] of Object.entries(FILES)) write(name, content);
  for (const name of ['fn.sh', 'declared/fn.sh', 'built/fn.sh']) write(name, probe(), 0o755);
  for (const [name, content] of Object.entries(PROGRAMS)) write(`bin/${name}`, content, 0o755);
  const log = path.join(place, 'log');
  const own = args.map((one) => one.replace('REGISTRY', address));
  const krmhub = spawn(process.execPath, [command, ...own], {
    cwd: place,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      ...cleanEnvironment(path.join(place, 'home')),
      PATH: `${path.join(place, 'bin')}:${process.env.PATH}`,
      DOCKER_CONFIG: path.join(place, 'docker'),
      PROBED: place,
      ...Object.fromEntries(SECRETS.map((name) => [name, CANARY])),
    },
  });
  const [stderr] = await Promise.all([text(krmhub.stderr!), once(krmhub, 'close')]);
  const lines = existsSync(log) ? readFileSync(log, 'utf8').trimEnd().split('\n') : [];
  const ran = lines.flatMap((line) => (line.startsWith('ran ') ? line.slice(4) : []));
  expect([...new Set(ran)].sort(), stderr).toEqual(expect.arrayContaining([...children].sort()));
  const seen = lines.filter((line) => line.startsWith('secret '));
  // The probe works: krmhub itself has them.
  expect(seen).toContainEqual(expect.stringContaining(`secret ${krmhub.pid} `));
  expect(seen.filter((line) => !line.startsWith(`secret ${krmhub.pid} `))).toEqual([]);
});
