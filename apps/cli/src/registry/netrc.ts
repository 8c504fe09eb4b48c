import { type FileHandle, open } from 'node:fs/promises';
import { homedir, platform } from 'node:os';
import path from 'node:path';
import type { Environment, Trace } from '@krmhub/consume/ports';
import { KrmhubError } from '@krmhub/schema/error';

/** What `.netrc` has for one machine. */
export interface NetrcEntry {
  machine: string;
  login?: string;
  password?: string;
}

const MAX_BYTES = 1_048_576;

/**
 * Returns the user name and password of `$NETRC`, or `~/.netrc`, for a host; undefined if it has none. A `default` entry
 * belongs to no host, so it is never used. Throws `unavailable` for a file that other users can read, and `usage` for
 * one that is not valid.
 */
export async function netrcCredentials(
  io: Environment & Trace,
  hostname: string,
): Promise<{ username: string; password: string } | undefined> {
  const file = netrcFile(io);
  const text = await readPrivateFile(file);
  if (text === undefined) return undefined;
  const entries = parseNetrc(text);
  if (!Array.isArray(entries)) {
    throw new KrmhubError('usage', `cannot read ${file}: line ${entries.line}: ${entries.problem}`, {
      hint: 'Write each entry as: machine HOST login USER password PASSWORD',
    });
  }
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  const { login, password } = entries.find(({ machine }) => machine.toLowerCase() === host) ?? {};
  if (login === undefined || password === undefined) return undefined;
  io.trace?.(`credentials for ${hostname}: ${file}`);
  return { username: login, password };
}

function netrcFile({ env }: Environment): string {
  const { NETRC: named = '' } = env;
  if (named !== '') return named;
  return path.join(env.HOME ?? homedir(), platform() === 'win32' ? '_netrc' : '.netrc');
}

/** Undefined for a file that does not exist. */
async function readPrivateFile(file: string): Promise<string | undefined> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, 'r');
    const { mode, size } = await handle.stat();
    if (platform() !== 'win32' && (mode & 0o077) !== 0) {
      throw new KrmhubError('unavailable', `${file} is not used: other users can read it`, {
        hint: `Run: chmod 600 ${file}`,
      });
    }
    if (size > MAX_BYTES) throw new KrmhubError('usage', `${file} has more than ${MAX_BYTES} bytes`);
    return await handle.readFile('utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(String((error as NodeJS.ErrnoException).code))) return undefined;
    if (error instanceof KrmhubError) throw error;
    const { diskError } = await import('@krmhub/consume/files/read-file');
    throw diskError(error, `cannot read ${file}`);
  } finally {
    await handle?.close();
  }
}

/** What a file cannot be read for. It does not quote the file, which has secrets. */
export interface NetrcProblem {
  line: number;
  problem: string;
}

/**
 * Parses the entries of machines, as curl reads them: words, of which one in double quotes can have spaces and escapes.
 * A macro ends at an empty line, and a comment only begins where a keyword could.
 */
export function parseNetrc(text: string): NetrcEntry[] | NetrcProblem {
  const words = new Words(text);
  const entries: NetrcEntry[] = [];
  // Of the entry that is being read; `default` has one that is not returned.
  let current: Partial<NetrcEntry> | undefined;
  for (;;) {
    words.skipComments();
    const keyword = words.next();
    if (keyword === undefined) return words.problem ?? entries;
    if (keyword === 'default') {
      current = {};
      continue;
    }
    const value = words.next();
    if (value === undefined) return words.problem ?? words.failed('a value is missing');
    if (keyword === 'machine') {
      const entry: NetrcEntry = { machine: value };
      entries.push(entry);
      current = entry;
    } else if (keyword === 'macdef') words.skipMacro();
    else if (!['login', 'password', 'account'].includes(keyword)) return words.failed('unknown keyword');
    else if (current === undefined) return words.failed(`"${keyword}" before the first machine`);
    else if (keyword === 'login' && value.includes(':')) return words.failed('a user name has a colon');
    else if (keyword !== 'account') current[keyword as 'login' | 'password'] ??= value;
  }
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };

class Words {
  readonly #text: string;
  #at = 0;
  /** Why `next` returned nothing, if that is not the end. */
  problem: NetrcProblem | undefined;

  constructor(text: string) {
    this.#text = text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  }

  next(): string | undefined {
    this.#skip(/\s*/y);
    if (this.#text[this.#at] !== '"') return this.#skip(/\S+/y) || undefined;
    const quoted = this.#skip(/"(?:[^"\\\n]|\\[^\n])*"(?!\S)/y);
    if (quoted !== '') return quoted.slice(1, -1).replace(/\\(.)/g, (_, one: string) => ESCAPES[one] ?? one);
    this.problem = this.failed('a quote is not closed');
    return undefined;
  }

  skipComments(): void {
    this.#skip(/(?:\s*#[^\n]*)*/y);
  }

  /** Of a macro, whose name was read. */
  skipMacro(): void {
    this.#skip(/[^\n]*(?:\n[^\n]+)*/y);
  }

  failed(problem: string): NetrcProblem {
    return { line: this.#text.slice(0, this.#at).split('\n').length, problem };
  }

  #skip(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? '';
    this.#at += found.length;
    return found;
  }
}
