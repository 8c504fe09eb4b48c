import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { functionResultList, resultValue } from '@krmhub/functions/plan';
import type { JsonValue } from '@krmhub/schema/definition';
import { fromJson, writeDocument } from '@krmhub/schema/resource-yaml';
import { diskError } from '../files/read-file.js';
import { writeFileAtomically } from '../files/write-file.js';
import type { Io } from '../io/io.js';
import type { RanFunction } from './progress.js';

/** Writes `results.yaml` of kpt into a folder. Returns its path as the user would write it. */
export async function writeResults(
  io: Pick<Io, 'cwd'>,
  folder: string,
  ran: readonly RanFunction[],
): Promise<string> {
  const name = path.join(folder, 'results.yaml');
  await writeYaml(io, folder, name, functionResultList(ran));
  return name;
}

/** Writes `results-N.yaml` for each function that gave results, N being its place in the order (guide of 2020). */
export async function writeNumberedResults(
  io: Pick<Io, 'cwd'>,
  folder: string,
  ran: readonly RanFunction[],
): Promise<void> {
  for (const [index, { results }] of ran.entries()) {
    if (results.length === 0) continue;
    await writeYaml(io, folder, path.join(folder, `results-${index}.yaml`), results.map(resultValue));
  }
}

async function writeYaml(io: Pick<Io, 'cwd'>, folder: string, name: string, value: JsonValue): Promise<void> {
  const text = writeDocument(fromJson(value), { seqIndent: 'wide' });
  try {
    await mkdir(path.resolve(io.cwd, folder), { recursive: true });
  } catch (error) {
    throw diskError(error, `cannot create ${folder}`);
  }
  await writeFileAtomically(path.resolve(io.cwd, name), text, { overwrite: true });
}
