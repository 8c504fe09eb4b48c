import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Layer, ReadLayersOptions } from '../function-configs/layers.js';
import { listFunctions } from '../function-configs/layers.js';
import { inspectLayers } from '../function-configs/read-layers.js';
import { testIo } from './command-line.js';

/** Packages of kustomizations and the like, and what is read of them. */

export interface TestPackage {
  /** Absolute, with links resolved. */
  folder: string;
  /** Writes files by their paths; a text that begins with `→ ` is the target of a link. */
  write(files: Record<string, string>): Promise<void>;
  inspect(target?: string, options?: ReadLayersOptions): Promise<Inspected>;
  remove(): Promise<void>;
}

export interface Inspected {
  layer: Layer | undefined;
  /** `field kind file:line:column`, in the order in which they run. */
  functions: string[];
  /** `code file:line:column message` */
  problems: string[];
}

export async function testPackage(files: Record<string, string> = {}): Promise<TestPackage> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'krmhub-package-')));
  const write = async (more: Record<string, string>) => {
    for (const [name, text] of Object.entries(more)) {
      const file = path.join(folder, name);
      await mkdir(path.dirname(file), { recursive: true });
      if (text.startsWith('→ ')) await symlink(text.slice(2), file);
      else await writeFile(file, text);
    }
  };
  await write(files);
  return {
    folder,
    write,
    inspect: async (target = 'app', options = {}) => {
      const { layer, diagnostics } = await inspectLayers(testIo({ cwd: folder }), target, options);
      const relative = (file: string) => path.relative(folder, file);
      return {
        layer,
        functions: (layer === undefined ? [] : listFunctions(layer)).map(
          ({ field, request, file, line, column }) =>
            `${field} ${request.kind} ${relative(file)}:${line}:${column}`,
        ),
        problems: diagnostics.map(
          ({ code, file, range, message }) =>
            `${code} ${file}:${range?.start.line ?? 0}:${range?.start.column ?? 0} ${message}`,
        ),
      };
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** A functionConfig of `example.com/v1`; `more` follows its metadata. */
export function config(kind: string, more = ''): string {
  return `apiVersion: example.com/v1\nkind: ${kind}\nmetadata:\n  name: ${kind.toLowerCase()}\n${more}`;
}
