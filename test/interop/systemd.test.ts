import { chmodSync, existsSync, mkdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../../apps/registry/src/limits.js';
import { readConfig } from '../../apps/registry/src/server/config.js';
import { documentBlocks } from '../document-blocks.js';
import { spawnSync } from '../processes.js';
import { cleanEnvironment, root, temporaryFolder } from '../running.js';
import { isInstalled } from './container-engine.js';

const unit = path.join(root, 'deploy/krmhub.service');
const missing = isInstalled('systemd-analyze') ? '' : ' (skipped: systemd-analyze is not installed)';

describe.skipIf(missing !== '')(`the systemd unit${missing}`, () => {
  const { folder, remove } = temporaryFolder();
  afterAll(remove);

  const run = (program: string, ...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
    return { status, said: stdout + stderr };
  };
  const settings = [...readFileSync(unit, 'utf8').matchAll(/^(\w+)=(.*)$/gm)];
  const value = (name: string) => settings.find(([, one]) => one === name)?.[2];

  it('is valid, and its program exists where Node is installed', () => {
    const copy = path.join(folder, 'krmhub.service');
    const checked = readFileSync(unit, 'utf8').replace('/usr/bin/node ', `${process.execPath} `);
    writeFileSync(copy, checked);
    expect(run('systemd-analyze', 'verify', '--man=no', copy)).toEqual({ status: 0, said: '' });
    writeFileSync(copy, checked.replace('ProtectSystem=strict', 'ProtectSystem=mostly'));
    expect(run('systemd-analyze', 'verify', '--man=no', copy).said).toContain('mostly');
  });

  it('is valid for the executable, whose cache is a folder that systemd creates', () => {
    const copy = path.join(folder, 'krmhub.service');
    writeFileSync(copy, readFileSync(unit, 'utf8').replace('/usr/bin/node ', '/nowhere/node '));
    mkdirSync(`${copy}.d`);
    const dropIn = readFileSync(path.join(root, 'deploy/krmhub-executable.conf'), 'utf8');
    const write = (program: string) =>
      writeFileSync(path.join(`${copy}.d`, 'x.conf'), dropIn.replace('/usr/local/bin/krmhub', program));
    write(process.execPath);
    expect(run('systemd-analyze', 'verify', '--man=no', copy)).toEqual({ status: 0, said: '' });
    write('/nowhere/krmhub');
    expect(run('systemd-analyze', 'verify', '--man=no', copy).said).toContain('/nowhere/krmhub');
    expect(settings.map(([, name, set]) => `${name}=${set}`)).toContain(
      `Environment=KRMHUB_CACHE=/var/cache/${value('CacheDirectory')}`,
    );
  });

  it('restricts what a server can do to the machine', () => {
    const { status, said } = run('systemd-analyze', 'security', '--offline=true', '--threshold=20', unit);
    expect([status, said.split('\n').filter((line) => line.includes('Overall exposure'))]).toEqual([
      0,
      [expect.stringContaining('OK')],
    ]);
  });

  it('waits for requests in flight, and stores its data in the folder that systemd creates', () => {
    expect(Number(value('TimeoutStopSec')) * 1_000).toBeGreaterThan(
      SERVER_LIMITS.shutdownMilliseconds + 5_000,
    );
    const [name, data] = value('Environment')!.split('=');
    expect(name).toBe('KRMHUB_DATA');
    expect(data).toBe(`/var/lib/${value('StateDirectory')}`);
  });

  it('is installed by the commands of the document', () => {
    // The machine's own folders are below a temporary one, and nothing is started.
    const script = documentBlocks('docs/operate.md', 'systemd')
      .join('\n')
      .replace(/(?<=\s)\/(?=(?:opt|etc|var)\/)/g, `${folder}/`)
      // The container test packages at the same time.
      .replace('npm run package', `node scripts/package.mjs ${folder}/image`)
      .replace('build/image/', `${folder}/image/`);
    const bin = path.join(folder, 'bin');
    for (const name of ['bin', 'opt', 'etc/systemd/system', 'var/lib/krmhub'])
      mkdirSync(path.join(folder, name), { recursive: true });
    writeFileSync(path.join(folder, 'var/lib/krmhub/admin.token'), '');
    writeFileSync(path.join(bin, 'sudo'), '#!/bin/sh\nexec "$@"\n');
    writeFileSync(path.join(bin, 'journalctl'), '#!/bin/sh\n[ "$1 $2" = "--unit krmhub" ]\n');
    const systemctl = spawnSync('sh', ['-c', 'command -v systemctl'], { encoding: 'utf8' }).stdout.trim();
    writeFileSync(
      path.join(bin, 'systemctl'),
      `#!/bin/sh
case "$*" in
  daemon-reload|"status krmhub"|"restart krmhub") exit 0;;
  "enable --now krmhub") exec ${systemctl} --root=${folder} enable krmhub;;
esac
exit 1
`,
    );
    for (const name of ['sudo', 'journalctl', 'systemctl']) chmodSync(path.join(bin, name), 0o755);
    const env = cleanEnvironment(folder, { PATH: `${bin}:${process.env.PATH}` });
    const ran = spawnSync('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
      cwd: root,
      env,
      encoding: 'utf8',
    });
    expect([ran.status, ran.stderr]).toEqual([0, expect.any(String)]);
    const link = path.join(folder, 'etc/systemd/system/multi-user.target.wants/krmhub.service');
    expect(readlinkSync(link)).toContain('/etc/systemd/system/krmhub.service');
    const lines = readFileSync(path.join(folder, 'etc/krmhub/krmhub.env'), 'utf8').trim().split('\n');
    expect(readConfig(Object.fromEntries(lines.map((line) => line.split('='))))).toMatchObject({
      publicUrl: 'https://krmhub.example.com',
    });
    expect(existsSync(path.join(folder, 'etc/systemd/system/krmhub.service.d/krmhub-executable.conf'))).toBe(
      true,
    );
    const [node, program, ...args] = value('ExecStart')!.split(' ') as [string, string, ...string[]];
    expect([node, args]).toEqual(['/usr/bin/node', ['serve']]);
    expect(existsSync(path.join(folder, program))).toBe(true);
    const said = spawnSync(process.execPath, [path.join(folder, program), 'serve', '--help'], {
      encoding: 'utf8',
    });
    expect(said.stdout).toContain('krmhub serve');
  });
});
