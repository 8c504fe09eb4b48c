import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { linkedCommand } from '../built.js';
import { milliseconds } from '../figures.js';
import { alternate, ratio, spread, timed } from '../measure.js';
import { runProcess, startProcess } from '../processes.js';
import { atMost, type Line, type Row } from '../row.js';
import { startServer } from '../server.js';

const RUNS = 20;
const SERVE_RUNS = 10;
/** Milliseconds between two questions of a registry that starts. */
const POLL_MS = 5;

/** Returns the milliseconds until a registry on a data folder is ready. Its end is not measured. */
async function readyAfter(folder: string, data: string): Promise<number> {
  let stop: (() => Promise<void>) | undefined;
  try {
    return await timed(async () => {
      const serve = ['serve', '--host', '127.0.0.1', '--port', '0', '--data', data];
      const started = await startProcess([process.execPath, [linkedCommand, ...serve]], {
        output: path.join(folder, 'start.log'),
        until: /krmhub serves (http:\/\/\S+)/,
      });
      stop = started.stop;
      const url = started.match[1]!.replace('localhost', '127.0.0.1');
      while (!(await fetch(`${url}/readyz`)).ok) await setTimeout(POLL_MS);
    });
  } finally {
    await stop?.();
  }
}

export const start: Row = {
  name: 'start',
  title: 'start of the command line and of a registry',
  async run({ tools, folders, effort, report }, functions) {
    const filled = await folders.filled(functions);
    const server = await startServer(tools, await folders.copy(filled));
    try {
      const env = { ...process.env, HOME: tmpdir(), NO_COLOR: '1', KRMHUB_REGISTRY: server.url };
      const run = (...args: string[]) => timed(() => runProcess([process.execPath, args], { env }));
      const word = filled.corpus.rareWords[0]!;
      const sides = {
        node: () => run('-e', '0'),
        version: () => run(linkedCommand, '--version'),
        search: () => run(linkedCommand, 'search', word),
      };
      report(`start: ${effort.quick ? 1 : RUNS} runs of each`);
      await alternate(1, sides);
      const measured = await alternate(effort.quick ? 1 : RUNS, sides);
      const serveRuns = effort.quick ? 1 : SERVE_RUNS;
      report(`start: ${serveRuns} first and second starts of a registry`);
      const scratch = await folders.scratch();
      const node: number[] = [];
      const starts: [number[], number[]] = [[], []];
      for (let round = 0; round < serveRuns; round++) {
        node.push(await sides.node());
        const data = path.join(scratch, `data-${round}`);
        for (const times of starts) times.push(await readyAfter(scratch, data));
      }
      const measuredLine = (
        what: string,
        times: readonly number[],
        against: readonly number[],
        most: number,
      ): Line => {
        const ratios = ratio(times, against);
        const ours = spread(times).median;
        const base = spread(against).median;
        return {
          row: 'start',
          what,
          functions,
          ours: milliseconds(ours),
          against: `\`node -e 0\` ${milliseconds(base)}`,
          ratio: ratios,
          ...(effort.quick ? {} : { target: atMost(ratios, most) }),
          figures: { oursMilliseconds: ours, nodeMilliseconds: base },
        };
      };
      return [
        measuredLine('`krmhub --version`', measured.version, measured.node, 1.5),
        measuredLine('`krmhub search`', measured.search, measured.node, 2.5),
        measuredLine('`krmhub serve` until ready, in an empty folder', starts[0], node, 5),
        measuredLine('`krmhub serve` until ready, the second time', starts[1], node, 5),
      ];
    } finally {
      await server.stop();
    }
  },
};
