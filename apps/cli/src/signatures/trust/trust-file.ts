import { lstat, realpath, stat } from 'node:fs/promises';
import { platform } from 'node:os';
import path from 'node:path';
import { POLICY_LIMITS, readTrust, type Trust } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { makeFolder } from '@krmhub/sources/make-folder';
import { diskError, readFileUpTo } from '../../files/read-file.js';
import { withLock } from '../../files/with-lock.js';
import { writeFileAtomically } from '../../files/write-file.js';
import type { Io } from '../../io/io.js';
import { visible } from '../../io/text.js';
import { configurationFolder } from '../../registry/credentials.js';

const UNREADABLE = 'Make it readable for whoever runs krmhub, or put it back.';

type Place = Pick<Io, 'env' | 'cwd'>;

export interface TrustStore {
  file: string;
  /** What stands in the file; undefined where there is none, and nobody said that there is one. */
  text: string | undefined;
  trust: Trust;
}

/** KRMHUB_TRUST, else `trust.yaml` beside what `login` keeps. */
export function trustFile({ env, cwd }: Place): string {
  const named = env.KRMHUB_TRUST ?? '';
  return named === '' ? path.join(configurationFolder({ env }), 'trust.yaml') : path.resolve(cwd, named);
}

/**
 * Whom the user of this machine trusts. Throws `invalid-document` for a file that cannot be read or says what it should
 * not: that is never the same as a file that trusts nobody.
 */
export async function readTrustStore(io: Place): Promise<TrustStore> {
  const file = trustFile(io);
  if (!(await isThere(file))) {
    if ((io.env.KRMHUB_TRUST ?? '') === '') {
      return { file, text: undefined, trust: { policies: [], catalogs: [] } };
    }
    throw refused(`KRMHUB_TRUST names ${file}, which is not there`, {
      hint: '`krmhub trust add` makes it. Unset KRMHUB_TRUST for the file of this user.',
    });
  }
  await checkWriters(file);
  const bytes = await readFileUpTo({ cwd: '/' }, file, POLICY_LIMITS.maxBytes).catch((cause: unknown) => {
    throw refused(messageOf(cause), { hint: UNREADABLE, cause });
  });
  const text = new TextDecoder().decode(bytes);
  return { file, text, trust: trustIn(bytes, file) };
}

/** The same for whoever is about to verify: without knowing whom to trust, nothing is trusted. Throws `untrusted`. */
export async function trustToVerifyBy(io: Place): Promise<TrustStore> {
  try {
    return await readTrustStore(io);
  } catch (cause) {
    if (!(cause instanceof KrmhubError)) throw cause;
    const { hint, diagnostics } = cause;
    throw new KrmhubError('untrusted', `whom to trust cannot be read: ${cause.message}`, {
      ...(hint === undefined ? {} : { hint }),
      diagnostics,
      cause,
    });
  }
}

/** What a file says of trust. Throws `invalid-document` with everything that is wrong with it. */
export function trustIn(bytes: Uint8Array, file: string): Trust {
  const empty = bytes.every((byte) => byte === 0);
  const { trust, diagnostics } = empty ? { diagnostics: [] } : readTrust(bytes, file);
  if (trust !== undefined) return trust;
  throw empty
    ? refused(`${file} is empty, as a file is that was cut off`, {
        hint: 'Put it back; where nobody is to be trusted, remove it.',
      })
    : refused(`${file} does not say soundly whom to trust`, {
        hint: 'Mend what is named below.',
        diagnostics: diagnostics.filter(({ severity }) => severity === 'error'),
      });
}

/** Changes the file, one at a time; `change` gives its new text, or nothing where it is to stay. */
export async function changeTrustStore(
  io: Place,
  change: (store: TrustStore) => string | undefined,
): Promise<TrustStore> {
  const named = trustFile(io);
  // A link to a file that is kept elsewhere stays one.
  const file = await realpath(named).catch(() => named);
  await makeFolder(path.dirname(file), 0o700).catch((error: unknown) => {
    throw diskError(error, visible(`no folder can be made at ${path.dirname(file)}`));
  });
  return withLock(file, async () => {
    const store = (await isThere(named))
      ? await readTrustStore(io)
      : { file: named, text: undefined, trust: { policies: [], catalogs: [] } };
    const text = change(store);
    if (text === undefined) return store;
    const bytes = new TextEncoder().encode(text);
    const trust = trustIn(bytes, named);
    await writeFileAtomically(file, bytes, { overwrite: true, mode: 0o600, folderMode: 0o700 });
    return { file: named, text, trust };
  });
}

/** A link that leads nowhere is there, and cannot be read. */
async function isThere(file: string): Promise<boolean> {
  try {
    await lstat(file);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) {
      return false;
    }
    throw refused(messageOf(diskError(error, `cannot read ${file}`)), { hint: UNREADABLE, cause: error });
  }
}

async function checkWriters(file: string): Promise<void> {
  const { mode } = await stat(file).catch((cause: unknown) => {
    throw refused(messageOf(diskError(cause, `cannot read ${file}`)), { hint: UNREADABLE, cause });
  });
  if (platform() === 'win32' || (mode & 0o022) === 0) return;
  throw refused(`${file} can be written by others, who could say whom you trust`, {
    hint: `Look through it, then run: chmod 600 ${file}`,
  });
}

function refused(message: string, options: ConstructorParameters<typeof KrmhubError>[2] = {}): KrmhubError {
  return new KrmhubError('invalid-document', visible(message), options);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
