import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { diskError } from '@krmhub/consume/files/read-file';
import { writeFileAtomically } from '@krmhub/consume/files/write-file';
import type { WorkingFolder } from '@krmhub/consume/ports';
import { functionResultList } from '@krmhub/functions/plan';
import { field, fromJson, readDocument, writeDocument } from '@krmhub/schema/resource-yaml';
import type { RanFunction } from './progress.js';

/** Writes `results.yaml` of kpt into a folder. Returns its path as the user would write it. */
export async function writeResults(
  io: WorkingFolder,
  folder: string,
  ran: readonly RanFunction[],
): Promise<string> {
  const name = path.join(folder, 'results.yaml');
  const text = writeDocument(fromJson(functionResultList(ran)), { seqIndent: 'wide' });
  await writeText(io, folder, name, text);
  return name;
}

/**
 * Writes `results-N.yaml` for each function that gave results, as it wrote them, N being its place in the order (guide of
 * 2020). Each text is YAML with the field `results`.
 */
export async function writeNumberedResults(
  io: WorkingFolder,
  folder: string,
  written: readonly (string | undefined)[],
): Promise<void> {
  for (const [index, text] of written.entries()) {
    const results = text === undefined ? undefined : field(readDocument(text, 'results'), 'results');
    if (results === undefined) continue;
    await writeText(io, folder, path.join(folder, `results-${index}.yaml`), writeDocument(results));
  }
}

async function writeText(io: WorkingFolder, folder: string, name: string, text: string): Promise<void> {
  try {
    await mkdir(path.resolve(io.cwd, folder), { recursive: true });
  } catch (error) {
    throw diskError(error, `cannot create ${folder}`);
  }
  await writeFileAtomically(path.resolve(io.cwd, name), text, { overwrite: true });
}
