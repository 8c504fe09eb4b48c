import path from 'node:path';
import {
  applyWrite,
  encodeResourceList,
  type FileChange,
  type FileFormat,
  type Package,
  type PlannedWrite,
  planWrite,
  type Resource,
  writeFolder,
} from '@krmhub/functions/fn';
import { defined } from '@krmhub/schema/defined';
import { escapeControls, plural } from '@krmhub/schema/text';
import { type Io, write, writeData } from '../io/io.js';
import { printLine } from '../io/print.js';
import type { OutputTarget } from './settings.js';

export interface WriteRequest {
  target: OutputTarget;
  /** Absent for resources from stdin. */
  package?: Package;
  resources: readonly Resource[];
  /** Of a ResourceList on stdin, which a pipe passes on. */
  functionConfig?: string;
  format: FileFormat;
  isDryRun: boolean;
  signal?: AbortSignal;
  /** What else is written into the package. */
  edit?: (changes: FileChange[]) => Promise<FileChange[]>;
}

/**
 * Writes the output of functions to its target. Returns the changes of the package, in a dry run those that it would
 * make.
 */
export async function writeOutput(io: Io, request: WriteRequest): Promise<FileChange[]> {
  const { target, resources, functionConfig, isDryRun, signal, format } = request;
  if (target.type === 'unwrap') {
    await writeData(io.stdout, resources.map((resource) => resource.text()).join('---\n'));
    return [];
  }
  if (target.type === 'folder') {
    if (!isDryRun) writeFolder(path.resolve(io.cwd, target.folder), resources);
    else
      await printLine(
        io,
        escapeControls(`would write ${plural(resources.length, 'resource')} to ${target.folder}`),
      );
    return [];
  }
  if (target.type === 'stdout' || request.package === undefined) {
    await writeData(io.stdout, encodeResourceList(resources, { functionConfig }));
    return [];
  }
  const plan = planWrite(request.package, resources, { format });
  plan.changes = (await request.edit?.(plan.changes)) ?? plan.changes;
  await printNotes(io, plan);
  if (isDryRun) {
    if (target.type === 'package') {
      const { printPatch } = await import('../io/print-patch.js');
      await printPatch(io, plan.changes);
    }
  } else await applyWrite(request.package, plan, defined({ signal }));
  return plan.changes;
}

/** Says which files could not be edited as they should be: one line for each. */
export async function printNotes(io: Io, { notes: files }: PlannedWrite): Promise<void> {
  for (const { path: at, notes } of files) {
    const [first, ...others] = notes.map(describeNote);
    const more = others.length === 0 ? '' : `, and ${plural(others.length, 'other note')}`;
    await write(io.stderr, `warning: ${escapeControls(`${at}: ${first}${more}`)}\n`);
  }
}

function describeNote({
  kind,
  document,
  row,
  path: field,
  reason,
}: PlannedWrite['notes'][number]['notes'][number]): string {
  if (kind === 'expanded') return `line ${row}: wrote ${field} in place of an alias`;
  return `wrote document ${document + 1} whole${reason === undefined ? '' : `: ${reason}`}`;
}
