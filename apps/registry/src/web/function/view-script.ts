import type { BlobBytes, OpenableBlobs } from '@krmhub/catalog';
import { type Digest, KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { parse } from '@krmhub/starlark/syntax/parse';
import { StarlarkSyntaxError } from '@krmhub/starlark/syntax/syntax-error';
import type { SyntaxTree } from '@krmhub/starlark/syntax/tree';
import { escapeHtml, highlightScript } from '../highlight.js';

/** A script in a repository of this registry. It is part of the input of a page, so it only names the bytes. */
export interface StoredScript {
  /** Digest of the script, which names its file. */
  file: Digest;
  /** Bytes. */
  size: number;
}

/** Limits of the shown part of a script. */
export const SCRIPT_LIMITS = {
  /** A larger script is not parsed. */
  maxBytes: 262_144,
  maxLines: 5_000,
} as const;

/** A script as its page shows it. */
export interface ScriptView {
  /** Bytes of the whole script. */
  size: number;
  /** Safe HTML of the shown lines. */
  html: string;
  /** Number of shown lines. */
  lines: number;
  /** The script is longer than its shown part. */
  isCut: boolean;
  /**
   * Modules in the order of the script, each once, with the names that it takes. Absent if the script was not parsed.
   */
  loads?: LoadedModule[];
  /** Why the script cannot run, with its position. */
  problem?: string;
}

export interface LoadedModule {
  module: string;
  names: string[];
}

/** The first bytes of a script. */
export interface ScriptPart {
  size: number;
  bytes: Uint8Array;
}

/** Reads the shown part of a script. Rejects with `unavailable` if it was deleted. */
export async function readShownPart(
  artifacts: BlobBytes & OpenableBlobs,
  { file, size }: StoredScript,
): Promise<ScriptPart> {
  const { maxBytes } = SCRIPT_LIMITS;
  // Only a whole script can be verified.
  const bytes = size <= maxBytes ? await artifacts.get(file) : await readStart(artifacts, file, maxBytes);
  if (bytes !== undefined) return { size, bytes };
  throw new KrmhubError('unavailable', `the script ${file} was removed just now`, {
    hint: 'Try again in a few seconds.',
  });
}

async function readStart(
  artifacts: OpenableBlobs,
  file: StoredScript['file'],
  end: number,
): Promise<Uint8Array | undefined> {
  const open = await artifacts.open(file);
  if (open === undefined) return undefined;
  const pieces: Uint8Array[] = [];
  for await (const piece of open.read(0, end)) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Highlights a script, and reads what it loads. One that cannot be parsed is not highlighted. */
export function viewScript({ size, bytes }: ScriptPart): ScriptView {
  const isWhole = bytes.byteLength === size;
  const text = new TextDecoder().decode(bytes).replace(/\r\n/g, '\n');
  const parsed = isWhole ? parseScript(bytes, text) : {};
  const shown = shownPart(text, isWhole);
  const { tree, problem } = parsed;
  return {
    size,
    html: problem === undefined ? highlightScript(shown.text) : escapeHtml(shown.text),
    lines: shown.lines,
    isCut: !isWhole || shown.isCut,
    ...defined({ loads: tree === undefined ? undefined : loadedModules(tree), problem }),
  };
}

function parseScript(bytes: Uint8Array, text: string): { tree?: SyntaxTree; problem?: string } {
  if (!isUtf8(bytes)) return { problem: 'The script is not UTF-8 text' };
  try {
    return { tree: parse(text) };
  } catch (error) {
    if (!(error instanceof StarlarkSyntaxError)) throw error;
    const { line, column } = error.position;
    return { problem: `Line ${line}, column ${column}: ${error.message}` };
  }
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Returns the first lines. The last line of a part that ends anywhere is left out, unless it is the only one. */
function shownPart(text: string, isWhole: boolean): { text: string; lines: number; isCut: boolean } {
  const { maxLines } = SCRIPT_LIMITS;
  let end = 0;
  let lines = 0;
  while (lines < maxLines) {
    const next = text.indexOf('\n', end);
    if (next < 0) {
      if (end < text.length && (isWhole || lines === 0)) {
        end = text.length;
        lines += 1;
      }
      break;
    }
    end = next + 1;
    lines += 1;
  }
  return { text: text.slice(0, end).replace(/\n$/, ''), lines, isCut: end < text.length };
}

function loadedModules({ statements }: SyntaxTree): LoadedModule[] {
  const modules = new Map<string, Set<string>>();
  for (const statement of statements) {
    if (statement.kind !== 'load') continue;
    const names = modules.get(statement.module.value) ?? new Set();
    for (const { original } of statement.names) names.add(original.name);
    modules.set(statement.module.value, names);
  }
  return [...modules].map(([module, names]) => ({ module, names: [...names] }));
}
