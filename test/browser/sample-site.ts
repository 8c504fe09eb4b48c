import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import {
  fixtures,
  krmhub,
  type RunningRegistry,
  type RunOptions,
  startRegistry,
  temporaryFolder,
} from '../running.js';
import { LONG_NAMES } from './sample-pages.js';

export interface SampleSite extends RunningRegistry {
  close(): Promise<void>;
}

/** The functions of a group, and their signers. */
const POLICY = 'functions.example.com';

const ACCESS = `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  openGroups: ["*.sandbox.example.com"]
  teams:
  - {name: labels, displayName: Labels team, contact: "https://example.com/labels"}
  - {name: policy, displayName: Policy team, contact: policy@example.org}
  groups:
  - {pattern: functions.example.com, owner: labels}
  - {pattern: "*.labels.example.com", owner: labels, visibility: internal}
  - {pattern: policy.example.org, owner: policy}
  - {pattern: ${LONG_NAMES.group}, owner: policy}
  catalogs:
  - {pattern: "team-*", visibility: private}
  grants:
  - {to: {team: policy}, may: [read, yank], in: {group: functions.example.com}}
`;

/**
 * A registry with varied content for its pages: releases that are signed, yanked and deprecated, READMEs, a
 * catalog with a vendor that responds and one that does not; optionally a function with a hostile author.
 */
export async function startSampleSite({ hostile }: { hostile: boolean }): Promise<SampleSite> {
  const { folder, remove } = temporaryFolder();
  const vendor = await startVendor();
  const registry = await startRegistry(path.join(folder, 'data'), {
    KRMHUB_SOURCE_ADDRESSES: '127.0.0.1',
    KRMHUB_REQUESTS_PER_MINUTE: '0',
  });
  const close = async () => {
    await registry.stop();
    await vendor.stop();
    remove();
  };
  try {
    await fill({ folder, registry, vendor: vendor.url, hostile });
  } catch (error) {
    await close();
    throw error;
  }
  return { ...registry, close };
}

/** A registry without functions. */
export async function startEmptySite(): Promise<SampleSite> {
  const { folder, remove } = temporaryFolder();
  const registry = await startRegistry(path.join(folder, 'data'), { KRMHUB_REQUESTS_PER_MINUTE: '0' });
  const close = async () => {
    await registry.stop();
    remove();
  };
  return { ...registry, close };
}

interface Parts {
  folder: string;
  registry: RunningRegistry;
  vendor: string;
  hostile: boolean;
}

async function fill({ folder, registry, vendor, hostile }: Parts): Promise<void> {
  const env = { ...registry.env, KRMHUB_KEY_PASSWORD: 'a password of samples' };
  const run = (...args: string[]) => succeed(args, { env, cwd: folder });
  const functions = path.join(fixtures, 'functions');
  const definition = (name: string, release: string) => path.join(functions, name, `${release}.yaml`);
  const write = (name: string, text: string) => {
    const file = path.join(folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  };

  await run('keygen', '--out', 'team');
  write('policies.yaml', policyOf(readFileSync(path.join(folder, 'team.pub'), 'utf8')));
  await run('policy', 'apply', 'policies.yaml', '--yes');
  write('access.yaml', ACCESS);
  await run('access', 'apply', 'access.yaml', '--yes');
  const signed = ['--key', 'team.key', '--allow-breaking'];
  await run('publish', definition('set-labels', '1.0.0'), '--release', '1.0.0', ...signed);
  await run('publish', definition('set-labels', '1.1.0'), '--release', '1.1.0', ...signed);
  const readme = write('README.md', README);
  await run(
    'publish',
    definition('set-labels', '2.0.0'),
    '--release',
    '2.0.0',
    '--readme',
    readme,
    ...signed,
  );
  write('images/flow.svg', FLOW);
  await run('attach', 'images/flow.svg', 'functions.example.com/SetLabels@2.0.0');
  for (const [name, release] of [
    ['set-namespace', '1.4.2'],
    ['require-limits', '0.9.0'],
    ['render-chart', '3.1.0'],
    ['rename-images', '0.2.0'],
  ] as const) {
    await run('publish', definition(name, release), '--release', release, ...signed);
  }
  // A tag without a digest, which can move.
  const moving = readFileSync(definition('set-namespace', '1.4.2'), 'utf8')
    .replaceAll('SetNamespace', 'MoveNamespace')
    .replace(/^ *sha256:.*\n/m, '');
  const unpinned = write('move-namespace.yaml', moving);
  await run('publish', unpinned, '--release', '0.1.0', ...signed);
  if (hostile) {
    const [file, text] = [write('hostile.yaml', HOSTILE), write('hostile.md', HOSTILE_README)];
    await run('publish', file, '--release', '1.0.0', '--readme', text);
    const long = readFileSync(definition('set-namespace', '1.4.2'), 'utf8')
      .replaceAll('SetNamespace', LONG_NAMES.kind)
      .replaceAll('functions.example.com', LONG_NAMES.group);
    for (const release of ['1.4.2', '1.4.3'])
      await run('publish', write('long.yaml', `${long}# ${release}\n`), '--release', release);
  }
  await publishScripts({ run, write, folder });
  await run('yank', 'functions.example.com/SetLabels@1.1.0', '--reason', 'drops the labels of templates');
  await run('deprecate', 'functions.example.com/RenameImages@0.2.0', '--reason', 'use images of kustomize');
  await run('catalog', 'apply', write('platform.yaml', recipeOf(vendor)));
}

/** Releases that run a script: tested, withdrawn, and with every other runtime. */
async function publishScripts({
  run,
  write,
  folder,
}: {
  run: (...args: string[]) => Promise<void>;
  write: (name: string, text: string) => string;
  folder: string;
}): Promise<void> {
  await run('init', 'scripts.example.com/SetOwner', '--runtime', 'starlark', '--out', 'owner');
  const made = readFileSync(path.join(folder, 'owner/definition.yaml'), 'utf8').replace(/# CHANGE:.*/g, '#');
  const definition = write('owner/definition.yaml', made);
  const readme = path.join(folder, 'owner/README.md');
  const notes = write('notes.md', 'Sets the **owner** of every resource.\n');
  const publish = (release: string) =>
    run('publish', definition, '--release', release, '--readme', readme, '--notes', notes);
  const script = readFileSync(path.join(folder, 'owner/main.star'), 'utf8');
  write('owner/main.star', `token = "secret"\n${script}`);
  await publish('0.1.0');
  write('owner/main.star', script);
  await publish('0.2.0');
  await publish('0.3.0-rc.1');
  await run('test', 'owner', '--release', '0.2.0', '--key', 'team.key');
  await run('takedown', 'scripts.example.com/SetOwner@0.1.0', '--reason', 'the script has a token', '--yes');
  const every = made
    .replaceAll('SetOwner', 'SetOwners')
    .replace(/^( *)starlark: .*$/m, (line, indent) =>
      [
        line,
        `${indent}container: {image: registry.example.com/owner:v1, sha256: ${'ab'.repeat(32)}}`,
        `${indent}exec: {platforms: [{bin: owner, os: linux, arch: amd64, uri: https://example.com/owner, sha256: ${'cd'.repeat(32)}}]}`,
      ].join('\n'),
    );
  await run('publish', write('owner/every.yaml', every), '--release', '1.0.0');
}

async function succeed(args: string[], options: RunOptions): Promise<void> {
  const { code, stdout, stderr } = await krmhub(args, options);
  if (code !== 0) throw new Error(`krmhub ${args.join(' ')} ended with ${code}:\n${stdout}${stderr}`);
}

/** Serves one catalog over HTTP. */
async function startVendor(): Promise<{ url: string; stop(): Promise<void> }> {
  const catalog = readFileSync(path.join(fixtures, 'catalogs/example-co.yaml'));
  const server = createServer((request, response) => {
    const isThere = request.url === '/catalog.yaml';
    response.writeHead(isThere ? 200 : 404, { 'Content-Type': 'application/yaml' });
    response.end(isThere ? catalog : '');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function policyOf(key: string): string {
  return `apiVersion: krmhub.dev/v1alpha1
kind: SigningPolicy
metadata:
  name: platform-team
spec:
  groups: [${POLICY}]
  signers:
    - key: |
${key.replaceAll(/^(?=.)/gm, '        ')}`;
}

function recipeOf(vendor: string): string {
  return `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata:
  name: platform
  labels:
    team: platform
spec:
  description: Functions that the platform team reviewed, and those of Example Co.
  sources:
    - name: ours
      functions: {}
      match:
        - group: functions.example.com
    - name: example-co
      catalog:
        url: ${vendor}/catalog.yaml
        refresh: 1h
    - name: watermelon
      catalog:
        url: ${vendor}/watermelon.yaml
        refresh: 6h
  policy:
    allowNetwork: false
`;
}

const README = `# SetLabels

Puts labels on **every** resource of a package, and into the templates of workloads, so that what a team owns can be found.

![A package without labels goes into SetLabels, and comes out with the labels of its team](images/flow.svg)

## Use

\`\`\`yaml
apiVersion: functions.example.com/v1
kind: SetLabels
metadata:
  name: team
labels:
  team: platform
\`\`\`

Selectors of Deployments are left alone: they cannot be changed once they are applied.

| Resource | Labels | Template labels |
|---|---|---|
| Deployment, StatefulSet, DaemonSet | yes | yes |
| CronJob | yes | yes, of the Job's pods |
| anything else | yes | – |

## Limits

1. Labels that begin with \`kubernetes.io/\` are refused.
2. A label that already exists is overwritten, and the result says so.

## Plans

- [x] Templates of workloads
- [ ] Resources that embed \`PodTemplate\`

\`\`\`sh
kpt fn eval package --image registry.example.com/functions/set-labels:v2.0.0 --fn-config labels.yaml # a long line
\`\`\`
`;

/** An image of the README. It has a background, because pages are light or dark. */
const FLOW = `<svg xmlns="http://www.w3.org/2000/svg" width="640" height="120" viewBox="0 0 640 120" font-family="sans-serif" font-size="16">
<rect width="640" height="120" rx="8" fill="#eef6f8"/>
<g fill="#fff" stroke="#0a6375" stroke-width="2"><rect x="24" y="32" width="160" height="56" rx="6"/><rect x="240" y="32" width="160" height="56" rx="6"/><rect x="456" y="32" width="160" height="56" rx="6"/></g>
<path d="M184 60h48m-8-6l8 6-8 6M400 60h48m-8-6l8 6-8 6" fill="none" stroke="#0a6375" stroke-width="2"/>
<g fill="#1a2023" text-anchor="middle"><text x="104" y="66">package</text><text x="320" y="66">SetLabels</text><text x="536" y="66">team: platform</text></g>
</svg>
`;

/** Attacks that its author could try on the pages of others. */
const HOSTILE = `apiVersion: config.kubernetes.io/v1alpha1
kind: KRMFunctionDefinition
spec:
  group: hostile.example.net
  names:
    kind: Hostile
  description: "<script>document.title='taken'</script><img src=x onerror=document.title='taken'> مرحبا بالعالم ${'long'.repeat(400)}"
  publisher: "</title><script>document.title='taken'</script>"
  home: https://hostile.example.net/"onmouseover="document.title='taken'
  tags: [mutator, "<b>tag</b>"]
  versions:
    - name: v1
      schema:
        openAPIV3Schema:
          type: object
          description: "<style>body{display:none}</style>"
          properties:
            "<script>document.title='taken'</script>":
              type: string
              default: "</pre><script>document.title='taken'</script>"
            plain:
              type: string
              description: "[link](javascript:document.title='taken')"
      idempotent: true
      usage: https://hostile.example.net/usage
      examples: [https://hostile.example.net/example]
      license: MIT
      runtime:
        container:
          image: registry.example.com/hostile:v1.0.0
          sha256: 59ea502685c175ebb6a08b83f87d07d4ffd658e6d86ac20dcad294e4c95e62f9
`;

const HOSTILE_README = `# <script>document.title='taken'</script>

<img src="http://127.0.0.1:1/spy.png" onerror="document.title='taken'">
![spy](http://127.0.0.1:1/spy.png)
[click](javascript:document.title='taken') [data](data:text/html,taken)

<iframe src="http://127.0.0.1:1/"></iframe>
`;
