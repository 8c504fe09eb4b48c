import { mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { lacksSigner, mergeSigners } from '@krmhub/catalog';
import {
  canonicalRelease,
  isDigest,
  isGroup,
  isKind,
  KrmhubError,
  type Takedown,
  type TakenDownSigner,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { writeDurably } from '@krmhub/sources/durable-file';
import { SERVER_LIMITS } from '../../limits.js';
import { translateFileError } from '../../store/blobs/folder.js';
import { KeyedMutex } from '../../workers/locks/keyed-mutex.js';

/**
 * Takedowns in a file next to the database, so that a database restored from an older backup does not bring back
 * later takedowns. A line is an event of the revocation feed; events of other types are skipped.
 */
export interface TakedownRecord {
  /** Returns an empty list without a file. Rejects with `invalid-document` if the file is damaged. */
  read(): Promise<Takedown[]>;
  /** Adds missing takedowns, and missing signers and refused digests of known ones; durable when it resolves. */
  add(takedowns: readonly Takedown[]): Promise<void>;
  /** Removes the refused digests of takedowns; durable when it resolves. */
  allowRuntimes(takedowns: readonly Takedown[]): Promise<void>;
}

export function openTakedownRecord(file: string): TakedownRecord {
  const read = async (): Promise<Takedown[]> => {
    let bytes: Buffer;
    try {
      bytes = await readFile(file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw translateFileError(path.dirname(file), error);
    }
    return parseTakedowns(bytes, file);
  };
  const write = async (takedowns: readonly Takedown[]): Promise<void> => {
    try {
      await replaceFile(file, takedowns.map(recordLine).join(''));
    } catch (error) {
      throw translateFileError(path.dirname(file), error);
    }
  };
  const changes = new KeyedMutex();
  return {
    read,
    add: (takedowns) =>
      changes.run(file, async () => {
        const known = await read();
        const all = mergeTakedowns([...known, ...takedowns]);
        if (all.length === known.length && all.every((one, at) => !isIncomplete(known[at]!, one))) return;
        await write(all);
      }),
    allowRuntimes: (takedowns) =>
      changes.run(file, async () => {
        const names = new Set(takedowns.map(takedownName));
        await write(
          (await read()).map((one) => {
            const { runtimeDigests: _, ...allowed } = one;
            return names.has(takedownName(one)) ? allowed : one;
          }),
        );
      }),
  };
}

/** Returns each takedown once, in order. Lists of older versions lack signers and digests, so those of all lists are merged. */
function mergeTakedowns(takedowns: readonly Takedown[]): Takedown[] {
  const merged = new Map<string, Takedown>();
  for (const one of takedowns) {
    const name = takedownName(one);
    const before = merged.get(name);
    if (before === undefined) merged.set(name, one);
    else if (isIncomplete(before, one)) {
      const signers = mergeSigners(before.signers ?? [], one.signers ?? []);
      const runtimeDigests = [...new Set([...(before.runtimeDigests ?? []), ...(one.runtimeDigests ?? [])])];
      merged.set(name, {
        ...before,
        ...defined({
          signers: signers.length === 0 ? undefined : signers,
          runtimeDigests: runtimeDigests.length === 0 ? undefined : runtimeDigests,
        }),
      });
    }
  }
  return [...merged.values()];
}

/** Reports whether a takedown lacks a signer that another one of the same release names. */
export function lacksSigners(takedown: Takedown, other: Takedown): boolean {
  return lacksSigner(takedown.signers ?? [], other.signers ?? []);
}

/** Reports whether a takedown lacks a signer or a refused digest that another one of the same release names. */
function isIncomplete(takedown: Takedown, other: Takedown): boolean {
  const refused = takedown.runtimeDigests ?? [];
  return (
    lacksSigners(takedown, other) ||
    other.runtimeDigests?.some((digest) => !refused.includes(digest)) === true
  );
}

/** Returns the takedowns of a record or a saved revocation feed. Throws `invalid-document` naming every bad line. */
export function parseTakedowns(bytes: Uint8Array, file: string): Takedown[] {
  if (bytes.byteLength > SERVER_LIMITS.maxTakedownRecordBytes) {
    throw new KrmhubError('too-large', `${file} exceeds ${SERVER_LIMITS.maxTakedownRecordBytes} bytes`);
  }
  const takedowns: Takedown[] = [];
  const invalid: number[] = [];
  for (const [index, line] of splitLines(new TextDecoder().decode(bytes)).entries()) {
    if (line.trim() === '') continue;
    const found = parseLine(line);
    if (found === 'invalid') invalid.push(index + 1);
    else if (found !== 'other') takedowns.push(found);
  }
  if (invalid.length === 0) return takedowns;
  const lines = `${invalid.slice(0, 10).join(', ')}${invalid.length > 10 ? ', …' : ''}`;
  throw new KrmhubError('invalid-document', `${file} is corrupt: invalid lines ${lines}`, {
    hint: 'Fix or remove these lines. Each line is one takedown, as JSON.',
  });
}

/** Splits the text into lines. A saved page of the feed becomes one line per revocation. */
function splitLines(text: string): string[] {
  try {
    const { revocations } = JSON.parse(text) as { revocations?: unknown };
    if (Array.isArray(revocations)) return revocations.map((one) => JSON.stringify(one));
  } catch {
    // Several lines are not one JSON document.
  }
  return text.split('\n');
}

/** Names the release of a takedown. Kinds that differ only by case are the same. */
export function takedownName({ group, kind, release }: Takedown): string {
  return `${group}/${kind.toLowerCase()}@${release}`;
}

function recordLine({ group, kind, release, digest, at, by, reason, ...more }: Takedown): string {
  const { signers, scripts, runtimeDigests } = more;
  const takedown = { at, by, group, kind, release, digest, reason, signers, scripts, runtimeDigests };
  return `${JSON.stringify({ type: 'release.taken-down', ...takedown })}\n`;
}

function parseLine(line: string): Takedown | 'other' | 'invalid' {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return 'invalid';
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'invalid';
  const { type, group, kind, release, digest, at, by, reason, ...more } = value as Record<string, unknown>;
  const { signers, scripts, runtimeDigests } = more;
  if (typeof type !== 'string') return 'invalid';
  if (type !== 'release.taken-down') return 'other';
  const texts = [group, kind, release, digest, at, by, reason];
  if (!texts.every((text): text is string => typeof text === 'string' && text !== '')) return 'invalid';
  const named = readSigners(signers);
  if (named === undefined) return 'invalid';
  if (!isDigestList(scripts) || !isDigestList(runtimeDigests)) return 'invalid';
  const takedown = {
    ...{ group, kind, release, digest, at, by, reason },
    ...defined({ signers: named.length === 0 ? undefined : named, scripts, runtimeDigests }),
  } as Takedown;
  const isValid =
    isGroup(takedown.group) &&
    isKind(takedown.kind) &&
    canonicalRelease(takedown.release) === takedown.release &&
    isDigest(takedown.digest) &&
    isTime(takedown.at);
  return isValid ? takedown : 'invalid';
}

/** Reports whether a value is a list of digests, or absent. */
function isDigestList(value: unknown): boolean {
  if (value === undefined) return true;
  return Array.isArray(value) && value.every((one) => typeof one === 'string' && isDigest(one));
}

/** Returns the signers of a line; undefined if they are invalid. Lines of older versions have none. */
function readSigners(value: unknown): TakenDownSigner[] | undefined {
  if (value === undefined) return [];
  if (!Array.isArray(value)) return undefined;
  const signers = value.map(readSigner);
  return signers.every((one) => one !== undefined) ? mergeSigners([], signers) : undefined;
}

function readSigner(value: unknown): TakenDownSigner | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { type, fingerprint, issuer, subject } = value as Record<string, unknown>;
  if (type === 'unidentified') return { type };
  if (type === 'key' && typeof fingerprint === 'string' && isDigest(fingerprint))
    return { type, fingerprint };
  return type === 'identity' && isName(issuer) && isName(subject) ? { type, issuer, subject } : undefined;
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** Reports whether a text is a time as this registry writes it. */
function isTime(text: string): boolean {
  const time = new Date(text);
  return !Number.isNaN(time.getTime()) && time.toISOString() === text;
}

async function replaceFile(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  // One name, so that the next write replaces what a crash left.
  const temporary = `${file}.unfinished`;
  await rm(temporary, { force: true });
  await writeDurably(file, {
    write: (handle) => handle.writeFile(text),
    mode: 0o600,
    overwrite: true,
    temporary,
  });
}
