import { renderSnapshot } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import { FINDINGS } from '../../io/exit-code.js';
import type { Io } from '../../io/io.js';
import { printLine } from '../../io/print.js';
import { visible } from '../../io/text.js';
import { differencesOf } from './compare-built.js';
import { readInputs } from './read-inputs.js';
import { type BuildOptions, builtFrom, checkOutputs, tellBuilt, writeBuilt } from './run-build.js';

/** Builds a catalog from what a registry has exported, and says whether it has the registry's bytes. */
export async function runInputsBuild(io: Io, folder: string, options: BuildOptions): Promise<void> {
  checkOutputs(options);
  const read = await readInputs(io, folder);
  const { recipe, inputs, snapshot } = read;
  const built = builtFrom(recipe, inputs);
  const { serial } = snapshot;
  const number = { serial, previous: snapshot.previous as Digest | null };
  const record = { ...built, ...number, functions: built.count, createdAt: '' };
  const differences = differencesOf(built, renderSnapshot(record, built.functions), read);
  if (differences.length > 0) {
    await printLine(io, `This is not snapshot ${serial} of ${built.catalog}; nothing was written:`);
    for (const difference of differences) await printLine(io, visible(`  ${difference}`));
    io.exitCode = FINDINGS;
    return;
  }
  await writeBuilt(io, built, number, options);
  await tellBuilt(io, recipe, built, options);
  await printLine(io, `The same bytes as snapshot ${serial} of ${built.catalog}, in every form`);
}
