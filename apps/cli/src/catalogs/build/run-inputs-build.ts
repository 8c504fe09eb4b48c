import { renderSnapshot } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import { escapeControls } from '@krmhub/schema/text';
import { checkOutput } from '../../io/check-output.js';
import { FINDINGS } from '../../io/exit-code.js';
import type { Io } from '../../io/io.js';
import { printLine } from '../../io/print.js';
import { compareWithRegistry } from './compare-built.js';
import { readInputs } from './read-inputs.js';
import { type BuildOptions, buildFromInputs, reportBuilt, writeBuilt } from './run-build.js';

/** Builds a catalog from an export, and compares it with the snapshot of the registry. */
export async function runInputsBuild(io: Io, folder: string, options: BuildOptions): Promise<void> {
  checkOutput('catalog.yaml', options);
  const read = await readInputs(io, folder);
  const { recipe, inputs, snapshot } = read;
  const built = buildFromInputs(recipe, inputs);
  const { serial } = snapshot;
  const number = { serial, previous: snapshot.previous as Digest | null };
  const record = { ...built, ...number, functions: built.count, createdAt: '' };
  const differences = compareWithRegistry(built, renderSnapshot(record, built.functions), read);
  if (differences.length > 0) {
    await printLine(
      io,
      `the build differs from snapshot ${serial} of ${built.catalog}; nothing was written:`,
    );
    for (const difference of differences) await printLine(io, escapeControls(`  ${difference}`));
    io.exitCode = FINDINGS;
    return;
  }
  await writeBuilt(io, built, number, options);
  await reportBuilt(io, recipe, built, options);
  await printLine(io, `the build matches snapshot ${serial} of ${built.catalog} in every format`);
}
