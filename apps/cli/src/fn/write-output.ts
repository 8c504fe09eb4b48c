import path from 'node:path';
import {
  applyWrite,
  encodeResourceList,
  type FileChange,
  type Package,
  planWrite,
  type Resource,
  writeFolder,
} from '@krmhub/functions/fn';
import { type Io, writeData } from '../io/io.js';
import { printLine } from '../io/print.js';
import { escapeControls, plural } from '../io/text.js';
import type { OutputTarget } from './settings.js';

export interface WriteRequest {
  target: OutputTarget;
  /** Absent for resources from stdin. */
  package?: Package;
  resources: readonly Resource[];
  /** Of a ResourceList on stdin, which a pipe passes on. */
  functionConfig?: string;
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
  const { target, resources, functionConfig, isDryRun, signal } = request;
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
  const { changes } = planWrite(request.package, resources);
  const plan = { changes: (await request.edit?.(changes)) ?? changes };
  if (isDryRun) {
    if (target.type === 'package') await printChanges(io, plan.changes);
  } else await applyWrite(request.package, plan, { ...(signal === undefined ? {} : { signal }) });
  return plan.changes;
}

/** Prints changes as a patch that `git apply` accepts. */
export async function printChanges(io: Io, changes: readonly FileChange[]): Promise<void> {
  const { lineDiff } = await import('../lock/line-diff.js');
  for (const change of changes) {
    const before = change.type === 'create' ? '' : change.before;
    const after = change.type === 'delete' ? '' : change.after;
    const lines = [
      `--- ${change.type === 'create' ? '/dev/null' : patchName(`a/${change.path}`)}`,
      `+++ ${change.type === 'delete' ? '/dev/null' : patchName(`b/${change.path}`)}`,
      ...lineDiff(before, after),
    ];
    await writeData(io.stdout, `${lines.join('\n')}\n`);
  }
}

/** A path as git writes it: in quotes if it has special characters, and with a tab behind it if it has spaces. */
function patchName(name: string): string {
  if (!/["\\\x00-\x1f\x7f]/.test(name)) return name.includes(' ') ? `${name}\t` : name;
  const quoted = name.replace(/["\\\x00-\x1f\x7f]/g, (char) =>
    char === '"' || char === '\\' ? `\\${char}` : `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`,
  );
  return `"${quoted}"`;
}
