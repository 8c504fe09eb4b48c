import { type ListedKey, listRegistryKeys, rotateRegistryKey } from '@krmhub/registry/operate';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine, printTable } from '../io/print.js';
import { resolveStorage } from './data-folder.js';

export interface KeyOptions {
  data?: string;
  keys?: string;
  output: OutputFormat;
}

export async function listKeys(io: Io, options: KeyOptions): Promise<void> {
  const keys = await listRegistryKeys(await resolveStorage(io, options), io.now());
  await printData(io, options.output, { keys }, () => printKeys(io, keys));
}

/** Creates the next signing key of a registry. Throws `usage` for a `--valid-from` that is not a time. */
export async function rotateKey(io: Io, options: KeyOptions & { validFrom?: string }): Promise<void> {
  const from = options.validFrom === undefined ? undefined : parseTime(options.validFrom);
  const { keys, made } = await rotateRegistryKey(await resolveStorage(io, options), {
    now: io.now(),
    ...defined({ from }),
  });
  await printData(io, options.output, { keys }, () => printKeys(io, keys));
  await printLine(io, `created key ${made.fingerprint}, valid from ${made.validFrom}`);
  await printLine(io, 'users must pin its public key: krmhub key list -o json');
}

function parseTime(text: string): Date {
  const time = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text)
    ? new Date(text)
    : undefined;
  if (time !== undefined && !Number.isNaN(time.getTime())) return time;
  throw new KrmhubError(
    'usage',
    `--valid-from: ${JSON.stringify(escapeControls(text))} is not a valid time`,
    {
      hint: 'Use a UTC date or time, for example: krmhub key rotate --valid-from 2030-01-02T12:00:00Z',
    },
  );
}

async function printKeys(io: Io, keys: readonly ListedKey[]): Promise<void> {
  const cells = ({ fingerprint, state, validFrom, validUntil }: ListedKey) => [
    state,
    validFrom,
    validUntil ?? '',
    fingerprint,
  ];
  await printTable(
    io,
    [{ header: 'STATE' }, { header: 'VALID FROM' }, { header: 'VALID UNTIL' }, { header: 'FINGERPRINT' }],
    keys,
    { terminal: cells, pipe: cells },
  );
}
