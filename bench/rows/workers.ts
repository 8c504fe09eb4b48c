import { spawnSync } from 'node:child_process';
import { command } from '../built.js';
import { makeCatalogs } from '../catalog-resources.js';
import { perSecond } from '../figures.js';
import { ratio, spread } from '../measure.js';
import { startNginx } from '../peers.js';
import { atLeast, type Row, Unmeasured } from '../row.js';
import { startServer } from '../server.js';
import { catalogSizes, listCases, measureCase, processorTimes, rates } from './http.js';

/** Servers and load share every core: one core per process would leave none for the load. */
export const workers: Row = {
  name: 'workers',
  title: 'GET catalog.yaml, several processes',
  async run(bench, functions) {
    const { tools, folders, effort, workers: count } = bench;
    const { stdout } = spawnSync(process.execPath, [command, 'serve', '--help'], { encoding: 'utf8' });
    if (!stdout.includes('--workers')) throw new Unmeasured('`krmhub serve` has no option --workers');
    if (!tools.nginx) throw new Unmeasured('nginx is not installed');
    const filled = await folders.filled(functions);
    const server = await startServer(tools, await folders.copy(filled), {
      core: 'any',
      args: ['--workers', String(count)],
    });
    try {
      const scratch = await folders.scratch();
      const resources = await makeCatalogs(server, filled, catalogSizes(bench));
      const nginx = await startNginx(tools, scratch, resources, count, 'any');
      try {
        const lines = [];
        for (const one of listCases(resources, false)) {
          bench.report(`workers: ${one.what}`);
          const parts = { server, peers: { nginx }, resources, scratch, core: 'any' } as const;
          const measured = await measureCase(bench, one, parts);
          const [ours, theirs] = [rates(measured, 'krmhub'), rates(measured, 'nginx')];
          const against = ratio(ours, theirs);
          lines.push({
            row: 'workers',
            what: `${one.what}, ${count} processes`,
            functions,
            ours: perSecond(spread(ours).median),
            against: `nginx ${perSecond(spread(theirs).median)}`,
            ratio: against,
            beside: processorTimes(measured),
            ...(effort.quick ? {} : { target: atLeast(against, 0.8) }),
            figures: {
              oursPerSecond: spread(ours).median,
              nginxPerSecond: spread(theirs).median,
              processes: count,
            },
          });
        }
        return lines;
      } finally {
        await nginx.stop();
      }
    } finally {
      await server.stop();
    }
  },
};
