import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { krmhub, sharedData, temporaryFolder } from '../running.js';

/** Packages of kpt 1.0: what it writes, and what its Kptfiles can say. */

const { folder, remove } = temporaryFolder();
afterAll(remove);

const RENDERS = path.join(sharedData, 'kpt-1.0');
const missing = existsSync(RENDERS) ? '' : ' (skipped: ../shared/data is not there)';

describe.skipIf(missing !== '')(`renders of kpt 1.0${missing}`, () => {
  it.each(['nested', 'nopipeline', 'fails', 'savefail'])(
    'come out the same but for layout: %s',
    async (name) => {
      const place = path.join(folder, `render-${name}`);
      mkdirSync(place);
      cpSync(path.join(RENDERS, name, 'in'), path.join(place, name), { recursive: true });
      for (const program of ['ok.sh', 'fail.sh', 'chg.sh']) {
        writeFileSync(path.join(place, program), readFileSync(path.join(RENDERS, program)));
        chmodSync(path.join(place, program), 0o755);
      }
      const render = () => krmhub(['fn', 'render', name, '--allow-package-exec'], { cwd: place });
      const first = await render();
      expect(first.code, first.stderr).toBe(name.includes('fail') ? 1 : 0);
      expect(files(path.join(place, name))).toEqual(files(path.join(RENDERS, name, 'out')));
      const text = () => readFileSync(path.join(place, name, 'Kptfile'), 'utf8');
      const before = readFileSync(path.join(RENDERS, name, 'in/Kptfile'), 'utf8');
      expect(text().startsWith(before)).toBe(true);
      const written = text();
      // A second render that changes nothing else writes nothing. `savefail` has another input then.
      await render();
      if (name !== 'savefail') expect(text()).toBe(written);
    },
  );
});

/** The values of the Kptfiles, and the text of the other files, by path. */
function files(place: string): Record<string, unknown> {
  const names = readdirSync(place, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\w+file$|yaml$/.test(name),
  );
  return Object.fromEntries(
    names.map((name) => {
      const text = readFileSync(path.join(place, name), 'utf8');
      return [name, path.basename(name) === 'Kptfile' ? parse(text) : text];
    }),
  );
}

const ENGINE = `#!/bin/sh
case $1 in
  version) echo 27.0 ;;
  run) for image; do :; done; echo "$image" >> "$LOG"; cat ;;
esac
`;
const SET = `#!/bin/sh
sed 's/  replicas: 3/  replicas: 5/'
`;
const DIGEST = `sha256:${'5'.repeat(64)}`;

describe('a package with every field of kpt 1.0', () => {
  it('is rendered, and what a newer kpt adds is a warning', async () => {
    const server = createServer((_, response) =>
      response.end('{"name": "fns/check", "tags": ["v0.1.0", "v0.2.1", "v0.2.2", "v0.3.0"]}'),
    ).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const registry = `localhost:${(server.address() as AddressInfo).port}`;
    const text = `apiVersion: kpt.dev/v1 # the api
kind: Kptfile
metadata:
  name: every # name
  annotations:
    kpt.dev/bfs-rendering: "true"
    kpt.dev/save-on-render-failure: "true"
upstream: {type: git, git: {repo: a, directory: b, ref: c}, updateStrategy: resource-merge, preserveExplicitNull: true}
upstreamLock: {type: generic, generic: {storeID: a, resourceID: b, resourceVersion: c}}
info:
  license: MIT   # spdx
  future: 1
pipeline:
  mutators:
  - exec: ./set.sh
    name: set
    when: resources.exists(r, r.kind == 'Deployment')
    resourceFileRegexp: ^app[0-9].yaml$
    configRef: {apiVersion: v1, kind: ConfigMap, name: config, namespace: prod}
  - exec: ./set.sh
    when: resources.size() > 100
    selectors: [{resourceFileRegexp: app}]
  - image: ${registry}/fns/check
    tag: ~0.2
  validators:
  - image: ${registry}/fns/pinned:v1@${DIGEST}
    configPath: config.yaml
status:
  conditions:
    - type: Rendered # before
      status: "False"
      reason: RenderFailed
    - type: Ready
      status: "True"
  renderStatus:
    mutationSteps:
      - image: ghcr.io/x/set-namespace:v0.5
        exitCode: 0
`;
    const place = path.join(folder, 'every');
    mkdirSync(path.join(place, 'bin'), { recursive: true });
    mkdirSync(path.join(place, 'app'));
    const write = (name: string, content: string, mode = 0o644) =>
      writeFileSync(path.join(place, name), content, { mode });
    write('bin/docker', ENGINE, 0o755);
    write('set.sh', SET, 0o755);
    write('app/Kptfile', text);
    const deployment =
      'apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 3 # how many\n';
    write('app/app1.yaml', deployment);
    write('app/other.yaml', deployment);
    write(
      'app/config.yaml',
      'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config\n  namespace: prod\n',
    );
    const log = path.join(place, 'log');
    const env = { PATH: `${place}/bin:/usr/bin:/bin`, LOG: log, KRMHUB_CACHE: path.join(place, '.cache') };
    const args = ['app', '--allow-package-exec'];
    const rendered = await krmhub(['fn', 'render', ...args], { cwd: place, env });
    expect(rendered.code, rendered.stderr).toBe(0);
    expect(rendered.stderr).toContain(
      'warning: app/Kptfile:12:3: unknown field "future" has no effect: krmhub knows the fields of kpt 1.0\n',
    );
    expect(rendered.stderr).toContain('[SKIPPED] "./set.sh" (condition not met)\n');
    expect(readFileSync(path.join(place, 'app/app1.yaml'), 'utf8')).toContain('replicas: 5 # how many');
    expect(readFileSync(path.join(place, 'app/other.yaml'), 'utf8')).toBe(deployment);
    expect(readFileSync(log, 'utf8')).toBe(
      `${registry}/fns/check:v0.2.2\n${registry}/fns/pinned@${DIGEST}\n`,
    );
    const after = readFileSync(path.join(place, 'app/Kptfile'), 'utf8');
    expect(after.startsWith(text.slice(0, text.indexOf('status:')))).toBe(true);
    expect(after).toContain('# before');
    expect(parse(after).status).toEqual({
      conditions: [
        { type: 'Ready', status: 'True' },
        { type: 'Rendered', status: 'True', reason: 'RenderSuccess' },
      ],
      renderStatus: {
        mutationSteps: [
          { name: 'set', exec: './set.sh', exitCode: 0, when: "resources.exists(r, r.kind == 'Deployment')" },
          { exec: './set.sh', exitCode: 0, when: 'resources.size() > 100', skipped: true },
          { image: `${registry}/fns/check:v0.2.2`, exitCode: 0 },
        ],
        validationSteps: [{ image: `${registry}/fns/pinned:v1@${DIGEST}`, exitCode: 0 }],
      },
    });
    server.close();
  });
});
