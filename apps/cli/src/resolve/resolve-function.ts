/**
 * Prints what serves a functionConfig, and what a catalog that is not of the configured registry has.
 *
 * @module
 */

import { type PinnedRuntime, pinnedPrograms } from '@krmhub/catalog/runtimes/runtimes';
import { openResolver } from '@krmhub/consume/resolve/open-resolver';
import {
  isPinned,
  type Resolution,
  type ResolvedInline,
  type ResolverOptions,
} from '@krmhub/consume/resolve/resolution';
import { inlineProgram } from '@krmhub/functions/plan/inline-program';
import { RUNTIMES } from '@krmhub/schema/documents/runtimes';
import { escapeControls } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine, printTable, printWarning } from '../io/print.js';
import { consumePorts } from '../registry/consume-ports.js';

/** Prints what serves an API version and kind in the catalogs of the options. */
export async function resolveFunction(
  io: Io,
  name: { apiVersion: string; kind: string },
  options: ResolverOptions & { output: OutputFormat },
): Promise<void> {
  const resolver = await openResolver(consumePorts(io), options);
  try {
    const resolution = await resolver.resolve({ ...name, catalogs: [] });
    await printResolution(io, resolution, options.output);
  } finally {
    await resolver.close();
  }
}

async function printResolution(io: Io, resolution: Resolution, output: OutputFormat): Promise<void> {
  // The definition is what `show` prints; here it would hide what runs.
  const { entry: _, declared: __, ...data } = resolution;
  await printData(io, output, data, () =>
    printTable(
      io,
      [{ header: 'FIELD' }, { header: 'VALUE', min: Number.POSITIVE_INFINITY }],
      resolutionRows(resolution),
      {
        terminal: (row) => row,
        pipe: (row) => row,
      },
    ),
  );
  for (const warning of resolution.warnings) await printWarning(io, escapeControls(warning));
  if (output === 'table' && resolution.catalog !== undefined) {
    await printLine(io, escapeControls(`trusted by ${resolution.catalog.trustedBy}`));
  }
}

function resolutionRows({
  apiVersion,
  kind,
  catalog,
  release,
  definition,
  signedBy,
  runtime,
}: Resolution): string[][] {
  const rows: [string, string | undefined][] = [
    ['function', `${apiVersion} ${kind}`],
    ['catalog', catalog?.reference],
    ['snapshot', catalog?.serial === undefined ? undefined : `${catalog.serial} of ${catalog.name}`],
    ['catalog digest', catalog?.digest],
    ['signed with', catalog?.key],
    ['release', release],
    ['definition', definition],
    ['signed by', signedBy],
    ...runtimeRows(runtime),
  ];
  return rows.flatMap(([field, value]) => (value === undefined ? [] : [[field, value]]));
}

/** What a runtime runs, as rows of a table. */
export function runtimeRows(runtime: PinnedRuntime | ResolvedInline): [string, string | undefined][] {
  if (runtime.type === 'container') {
    const needs = [
      ...(runtime.network ? ['the network'] : []),
      ...('storage' in runtime && runtime.storage ? ['mounts'] : []),
    ];
    const platforms = 'platforms' in runtime ? Object.entries(runtime.platforms ?? {}) : [];
    return [
      ['image', runtime.image],
      ...platforms.map(([platform, digest]): [string, string] => [platform, digest]),
      ['needs', needs.length === 0 ? undefined : needs.join(', ')],
    ];
  }
  if (!isPinned(runtime)) return [[RUNTIMES[runtime.type].noun, inlineProgram(runtime)]];
  return pinnedPrograms(runtime).flatMap(({ platform, uri, bin, sha256 }): [string, string][] =>
    platform === undefined
      ? [[RUNTIMES[runtime.type].noun, uri]]
      : [
          [platform, `${uri} ${bin}`],
          ['', sha256],
        ],
  );
}
