import { mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { canonicalRelease, isDigest, isGroup, isKind, KrmhubError, type Takedown } from '@krmhub/schema';
import { writeDurably } from '@krmhub/sources/durable-file';
import { SERVER_LIMITS } from '../limits.js';
import { translateFileError } from '../store/blobs/folder.js';

/**
 * Takedowns in a file beside the database, so that a database restored from an older backup does not bring back what
 * was taken down since. A line is an event as the revocation feed gives it; events of other types are passed over.
 */
export interface TakedownRecord {
  /** Empty where there is no file; rejects with `invalid-document` where it cannot be understood. */
  read(): Promise<Takedown[]>;
  /** Adds what is not there yet; durable when it resolves. */
  add(takedowns: readonly Takedown[]): Promise<void>;
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
  return {
    read,
    async add(takedowns) {
      const known = await read();
      const names = new Set(known.map(takedownName));
      const added = takedowns.filter((one) => !names.has(takedownName(one)));
      if (added.length === 0) return;
      try {
        await replaceFile(file, [...known, ...added].map(recordLine).join(''));
      } catch (error) {
        throw translateFileError(path.dirname(file), error);
      }
    },
  };
}

/** The takedowns of a record or a saved revocation feed; throws `invalid-document` naming every bad line. */
export function parseTakedowns(bytes: Uint8Array, file: string): Takedown[] {
  if (bytes.byteLength > SERVER_LIMITS.maxTakedownRecordBytes) {
    throw new KrmhubError('too-large', `${file} exceeds ${SERVER_LIMITS.maxTakedownRecordBytes} bytes`);
  }
  const takedowns: Takedown[] = [];
  const wrong: number[] = [];
  for (const [index, line] of linesOf(new TextDecoder().decode(bytes)).entries()) {
    if (line.trim() === '') continue;
    const found = parseLine(line);
    if (found === 'wrong') wrong.push(index + 1);
    else if (found !== 'other') takedowns.push(found);
  }
  if (wrong.length === 0) return takedowns;
  const lines = `${wrong.slice(0, 10).join(', ')}${wrong.length > 10 ? ', …' : ''}`;
  throw new KrmhubError('invalid-document', `${file} is damaged: invalid lines ${lines}`, {
    hint: 'Fix or remove these lines. A line is an event of GET /api/v1/revocations as JSON.',
  });
}

/** A page of the feed that was saved whole is its revocations, one a line. */
function linesOf(text: string): string[] {
  try {
    const { revocations } = JSON.parse(text) as { revocations?: unknown };
    if (Array.isArray(revocations)) return revocations.map((one) => JSON.stringify(one));
  } catch {
    // Lines are no JSON document together.
  }
  return text.split('\n');
}

function takedownName({ group, kind, release }: Takedown): string {
  return `${group}/${kind.toLowerCase()}@${release}`;
}

function recordLine({ group, kind, release, digest, at, by, reason }: Takedown): string {
  return `${JSON.stringify({ type: 'release.taken-down', at, by, group, kind, release, digest, reason })}\n`;
}

function parseLine(line: string): Takedown | 'other' | 'wrong' {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return 'wrong';
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'wrong';
  const { type, group, kind, release, digest, at, by, reason } = value as Record<string, unknown>;
  if (typeof type !== 'string') return 'wrong';
  if (type !== 'release.taken-down') return 'other';
  const texts = [group, kind, release, digest, at, by, reason];
  if (!texts.every((text): text is string => typeof text === 'string' && text !== '')) return 'wrong';
  const takedown = { group, kind, release, digest, at, by, reason } as Takedown;
  const sound =
    isGroup(takedown.group) &&
    isKind(takedown.kind) &&
    canonicalRelease(takedown.release) === takedown.release &&
    isDigest(takedown.digest) &&
    isTime(takedown.at);
  return sound ? takedown : 'wrong';
}

/** As this registry writes times. */
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
