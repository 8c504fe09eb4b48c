import { lstat, realpath, stat } from 'node:fs/promises';
import { platform } from 'node:os';
import path from 'node:path';
import { POLICY_LIMITS, readTrust, type Trust } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { escapeControls } from '@krmhub/schema/text';
import { makeFolder } from '@krmhub/sources/make-folder';
import { configurationFolder } from '../files/configuration-folder.js';
import { diskError, readFileUpTo } from '../files/read-file.js';
import { withLock } from '../files/with-lock.js';
import { writeFileAtomically } from '../files/write-file.js';
import type { Environment, WorkingFolder } from '../ports.js';

const NO_TRUST: Trust = { policies: [], catalogs: [], catalogTrust: [] };
const UNREADABLE_HINT = 'Restore the file, or make it readable for the current user.';

type TrustLocation = Environment & WorkingFolder;

export interface TrustStore {
  file: string;
  /** The text of the file; undefined if there is no file at the default path. */
  text: string | undefined;
  trust: Trust;
}

/** Returns KRMHUB_TRUST, else `trust.yaml` in the configuration folder. */
export function trustFilePath({ env, cwd }: TrustLocation): string {
  const named = env.KRMHUB_TRUST ?? '';
  return named === '' ? path.join(configurationFolder({ env }), 'trust.yaml') : path.resolve(cwd, named);
}

/**
 * Reads the trust file. Throws `invalid-document` for a file that is unreadable or invalid, which is never the same as
 * an empty list of signers.
 */
export async function readTrustStore(io: TrustLocation): Promise<TrustStore> {
  const file = trustFilePath(io);
  if (!(await fileExists(file))) {
    if ((io.env.KRMHUB_TRUST ?? '') === '') {
      return { file, text: undefined, trust: NO_TRUST };
    }
    throw trustFileError(`trust file ${file} of KRMHUB_TRUST does not exist`, {
      hint: 'Create it with `krmhub trust add`, or unset KRMHUB_TRUST to use the default file.',
    });
  }
  await checkPermissions(file);
  const bytes = await readFileUpTo({ cwd: '/' }, file, POLICY_LIMITS.maxBytes).catch((cause: unknown) => {
    throw trustFileError(errorMessage(cause), { hint: UNREADABLE_HINT, cause });
  });
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  return { file, text, trust: parseTrust(bytes, file) };
}

/** Reads the trust file before a verification. Throws `untrusted`: without the file, nothing is trusted. */
export async function requireTrustStore(io: TrustLocation): Promise<TrustStore> {
  try {
    return await readTrustStore(io);
  } catch (cause) {
    if (!(cause instanceof KrmhubError)) throw cause;
    const { hint, diagnostics } = cause;
    throw new KrmhubError('untrusted', `cannot read the trusted signers: ${cause.message}`, {
      ...defined({ hint }),
      diagnostics,
      cause,
    });
  }
}

/** Parses a trust file. Throws `invalid-document` with every problem in it. */
export function parseTrust(bytes: Uint8Array, file: string): Trust {
  const empty = bytes.every((byte) => byte === 0);
  const { trust, diagnostics } = empty ? { diagnostics: [] } : readTrust(bytes, file);
  if (trust !== undefined) return trust;
  throw empty
    ? trustFileError(`trust file ${file} is empty`, {
        hint: 'Restore the file. To trust no signer, remove it.',
      })
    : trustFileError(`trust file ${file} is not valid`, {
        hint: 'Fix the errors below.',
        diagnostics: diagnostics.filter(({ severity }) => severity === 'error'),
      });
}

/** Updates the file under a lock. `change` returns the new text, or undefined to leave the file unchanged. */
export async function updateTrustStore(
  io: TrustLocation,
  change: (store: TrustStore) => string | undefined,
): Promise<TrustStore> {
  const named = trustFilePath(io);
  // Keeps a symbolic link to the file.
  const file = await realpath(named).catch(() => named);
  await makeFolder(path.dirname(file), 0o700).catch((error: unknown) => {
    throw diskError(error, escapeControls(`cannot create the folder ${path.dirname(file)}`));
  });
  return withLock(file, async () => {
    const store = (await fileExists(named))
      ? await readTrustStore(io)
      : { file: named, text: undefined, trust: NO_TRUST };
    const text = change(store);
    if (text === undefined) return store;
    const bytes = new TextEncoder().encode(text);
    const trust = parseTrust(bytes, named);
    await writeFileAtomically(file, bytes, { overwrite: true, mode: 0o600, folderMode: 0o700 });
    return { file: named, text, trust };
  });
}

/** Reports whether a file exists. A dangling link exists, and cannot be read. */
async function fileExists(file: string): Promise<boolean> {
  try {
    await lstat(file);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) {
      return false;
    }
    throw trustFileError(errorMessage(diskError(error, `cannot read ${file}`)), {
      hint: UNREADABLE_HINT,
      cause: error,
    });
  }
}

async function checkPermissions(file: string): Promise<void> {
  const { mode } = await stat(file).catch((cause: unknown) => {
    throw trustFileError(errorMessage(diskError(cause, `cannot read ${file}`)), {
      hint: UNREADABLE_HINT,
      cause,
    });
  });
  if (platform() === 'win32' || (mode & 0o022) === 0) return;
  throw trustFileError(`trust file ${file} is writable by other users`, {
    hint: `Review it, then run: chmod 600 ${file}`,
  });
}

function trustFileError(
  message: string,
  options: ConstructorParameters<typeof KrmhubError>[2] = {},
): KrmhubError {
  return new KrmhubError('invalid-document', escapeControls(message), options);
}

function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
