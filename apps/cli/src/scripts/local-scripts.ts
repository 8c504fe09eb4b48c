/**
 * Reads, lints, and pushes the Starlark scripts that a definition names by a path.
 *
 * A registry accepts only scripts that everyone can fetch, so the pushed script replaces the path, pinned by its
 * digest.
 *
 * @module
 */

import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { readFileUpTo } from '@krmhub/consume/files/read-file';
import type { WorkingFolder } from '@krmhub/consume/ports';
import {
  type Diagnostic,
  DOCUMENT_LIMITS,
  formatPath,
  type JsonValue,
  KrmhubError,
  readYaml,
} from '@krmhub/schema';
import { field, isObject } from '@krmhub/schema/json/access';
import type { StandardInput } from '../io/io.js';

/** A script that a definition names by its path, for its author: a registry takes only what everyone can fetch. */
export interface LocalScript {
  /** Of the reference in the document. */
  path: (string | number)[];
  /** As written: `./main.star`. */
  reference: string;
  /** Relative to the working directory. */
  name: string;
  bytes: Uint8Array;
}

const LOCAL = /^(?![a-z][a-z0-9+.-]*:)[^\s?#]+\.star$/i;
const KIND = 'KRMFunctionDefinition';

/**
 * Reads the scripts that the one definition of a file names by a path. Throws `not-found` for a file that does not
 * exist, and `untrusted` for one outside of the folder of the definition: publishing must not read other files of the
 * user.
 */
export async function readLocalScripts(
  io: StandardInput & WorkingFolder,
  name: string,
  bytes: Uint8Array,
): Promise<LocalScript[]> {
  if (!Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes('.star')) return [];
  const { documents } = readYaml(bytes, { file: name });
  if (documents.length !== 1) return [];
  const named = findReferences(documents[0]!.value);
  return Promise.all(named.map((one) => readScript(io, path.dirname(name), one)));
}

/** Returns the diagnostics of a definition without those about the form of its local references. */
export function withoutReferences(
  diagnostics: readonly Diagnostic[],
  scripts: readonly LocalScript[],
): Diagnostic[] {
  const paths = new Set(scripts.map((one) => formatPath(one.path)));
  return diagnostics.filter(({ code, path: at }) => code !== 'starlark/reference' || !paths.has(at));
}

type LocalReference = Pick<LocalScript, 'path' | 'reference'>;

function findReferences(document: JsonValue): LocalReference[] {
  if (field(document, 'kind') !== KIND) return [];
  const versions = field(field(document, 'spec'), 'versions');
  if (!Array.isArray(versions)) return [];
  return versions.flatMap((version, index) => {
    const starlark = field(field(version, 'runtime'), 'starlark');
    const at = ['spec', 'versions', index, 'runtime', 'starlark'];
    const [reference, own] = isObject(starlark) ? [starlark.path, [...at, 'path']] : [starlark, at];
    return typeof reference === 'string' && LOCAL.test(reference) ? [{ path: own, reference }] : [];
  });
}

async function readScript(
  io: StandardInput & WorkingFolder,
  folder: string,
  { path: at, reference }: LocalReference,
): Promise<LocalScript> {
  const name = path.join(folder, reference);
  const full = path.resolve(io.cwd, name);
  const [real, root] = await Promise.all([
    realpath(full).catch(() => undefined),
    realpath(path.resolve(io.cwd, folder)).catch(() => undefined),
  ]);
  if (real === undefined || root === undefined) {
    throw new KrmhubError('not-found', `the script ${name} does not exist`, {
      hint: 'Correct the reference of the runtime. It is relative to the folder of the definition.',
    });
  }
  const inside = path.relative(root, real);
  if (inside.startsWith('..') || path.isAbsolute(inside)) {
    throw new KrmhubError('untrusted', `the script ${name} is outside the folder of its definition`, {
      hint: 'Move the script to the folder of the definition.',
    });
  }
  const { maxScriptBytes } = DOCUMENT_LIMITS;
  const bytes = await readFileUpTo(io, name, maxScriptBytes);
  if (bytes.byteLength > maxScriptBytes) {
    throw new KrmhubError('too-large', `the script ${name} has more than ${maxScriptBytes} bytes`);
  }
  return { path: at, reference, name, bytes };
}
