import { tmpdir } from 'node:os';
import { linkedCommand } from '../built.js';
import { milliseconds } from '../figures.js';
import { alternate, ratio, spread, timed } from '../measure.js';
import { runProcess } from '../processes.js';
import { atMost, type Line, type Row } from '../row.js';
import { startServer } from '../server.js';

const RUNS = 20;

export const start: Row = {
  name: 'start',
  title: 'start of the command line',
  async run({ tools, folders, effort, say }, functions) {
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
      say(`start: ${effort.quick ? 1 : RUNS} runs of each`);
      await alternate(1, sides);
      const measured = await alternate(effort.quick ? 1 : RUNS, sides);
      const base = spread(measured.node).median;
      const line = (side: 'version' | 'search', what: string, most: number): Line => {
        const against = ratio(measured[side], measured.node);
        const ours = spread(measured[side]).median;
        return {
          row: 'start',
          what,
          functions,
          ours: milliseconds(ours),
          against: `\`node -e 0\` ${milliseconds(base)}`,
          ratio: against,
          ...(effort.quick ? {} : { target: atMost(against, most) }),
          figures: { oursMilliseconds: ours, nodeMilliseconds: base },
        };
      };
      return [line('version', '`krmhub --version`', 1.5), line('search', '`krmhub search`', 2.5)];
    } finally {
      await server.stop();
    }
  },
};
