import { existsSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { linkedCommand, root } from '../built.js';
import { bytes, milliseconds } from '../figures.js';
import { userEnvironment } from '../function-files.js';
import { alternate, ratio, spread, timed } from '../measure.js';
import { runProcess } from '../processes.js';
import { atMost, type Line, type Row, Unmeasured } from '../row.js';

const RUNS = 30;
const FIRST_RUNS = 10;

export const executable: Row = {
  name: 'executable',
  title: 'krmhub as one executable',
  async run({ folders, effort, report }) {
    const version = (await runProcess([process.execPath, [linkedCommand, '--version']], {})).trim();
    const build = path.join(root, 'build');
    const file = path.join(build, `executables/krmhub-${version}-${process.platform}-${process.arch}`);
    if (!existsSync(file)) throw new Unmeasured('there is no executable: npm run package -- --executables');
    const scratch = await folders.scratch();
    const env = userEnvironment(scratch);
    const installed = path.join(build, 'image/krmhub/program/bin/krmhub.js');
    const run = (program: string, ...args: string[]) => timed(() => runProcess([program, args], { env }));
    const sides = {
      executable: () => run(file, '--version'),
      installed: () => run(process.execPath, installed, '--version'),
    };
    await alternate(1, sides);
    report(`executable: ${effort.quick ? 1 : RUNS} runs of each`);
    const times = await alternate(effort.quick ? 1 : RUNS, sides);
    const first: number[] = [];
    for (let round = 0; round < (effort.quick ? 1 : FIRST_RUNS); round++) {
      await rm(path.join(scratch, '.cache/krmhub/program'), { recursive: true, force: true });
      first.push(await sides.executable());
    }
    const base = spread(times.installed).median;
    const peer = `the npm package with Node.js ${process.versions.node}`;
    const started = (what: string, measured: readonly number[]): Line => {
      const ours = spread(measured).median;
      const ratios = ratio(measured, times.installed);
      return {
        row: 'executable',
        what,
        ours: milliseconds(ours),
        against: `${peer} ${milliseconds(base)}`,
        ratio: ratios,
        figures: { oursMilliseconds: ours, installedMilliseconds: base },
      };
    };
    const sizes = {
      whole: (await stat(file)).size,
      compressed: (await stat(`${file}.gz`)).size,
      npm: (await stat(path.join(build, `krmhub-${version}.tgz`))).size,
    };
    const later = started('`krmhub --version`', times.executable);
    if (!effort.quick) later.target = atMost(later.ratio!, 1);
    return [
      later,
      started('the first run, which unpacks', first),
      {
        row: 'executable',
        what: 'size of the file',
        ours: bytes(sizes.whole),
        against: `the npm package ${bytes(sizes.npm)}`,
        beside: `compressed ${bytes(sizes.compressed)}`,
        figures: { bytes: sizes.whole, compressedBytes: sizes.compressed, npmBytes: sizes.npm },
      },
    ];
  },
};
