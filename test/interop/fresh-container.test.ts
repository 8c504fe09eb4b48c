import { cpSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { driverFor } from '../../apps/registry/src/store/sqlite/driver.js';
import { documentBlocks } from '../document-blocks.js';
import { spawnSync } from '../processes.js';
import { root } from '../running.js';
import {
  type ContainerEngine,
  copyPrograms,
  openContainerEngine,
  programPath,
  whyNoContainers,
} from './container-engine.js';

const why = whyNoContainers();
const minutes = 60_000;
const IMAGE = 'localhost/krmhub-test-node';
/** What the commands of the document call, besides krmhub, node, and npm. */
const PROGRAMS = ['bash', 'env', 'cat', 'mkdir', 'sed', 'sleep', 'ls', 'rm', 'cp'];

/**
 * A newcomer on a machine that has Node.js and nothing else: no checkout, no network, no build tools. All commands are
 * those of docs/install.md.
 */
describe.skipIf(why !== undefined)(
  `a fresh container${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let engine: ContainerEngine;
    beforeAll(async () => {
      engine = await openContainerEngine({ withBase: false });
      const at = (name: string) => path.join(engine.folder, name);
      const packed = spawnSync(
        process.execPath,
        [path.join(root, 'scripts/package.mjs'), at('package/image')],
        {
          encoding: 'utf8',
        },
      );
      if (packed.status !== 0) throw new Error(packed.stderr);
      await copyPrograms(at('system'), {
        '/usr/bin/node': process.execPath,
        ...Object.fromEntries(PROGRAMS.map((name) => [`/usr/bin/${name}`, programPath(name)])),
      });
      const npm = path.dirname(path.dirname(realpathSync(programPath('npm'))));
      cpSync(npm, at('system/usr/lib/node_modules/npm'), { recursive: true });
      symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', at('system/usr/bin/npm'));
      symlinkSync('bash', at('system/usr/bin/sh'));
      for (const folder of ['etc', 'bin', 'tmp', 'home'])
        mkdirSync(at(`system/${folder}`), { recursive: true });
      symlinkSync('../usr/bin/sh', at('system/bin/sh'));
      writeFileSync(at('system/etc/passwd'), 'root:x:0:0:root:/home:/bin/sh\n');
      // What npm would fetch for `krmhub serve`, and the libraries of C++ that a machine with Node.js has.
      const { name: driver } = driverFor(process.versions.node);
      for (const name of [driver, 'bindings', 'file-uri-to-path']) {
        const to = at(`package/node_modules/${name === driver ? 'better-sqlite3' : name}`);
        cpSync(path.join(root, 'node_modules', name), to, { recursive: true });
      }
      const binding = path.join(root, 'node_modules', driver, 'build/Release/better_sqlite3.node');
      await copyPrograms(at('system'), { '/tmp/better_sqlite3.node': binding });
      await engine.makeImage(IMAGE, at('system'), ['--env', 'PATH=/usr/bin', '--env', 'HOME=/home']);
    }, 5 * minutes);
    afterAll(() => engine?.remove(), 2 * minutes);

    it(
      'installs krmhub, runs a registry, and publishes, finds, and runs a function',
      async () => {
        const [install, complete, connect, write, publish, uninstall] = documentBlocks(
          'docs/install.md',
          'package',
        );
        const output = await engine.podman(
          ...['run', '--rm', '--network', 'none', '--workdir', '/home'],
          ...['--volume', `${engine.folder}/package:/package:ro`, IMAGE, 'bash', '-euo', 'pipefail', '-c'],
          [
            'sudo() { "$@"; }',
            `${install}`.replace('http://localhost:8080/cli/', '/package/'),
            // The library that compiled code needs is a package of its own, as the document says.
            'krmhub serve 2> without-sqlite && exit 1',
            'cat without-sqlite',
            'node -e \'fs.symlinkSync("/package/node_modules/better-sqlite3", "/usr/lib/node_modules/better-sqlite3")\'',
            `${complete}`,
            'krmhub serve --data data > log 2>&1 & registry=$!',
            'for try in {1..600}; do [ -s data/admin.token ] && krmhub search > searched 2>&1 && break; sleep 0.1; done',
            'cat log',
            'export KRMHUB_TOKEN=$(cat data/admin.token)',
            `${connect}${write}${publish}`,
            'ls add-owner',
            'kill $registry',
            'wait $registry',
            `${uninstall}`,
            'ls /usr/bin',
          ].join('\n'),
        );
        expect(output).toMatch(/^0\.1\.0$/m);
        expect(output).toContain('npm install --global better-sqlite3@');
        expect(output).toContain('example.com/AddOwner');
        expect(output.split('\n')).toEqual(expect.arrayContaining(['definition.yaml', 'npm', 'README.md']));
        expect(output.slice(output.lastIndexOf('bash\n'))).not.toMatch(/^krmhub$/m);
      },
      5 * minutes,
    );
  },
);
