import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { fillPath } from '@krmhub/api/paths';
import { linkedCommand } from '../built.js';
import { get } from '../catalog-resources.js';
import { milliseconds } from '../figures.js';
import { API_VERSION, catalogText, kindOf, userEnvironment, writeFiles } from '../function-files.js';
import { alternate, ratio, spread, timed } from '../measure.js';
import { runProcess } from '../processes.js';
import { type Line, type Row, Unmeasured } from '../row.js';
import { startServer, waitForBuild } from '../server.js';

const RUNS = 30;
/** Milliseconds that a resolution may take beyond the start of Node.js. */
const MAX_BEYOND = 50;

export const resolve: Row = {
  name: 'resolve',
  title: 'resolution of a functionConfig, with a cache',
  async run({ tools, folders, effort, report }, functions) {
    const filled = await folders.filled(functions);
    if (filled.firstBuild.seconds === undefined)
      throw new Unmeasured('the first snapshot was not built in time');
    const scratch = await folders.scratch();
    const catalog = catalogText(functions);
    await writeFiles(scratch, { 'catalog.json': catalog });
    const file = path.join(scratch, 'catalog.json');
    const web = await serveFile(catalog);
    const server = await startServer(tools, await folders.copy(filled));
    try {
      await waitForBuild(server, functions, 60);
      const env = userEnvironment(scratch);
      const run = (...args: string[]) => runProcess([process.execPath, args], { env });
      const resolved = (catalog: string, apiVersion: string, kind: string) => async () => {
        const output = await run(
          linkedCommand,
          'resolve',
          apiVersion,
          kind,
          '--catalog',
          catalog,
          '-o',
          'json',
        );
        if (JSON.parse(output).kind !== kind) throw new Error(`${kind} was not resolved: ${output}`);
      };
      const { apiVersion, kind } = await pinnedFunction(server.url, filled.corpus.names);
      const inMiddle = kindOf(functions >> 1);
      const sides = {
        node: () => run('-e', '0').then(() => undefined),
        sparse: resolved(`${server.url}/catalogs/default`, apiVersion, kind),
        file: resolved(file, API_VERSION, inMiddle),
        web: resolved(web.url, API_VERSION, inMiddle),
      };
      // Fills the cache.
      await alternate(2, sides);
      const runs = effort.quick ? 1 : RUNS;
      report(`resolve: ${runs} runs of each`);
      const times = await alternate(runs, {
        node: () => timed(sides.node),
        sparse: () => timed(sides.sparse),
        file: () => timed(sides.file),
        web: () => timed(sides.web),
      });
      const line = (what: string, measured: readonly number[]): Line => {
        const [ours, node] = [spread(measured).median, spread(times.node).median];
        const beyond = ours - node;
        return {
          row: 'resolve',
          what,
          functions,
          ours: `p50 ${milliseconds(ours)}`,
          against: `\`node -e 0\` ${milliseconds(node)}`,
          ratio: ratio(measured, times.node),
          beside: `${milliseconds(beyond)} beyond the start of Node.js`,
          ...(effort.quick
            ? {}
            : { target: { text: `< ${MAX_BEYOND} ms beyond`, met: beyond < MAX_BEYOND } }),
          figures: { oursMilliseconds: ours, nodeMilliseconds: node },
        };
      };
      return [
        line('one entry of a registry', times.sparse),
        line('a whole catalog in a file', times.file),
        line('a whole catalog of a web server, unchanged', times.web),
      ];
    } finally {
      await server.stop();
      web.close();
    }
  },
};

/** A web server with one file and its ETag. */
async function serveFile(text: string): Promise<{ url: string; close(): void }> {
  const etag = '"1"';
  const server = createServer((request, response) => {
    if (request.headers['if-none-match'] === etag) response.writeHead(304, { ETag: etag }).end();
    else response.writeHead(200, { ETag: etag, 'Content-Type': 'application/json' }).end(text);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/catalog.json`, close: () => void server.close() };
}

interface Entry {
  definition: {
    versions: { name: string; runtime: { container?: { sha256?: string }; exec?: unknown } }[];
  };
}

/** Returns a function whose image is pinned, so that no other registry is asked. */
async function pinnedFunction(
  url: string,
  names: readonly { group: string; kind: string }[],
): Promise<{ apiVersion: string; kind: string }> {
  for (const { group, kind } of names) {
    const { status, bytes } = await get(url + fillPath('catalogFunction', { name: 'default', group, kind }));
    if (status !== 200) throw new Error(`${kind}: ${status}`);
    const { definition } = JSON.parse(bytes.toString()) as Entry;
    const { name, runtime } = definition.versions.at(-1)!;
    if (runtime.container?.sha256 !== undefined) return { apiVersion: `${group}/${name}`, kind };
  }
  throw new Error('no function has a pinned image');
}
