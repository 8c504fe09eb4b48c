/**
 * Reads a recipe with the key files that it names, and prints its problems.
 *
 * A key file must be below the folder of the recipe, also after links are resolved: a recipe must not read other files
 * of the user.
 *
 * @module
 */

import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import path from 'node:path';
import {
  findKeyFiles,
  inlineKeys,
  type KeyFile,
  type LoadedKey,
  originalRange,
  POLICY_CODES,
  RECIPE_LIMITS,
  type Recipe,
  readRecipe,
} from '@krmhub/catalog';
import { diskError, readFileUpTo } from '@krmhub/consume/files/read-file';
import type { WorkingFolder } from '@krmhub/consume/ports';
import {
  compareDiagnostics,
  type Diagnostic,
  hasErrors,
  KrmhubError,
  MAX_KEY_LENGTH,
  readPublicKey,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { StandardInput } from '../../io/io.js';
import { readStdin, STDIN_NAME } from '../../io/read-stdin.js';

/** A recipe with the keys of its key files. */
export interface RecipeFile {
  /** Present if the recipe has no errors. */
  recipe?: Recipe;
  /** The bytes of the file; positions of diagnostics refer to them. */
  bytes: Uint8Array;
  /** The recipe to send: with keys instead of file names. */
  text: string;
  diagnostics: Diagnostic[];
}

/** Reads a recipe from a file or stdin (`-`), and its key files. */
export async function readRecipeFile(io: StandardInput & WorkingFolder, file: string): Promise<RecipeFile> {
  if (file !== '-') {
    const bytes = await readFileUpTo(io, file, RECIPE_LIMITS.maxBytes);
    return readRecipeBytes(bytes, file, path.dirname(path.resolve(io.cwd, file)));
  }
  return readRecipeBytes(await readStdin(io, RECIPE_LIMITS.maxBytes), STDIN_NAME, io.cwd);
}

/** Reads a recipe and its key files, only below `folder`. Without `folder`, it reads no key files. */
export async function readRecipeBytes(
  bytes: Uint8Array,
  file: string,
  folder: string | undefined,
): Promise<RecipeFile> {
  const keys: LoadedKey[] = [];
  const failures: Diagnostic[] = [];
  for (const named of folder === undefined ? [] : findKeyFiles(bytes)) {
    try {
      keys.push({ ...named, pem: await readKeyFile(named, folder!) });
    } catch (error) {
      if (!(error instanceof KrmhubError)) throw error;
      failures.push(keyDiagnostic(named, file, error));
    }
  }
  const text = inlineKeys(bytes, keys);
  const { recipe, diagnostics } = readRecipe(
    keys.length === 0 ? bytes : new TextEncoder().encode(text),
    file,
  );
  // For an unreadable key file, drops the second diagnostic that its name is not a key.
  const relevant = diagnostics.filter(
    ({ code, path: at }) => code !== 'policy/key' || !failures.some((failure) => failure.path === at),
  );
  const placed = relevant.map((diagnostic) =>
    diagnostic.range === undefined
      ? diagnostic
      : { ...diagnostic, range: originalRange(diagnostic.range, keys) },
  );
  const all = [...placed, ...failures].sort(compareDiagnostics);
  return {
    ...defined({ recipe: recipe === undefined || hasErrors(all) ? undefined : recipe }),
    bytes,
    text,
    diagnostics: all,
  };
}

/** Reads a public key. Throws a KrmhubError if the file is not readable, not a key, or outside the folder. */
async function readKeyFile({ name }: KeyFile, folder: string): Promise<string> {
  const named = path.resolve(folder, name);
  const refusal = () =>
    new KrmhubError('invalid-document', `key file ${name} is outside the folder of the recipe`, {
      hint: 'Move the file next to the recipe, or paste its lines below `key: |`.',
    });
  if (path.isAbsolute(name) || !isBelow(folder, named)) throw refusal();
  try {
    // A link can leave the folder.
    const [real, realFolder] = await Promise.all([realpath(named), realpath(folder)]);
    if (!isBelow(realFolder, real)) throw refusal();
    return readPublicKey(await readWhole(real, name), name).pem;
  } catch (error) {
    if (error instanceof KrmhubError) throw error;
    const problem = diskError(error, `cannot read ${name}`);
    if (!(problem instanceof KrmhubError)) throw problem;
    throw new KrmhubError(problem.code, problem.message, {
      cause: error,
      hint: 'Use a path relative to the folder of the recipe, or paste the lines of the file below `key: |`.',
    });
  }
}

async function readWhole(file: string, name: string): Promise<string> {
  // Without O_NONBLOCK, a pipe would block the command.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!(await handle.stat()).isFile())
      throw new KrmhubError('invalid-document', `key file ${name} is not a regular file`);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_KEY_LENGTH + 1));
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await handle.close();
  }
}

function isBelow(folder: string, file: string): boolean {
  const relative = path.relative(folder, file);
  return (
    relative !== '' &&
    relative !== '..' &&
    !relative.startsWith(`..${path.sep}`) &&
    !path.isAbsolute(relative)
  );
}

function keyDiagnostic(
  { path: at, range }: KeyFile,
  file: string,
  { message, hint }: KrmhubError,
): Diagnostic {
  const { severity, fix } = POLICY_CODES['policy/key'];
  return { code: 'policy/key', severity, message, file, path: at, range, hint: hint ?? fix };
}
