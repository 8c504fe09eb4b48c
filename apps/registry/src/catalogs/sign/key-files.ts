import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { access, chown, constants, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { platform } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { KrmhubError, MAX_KEY_LENGTH, type PublicKey, publicKey } from '@krmhub/schema';
import { isDiskFull } from '@krmhub/schema/disk-error';
import { syncFolder, writeDurably } from '@krmhub/sources/durable-file';
import { makeFolder } from '@krmhub/sources/make-folder';

/** A key with which the registry signs its snapshots. */
export interface RegistryKey {
  publicKey: PublicKey;
  privateKey: KeyObject;
  /** RFC 3339, UTC: time from which it signs, until that of the next key. */
  validFrom: string;
}

/** File name: the time from which the key signs, and the first digits of the key's fingerprint. */
const FILE_NAME = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})(\d{3})Z-([a-f0-9]{16})\.pem$/;

const FROM_BACKUP = 'Restore the key from a backup.';

/**
 * Returns the keys of a folder, newest first; none if the folder is missing. Rejects with `unavailable` if a file is
 * not a registry key, has changed, or can be read by all accounts.
 */
export async function readKeyFiles(folder: string): Promise<RegistryKey[]> {
  const keys: RegistryKey[] = [];
  for (const name of await keyFileNames(folder)) keys.push(await readKeyFile(path.join(folder, name)));
  return keys.sort((a, b) => (a.validFrom < b.validFrom ? 1 : a.validFrom > b.validFrom ? -1 : 0));
}

/** Returns the names of key files. Hidden files are skipped: they are unfinished, or belong to the file system. */
export async function keyFileNames(folder: string): Promise<string[]> {
  try {
    const names = await readdir(folder);
    const open = platform() !== 'win32' && ((await stat(folder)).mode & 0o002) !== 0;
    if (open && !(await isReadOnly(folder))) {
      throw new KrmhubError('unavailable', `the key folder ${folder} is writable by other accounts`, {
        hint: `Check the owner of its files, then run: chmod 700 ${folder}`,
      });
    }
    return names.filter((name) => name.endsWith('.pem') && !name.startsWith('.')).sort();
  } catch (cause) {
    if (cause instanceof KrmhubError) throw cause;
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw refused(`cannot read the key folder ${folder}`, cause);
  }
}

/** A Secret that Kubernetes mounts is a folder with all permissions, on a file system that nobody can write. */
async function isReadOnly(folder: string): Promise<boolean> {
  return access(folder, constants.W_OK).then(
    () => false,
    (error: NodeJS.ErrnoException) => error.code === 'EROFS',
  );
}

/** Account that must be able to read a file. */
export interface Owner {
  uid: number;
  gid: number;
}

/**
 * Creates a key. When this resolves, its file is durable and readable by its owner only. A hidden one is not read
 * before `showKeyFile`.
 */
export async function addKeyFile(
  folder: string,
  validFrom: Date,
  { owner, hidden = false }: { owner?: Owner; hidden?: boolean } = {},
): Promise<RegistryKey> {
  const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'prime256v1' });
  const key = createKey(privateKey, validFrom.toISOString());
  try {
    await makeFolder(folder, 0o700);
    await writeDurably(path.join(folder, `${hidden ? '.' : ''}${fileName(key)}`), {
      write: async (handle) => {
        await handle.writeFile(String(privateKey.export({ type: 'pkcs8', format: 'pem' })));
        // An administrator may run this, but the registry's account must read the key.
        if (owner !== undefined && (await handle.stat()).uid !== owner.uid) {
          await handle.chown(owner.uid, owner.gid);
          await chown(folder, owner.uid, owner.gid);
        }
      },
      mode: 0o600,
      overwrite: true,
    });
    await syncFolder(path.dirname(folder));
    return key;
  } catch (cause) {
    throw refused(`cannot write a key to ${folder}`, cause);
  }
}

async function readKeyFile(file: string): Promise<RegistryKey> {
  const match = FILE_NAME.exec(path.basename(file));
  if (match === null) {
    throw new KrmhubError('unavailable', `${file} does not have the name of a registry key`, {
      hint: 'Restore its name, for example 20300102T030405678Z-0123456789abcdef.pem, or move the file.',
    });
  }
  const [, year, month, day, hour, minute, second, milliseconds, fingerprint] = match;
  const validFrom = `${year}-${month}-${day}T${hour}:${minute}:${second}.${milliseconds}Z`;
  let text: string;
  try {
    const status = await stat(file);
    // Reading a pipe would block, and a device may never end.
    if (!status.isFile())
      throw new KrmhubError('unavailable', `${file} is not a file`, { hint: FROM_BACKUP });
    const { mode, size } = status;
    if (platform() !== 'win32' && (mode & 0o007) !== 0) {
      throw new KrmhubError('unavailable', `private key ${file} is readable by other accounts`, {
        hint: `Run: chmod 600 ${file}. If another account could read it, rotate the key with \`krmhub key rotate\`.`,
      });
    }
    text = size > MAX_KEY_LENGTH ? '' : await readFile(file, 'utf8');
  } catch (cause) {
    if (cause instanceof KrmhubError) throw cause;
    throw refused(`cannot read the key ${file}`, cause);
  }
  const key = parsed(text, validFrom);
  if (key !== undefined && firstDigits(key.publicKey.fingerprint) === fingerprint) return key;
  const reason =
    key === undefined
      ? 'is corrupt: it does not contain a private key'
      : 'does not contain the key in its name';
  throw new KrmhubError('unavailable', `key ${file} ${reason}`, { hint: FROM_BACKUP });
}

/** Parses a key. Errors must not contain text of the file. */
function parsed(text: string, validFrom: string): RegistryKey | undefined {
  if (Number.isNaN(Date.parse(validFrom))) return undefined;
  try {
    const privateKey = createPrivateKey(text);
    const { asymmetricKeyType: type, asymmetricKeyDetails: details } = privateKey;
    return type === 'ec' && details?.namedCurve === 'prime256v1'
      ? createKey(privateKey, validFrom)
      : undefined;
  } catch {
    return undefined;
  }
}

function createKey(privateKey: KeyObject, validFrom: string): RegistryKey {
  return { privateKey, publicKey: publicKey(createPublicKey(privateKey), 'the key'), validFrom };
}

/** Gives a hidden key the name of a key file, unless another process did. */
export async function showKeyFile(folder: string, fingerprint: string): Promise<void> {
  const end = `${firstDigits(fingerprint)}.pem`;
  try {
    const names = await readdir(folder).catch(ignoreMissing);
    for (const name of names ?? []) {
      if (!name.startsWith('.') || !name.endsWith(end) || !FILE_NAME.test(name.slice(1))) continue;
      await rename(path.join(folder, name), path.join(folder, name.slice(1))).catch(ignoreMissing);
    }
    // Also what another process renamed must be durable.
    if (names !== undefined) await syncFolder(folder);
  } catch (cause) {
    throw refused(`cannot write a key to ${folder}`, cause);
  }
}

/** Deletes a hidden key, with which nothing was signed. */
export async function deleteHiddenKey(folder: string, key: RegistryKey): Promise<void> {
  await rm(path.join(folder, `.${fileName(key)}`), { force: true });
  await syncFolder(folder);
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}

function fileName({ publicKey: { fingerprint }, validFrom }: RegistryKey): string {
  return `${validFrom.replace(/[-:.]/g, '')}-${firstDigits(fingerprint)}.pem`;
}

function firstDigits(fingerprint: string): string {
  return fingerprint.slice('sha256:'.length, 'sha256:'.length + 16);
}

function refused(message: string, cause: unknown): KrmhubError {
  const { code } = cause as NodeJS.ErrnoException;
  const full = isDiskFull(code);
  return new KrmhubError(full ? 'storage-full' : 'unavailable', `${message}: ${code ?? 'unknown error'}`, {
    hint: full
      ? 'Free some disk space.'
      : 'Change the owner of the folder and its files to the account that runs the registry.',
    cause,
  });
}
