import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import { defaultPath } from '../resource-list/default-path.js';
import type { FileFormat } from '../resource-list/file-formats.js';
import type { Resource } from '../resource-list/resource.js';
import { writeFileText } from '../resource-list/write-file.js';
import { editFiles, type FileText } from './edit-files.js';
import { PACKAGE_LIMITS, type PackageLimits } from './limits.js';
import { isInside, writtenPath } from './package-file.js';
import type { Package } from './read-package.js';
import type { FileChange, PlannedWrite } from './write-plan.js';

export interface PlanOptions extends Pick<PackageLimits, 'maxFileBytes'> {
  /** Default: edit. */
  format: FileFormat;
}

/**
 * Plans how to write resources back: each to the file in its path, in the order of the indexes. A file of which no
 * resource remains is deleted; one that had none stays. Throws `invalid-document` for a path outside of the package,
 * and `too-large` for a file that could not be read again.
 */
export function planWrite(
  pack: Package,
  resources: readonly Resource[],
  { maxFileBytes = PACKAGE_LIMITS.maxFileBytes, format = 'edit' }: Partial<PlanOptions> = {},
): PlannedWrite {
  const { files, resources: before } = pack;
  const groups = groupFiles(resources);
  const after = format === 'edit' ? editFiles(pack, groups) : writeFiles(groups);
  const changes: FileChange[] = [];
  const written = new Map<string, { at: string; text: string }>();
  for (const [at, { text }] of after) {
    const old = files.get(at);
    const file = old === undefined ? at : writtenPath(old);
    const other = written.get(file);
    if (other !== undefined && other.text !== text) throw oneFile(at, other.at);
    written.set(file, { at, text });
    if (old?.text !== text && Buffer.byteLength(text) > maxFileBytes) throw tooLarge(at, maxFileBytes);
    if (other !== undefined) continue;
    if (old === undefined) changes.push({ type: 'create', path: at, after: text });
    else if (old.text !== text) changes.push({ type: 'update', path: file, before: old.text, after: text });
  }
  for (const at of new Set(before.map((resource) => resource.path))) {
    if (after.has(at)) continue;
    const old = files.get(at);
    if (old?.target !== undefined) throw deletedLink(at, old.target);
    if (written.has(at)) throw oneFile(at, written.get(at)!.at);
    changes.push({ type: 'delete', path: at, before: old?.text ?? '' });
  }
  const notes = [...after].flatMap(([path, file]) =>
    file.notes.length === 0 ? [] : [{ path, notes: file.notes }],
  );
  return { changes, notes };
}

function oneFile(at: string, other: string): KrmhubError {
  return new KrmhubError(
    'conflict',
    `cannot write ${at}: it is the same file as ${other}, which would have another content`,
    { hint: 'Remove the symbolic link, or list it in .krmignore.' },
  );
}

function deletedLink(at: string, target: string): KrmhubError {
  return new KrmhubError('conflict', `cannot delete ${at}: it is a symbolic link to ${target}`, {
    hint: 'Remove the symbolic link, or list it in .krmignore.',
  });
}

function tooLarge(at: string, maxFileBytes: number): KrmhubError {
  return new KrmhubError('too-large', `cannot write ${at}: it would have more than ${maxFileBytes} bytes`, {
    hint: 'A package cannot be read with such a file. Let the functions write several files.',
  });
}

/** Returns the text of each file, as kyaml writes it. Throws `invalid-document` for a path outside of the package. */
export function formatFiles(resources: readonly Resource[]): Map<string, string> {
  return new Map([...writeFiles(groupFiles(resources))].map(([at, { text }]) => [at, text]));
}

function writeFiles(groups: ReadonlyMap<string, readonly Resource[]>): Map<string, FileText> {
  return new Map([...groups].map(([at, group]) => [at, { text: writeFileText(at, group), notes: [] }]));
}

/** The resources of each file, in their order. Throws `invalid-document` for a path outside of the package. */
function groupFiles(resources: readonly Resource[]): Map<string, Resource[]> {
  const groups = new Map<string, Resource[]>();
  for (const resource of placed(resources)) {
    const at = path.posix.normalize(resource.path);
    if (!isInside(at)) {
      const rule = path.posix.isAbsolute(resource.path)
        ? 'package paths may not be absolute paths'
        : 'resource must be written under the package';
      throw new KrmhubError('invalid-document', `cannot write ${resource.path}: ${rule}`);
    }
    const group = groups.get(at);
    if (group === undefined) groups.set(at, [resource]);
    else group.push(resource);
  }
  for (const group of groups.values()) group.sort((a, b) => (a.index ?? 0) - (b.index ?? 0));
  return groups;
}

/** Gives every resource a path and an index, as kyaml does. */
function placed(resources: readonly Resource[]): Resource[] {
  const counts = new Map<string, number>();
  const named = resources.map((resource) => {
    const at = resource.path === '' ? defaultPath(resource.identity) : resource.path;
    if (resource.path !== '') counts.set(at, Math.max(counts.get(at) ?? 0, resource.index ?? 0));
    return resource.path === at ? resource : resource.at({ path: at });
  });
  return named.map((resource) => {
    if (resource.index !== undefined) return resource;
    const index = counts.get(resource.path) ?? 0;
    counts.set(resource.path, index + 1);
    return resource.at({ index });
  });
}
