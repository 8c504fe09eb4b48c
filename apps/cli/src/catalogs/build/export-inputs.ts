import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RegistryClient } from '@krmhub/api/client';
import { type ExportClient, readExportedFunction, readInputsEntry } from '@krmhub/api/export-client';
import type { CatalogInputs } from '@krmhub/api/export-model';
import { findPin } from '@krmhub/consume/trust/pinned-catalogs';
import { catalogUrl, PinnedCatalogReader, reportUnverified } from '@krmhub/consume/trust/registry-snapshot';
import { requireNoLimits } from '@krmhub/consume/trust/require-snapshot';
import { canonicalJson, KrmhubError, sha256 } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { plural, shellWord } from '@krmhub/schema/text';
import type { Io } from '../../io/io.js';
import { type OutputFormat, printData, printLine, printTable } from '../../io/print.js';
import { Progress } from '../../io/progress.js';
import { connect, connectExport } from '../../registry/connection.js';
import { consumePorts } from '../../registry/consume-ports.js';
import { InputsFolder } from './inputs-folder.js';

export interface ExportOptions {
  out: string;
  registry?: string;
  output: OutputFormat;
}

/** How often an export restarts after a change, and how often it polls for a snapshot. */
const ATTEMPTS = 5;
const WAITS = 60;
const WAIT_MILLISECONDS = 500;

/** The counts of an export. */
interface Exported {
  catalog: string;
  serial: number;
  digest: string;
  clock: string;
  functions: number;
  sources: { source: string; state: string; digest?: string; entries: number; former: number }[];
}

/** Exports the inputs of a catalog to a folder, all of one moment. */
export async function exportInputs(io: Io, name: string, options: ExportOptions): Promise<void> {
  const client = await connect(io, options.registry);
  const exporter = await connectExport(io, options.registry);
  const pin = await findPin(io, catalogUrl(client.url, name));
  if (pin === undefined) requireNoLimits(io, `catalog ${name}`, catalogUrl(client.url, name));
  const folder = new InputsFolder(path.resolve(io.cwd, options.out));
  const progress = new Progress(io);
  const readSnapshot = async (serial: number): Promise<Uint8Array | undefined> => {
    const get = async (at: string) => (await client.snapshotDocument(name, at)).bytes;
    if (pin === undefined) return get(String(serial));
    // As the newest one: a snapshot that is named by its serial may be of any age.
    const reader = new PinnedCatalogReader(consumePorts(io), client, name, pin, {});
    const read = await reader.read(async (at) => ({ 'snapshot.json': await get(at) }));
    return read.serial === serial ? read.files['snapshot.json'] : undefined;
  };
  let exported: Exported | undefined;
  for (let attempt = 0; exported === undefined; attempt++) {
    if (attempt >= ATTEMPTS) {
      throw new KrmhubError(
        'unavailable',
        `cannot export ${name}: it changed during each of ${ATTEMPTS} attempts`,
        {
          hint: 'Run the command again at a quieter time.',
        },
      );
    }
    exported = await exportOnce({ client, exporter, folder, progress, readSnapshot }, name);
  }
  await progress.clear();
  if (pin === undefined) await reportUnverified(consumePorts(io), client, name);
  await printData(io, options.output, exported, () => printExported(io, exported));
  const { serial, functions } = exported;
  await printLine(
    io,
    `wrote the inputs of ${name}, snapshot ${serial}, with ${plural(functions, 'function')} to ${options.out}`,
  );
  await printLine(
    io,
    `to build it, run: krmhub catalog build --inputs ${shellWord(options.out)} --out catalog.yaml`,
  );
}

interface Parts {
  client: RegistryClient;
  exporter: ExportClient;
  folder: InputsFolder;
  progress: Progress;
  /**
   * Reads snapshot.json, and verifies it if the catalog is pinned. Returns undefined if it is not the newest any more.
   */
  readSnapshot(serial: number): Promise<Uint8Array | undefined>;
}

/** Exports once. Returns undefined if the registry changed during the export. */
async function exportOnce(parts: Parts, name: string): Promise<Exported | undefined> {
  const { client, exporter, folder, progress } = parts;
  const { inputs, entryLines } = await waitForInputs(exporter, name, progress);
  const { snapshot } = inputs;
  if (snapshot === undefined) {
    throw new KrmhubError('not-found', `cannot export ${name}: it has no snapshot`, {
      hint: `Show its snapshots: krmhub catalog history ${name}`,
    });
  }
  let document: Uint8Array | undefined;
  try {
    document = await parts.readSnapshot(snapshot.serial);
  } finally {
    if (document === undefined) await entryLines.return(undefined);
  }
  if (document === undefined) return undefined;
  await folder.invalidate();
  const counts = new Map(inputs.sources.map(({ source }) => [source, { entries: 0, former: 0 }]));
  await folder.writeLines(
    'entries',
    tapLines(entryLines, async (line) => {
      const { source, goneAt } = readInputsEntry(line, exporter.url);
      const count = counts.get(source);
      if (count !== undefined) count[goneAt === undefined ? 'entries' : 'former'] += 1;
    }),
  );
  for (const { source, digest } of inputs.sources) {
    if (digest === undefined) continue;
    await progress.show(`exporting source ${source}`);
    const bytes = await downloadCopy(client, name, source);
    if (bytes === undefined || sha256(bytes) !== digest) return undefined;
    await folder.write(folder.copyPath(source), bytes);
  }
  let functions = 0;
  await folder.writeLines(
    'functions',
    tapLines(exporter.functionLines(), async (line) => {
      readExportedFunction(line, exporter.url);
      functions += 1;
      await progress.tick(() => `exporting functions: ${functions}`);
    }),
  );
  await folder.write(folder.path('snapshot'), document);
  const again = await exporter.catalogInputs(name);
  await again.entryLines.return(undefined);
  if (canonicalJson(again.inputs) !== canonicalJson(inputs)) return undefined;
  await folder.write(folder.path('recipe'), inputs.recipe);
  await folder.write(folder.path('inputs'), `${JSON.stringify(inputs, undefined, 2)}\n`);
  return {
    catalog: name,
    serial: snapshot.serial,
    digest: snapshot.digests['catalog.yaml'],
    clock: inputs.clock,
    functions,
    sources: inputs.sources.map(({ source, state, digest }) => ({
      source,
      state,
      ...defined({ digest }),
      ...counts.get(source)!,
    })),
  };
}

/** Waits until the newest snapshot includes all changes, and returns its inputs. */
async function waitForInputs(
  exporter: ExportClient,
  name: string,
  progress: Progress,
): Promise<{ inputs: CatalogInputs; entryLines: AsyncGenerator<Uint8Array> }> {
  for (let wait = 0; wait < WAITS; wait++) {
    const found = await exporter.catalogInputs(name);
    if (found.inputs.settled) return found;
    await found.entryLines.return(undefined);
    await progress.show(`waiting for the snapshot of ${name}`);
    await sleep(WAIT_MILLISECONDS);
  }
  throw new KrmhubError('unavailable', `cannot export ${name}: its snapshot is not ready`, {
    hint: `Check its sources (krmhub source list ${name}) and the log of the registry.`,
  });
}

/** Returns undefined if another copy has replaced it. */
async function downloadCopy(
  client: RegistryClient,
  name: string,
  source: string,
): Promise<Uint8Array | undefined> {
  try {
    return (await client.sourceCopy(name, source)).bytes;
  } catch (error) {
    if (error instanceof KrmhubError && error.code === 'not-found') return undefined;
    throw error;
  }
}

async function* tapLines(
  lines: AsyncIterable<Uint8Array>,
  onLine: (line: Uint8Array) => Promise<void>,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const line of lines) {
    await onLine(line);
    yield line;
  }
}

async function printExported(io: Io, { sources }: Exported): Promise<void> {
  const columns = [
    { header: 'SOURCE', min: 12 },
    { header: 'STATE' },
    { header: 'ENTRIES' },
    { header: 'FORMER' },
    { header: 'DIGEST', min: 20 },
  ];
  const cells = ({ source, state, entries, former, digest = '' }: Exported['sources'][number]) => [
    source,
    state,
    String(entries),
    String(former),
    digest,
  ];
  await printTable(io, columns, sources, { terminal: cells, pipe: cells });
}
