import { fillPath } from '@krmhub/api/paths';
import { catalogPath, get } from '../catalog-resources.js';
import { perSecond } from '../figures.js';
import { getLoad } from '../load.js';
import { alternate, ratio, spread } from '../measure.js';
import { atLeast, type Row, Unmeasured } from '../row.js';
import { startServer, waitForBuild, waitUntilIdle } from '../server.js';

export const sparse: Row = {
  name: 'sparse',
  title: 'one entry of a catalog',
  async run({ tools, folders, effort, report }, functions) {
    const filled = await folders.filled(functions);
    const { seconds, allowedSeconds } = filled.firstBuild;
    if (seconds === undefined) {
      throw new Unmeasured(
        `the first snapshot of ${functions} functions was not built within ${allowedSeconds} s`,
      );
    }
    const server = await startServer(tools, await folders.copy(filled));
    try {
      await waitForBuild(server, functions, 60);
      const scratch = await folders.scratch();
      const entries = filled.corpus.names.map(({ group, kind }) =>
        fillPath('catalogEntry', { name: 'default', group, kind }),
      );
      for (const entry of entries.slice(0, 5)) {
        const { status } = await get(server.url + entry);
        if (status !== 200) throw new Error(`${entry}: ${status}`);
      }
      const { etag } = (await get(server.url + catalogPath('default'), { 'Accept-Encoding': 'identity' }))
        .headers;
      const load = { origin: server.url, milliseconds: effort.milliseconds, scratch };
      const headers = { 'Accept-Encoding': 'identity', 'If-None-Match': etag! };
      if (!effort.quick) await waitUntilIdle(server);
      report(`sparse: ${entries.length} entries`);
      const measured = await alternate(effort.rounds, {
        entry: async () => (await getLoad(tools, { ...load, paths: entries })).perSecond,
        notModified: async () =>
          (await getLoad(tools, { ...load, paths: [catalogPath('default')], headers })).perSecond,
      });
      const against = ratio(measured.entry, measured.notModified);
      const [ours, theirs] = [spread(measured.entry).median, spread(measured.notModified).median];
      return [
        {
          row: 'sparse',
          what: `${entries.length} entries in turn`,
          functions,
          ours: perSecond(ours),
          against: `the 304 of \`default\` ${perSecond(theirs)}`,
          ratio: against,
          ...(effort.quick ? {} : { target: atLeast(against, 0.5) }),
          figures: { entriesPerSecond: ours, notModifiedPerSecond: theirs },
        },
      ];
    } finally {
      await server.stop();
    }
  },
};
