import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { chown, readdir, readFile, stat } from 'node:fs/promises';
import { platform } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { KrmhubError, MAX_KEY_LENGTH, type PublicKey, publicKey } from '@krmhub/schema';
import { syncFolder, writeDurably } from '@krmhub/sources/durable-file';
import { makeFolder } from '@krmhub/sources/make-folder';

/** A key by which the registry signs its snapshots. */
export interface RegistryKey {
  publicKey: PublicKey;
  privateKey: KeyObject;
  /** RFC 3339, UTC: it signs from then on, until the next one does. */
  validFrom: string;
}

/** A file is called by the time from which its key signs, and by the beginning of the key's fingerprint. */
const FILE_NAME = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})(\d{3})Z-([a-f0-9]{16})\.pem$/;

const FROM_BACKUP = 'Restore it from a backup.';

/**
 * The keys of a folder, newest first; none where there is no folder. Rejects with `unavailable` where a file is no key of
 * ours as it was written, or can be read by everybody: what signs must be beyond doubt, and nobody else's.
 */
export async function readKeyFiles(folder: string): Promise<RegistryKey[]> {
  const keys: RegistryKey[] = [];
  for (const name of await keyFileNames(folder)) keys.push(await readKeyFile(path.join(folder, name)));
  return keys.sort((a, b) => (a.validFrom < b.validFrom ? 1 : a.validFrom > b.validFrom ? -1 : 0));
}

/** Hidden files are ours while they are written, or a file system's. */
export async function keyFileNames(folder: string): Promise<string[]> {
  try {
    const names = await readdir(folder);
    if (platform() !== 'win32' && ((await stat(folder)).mode & 0o002) !== 0) {
      throw new KrmhubError('unavailable', `key folder ${folder} is writable by other accounts`, {
        hint: `Check who owns its files, then run: chmod 700 ${folder}`,
      });
    }
    return names.filter((name) => name.endsWith('.pem') && !name.startsWith('.')).sort();
  } catch (cause) {
    if (cause instanceof KrmhubError) throw cause;
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw refused(`cannot read the key folder ${folder}`, cause);
  }
}

/** The account that has to read a file. */
export interface Owner {
  uid: number;
  gid: number;
}

/** A new key; its file is durable when this resolves, and readable for its owner only. */
export async function addKeyFile(folder: string, validFrom: Date, owner?: Owner): Promise<RegistryKey> {
  const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'prime256v1' });
  const key = keyOf(privateKey, validFrom.toISOString());
  try {
    await makeFolder(folder, 0o700);
    await writeDurably(path.join(folder, fileName(key)), {
      write: async (handle) => {
        await handle.writeFile(String(privateKey.export({ type: 'pkcs8', format: 'pem' })));
        // An administrator adds a key that the registry's account has to read.
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
      hint: 'Restore its name, for example 20300102T030405678Z-0123456789abcdef.pem, or move it away.',
    });
  }
  const [, year, month, day, hour, minute, second, milliseconds, fingerprint] = match;
  const validFrom = `${year}-${month}-${day}T${hour}:${minute}:${second}.${milliseconds}Z`;
  let text: string;
  try {
    const status = await stat(file);
    // A pipe would be waited for, and a device read without an end.
    if (!status.isFile())
      throw new KrmhubError('unavailable', `${file} is not a file`, { hint: FROM_BACKUP });
    const { mode, size } = status;
    if (platform() !== 'win32' && (mode & 0o007) !== 0) {
      throw new KrmhubError('unavailable', `private key ${file} is readable by other accounts`, {
        hint: `Run: chmod 600 ${file}. If others may have read it, rotate the key with \`krmhub key rotate\`.`,
      });
    }
    text = size > MAX_KEY_LENGTH ? '' : await readFile(file, 'utf8');
  } catch (cause) {
    if (cause instanceof KrmhubError) throw cause;
    throw refused(`cannot read the key ${file}`, cause);
  }
  const key = parsed(text, validFrom);
  if (key?.publicKey.fingerprint.slice('sha256:'.length, 'sha256:'.length + 16) === fingerprint) return key!;
  const reason =
    key === undefined
      ? 'is damaged: it does not contain a private key'
      : 'does not contain the key that its name says';
  throw new KrmhubError('unavailable', `The key ${file} ${reason}`, { hint: FROM_BACKUP });
}

/** No text of the file may get into an error. */
function parsed(text: string, validFrom: string): RegistryKey | undefined {
  if (Number.isNaN(Date.parse(validFrom))) return undefined;
  try {
    const privateKey = createPrivateKey(text);
    const { asymmetricKeyType: type, asymmetricKeyDetails: details } = privateKey;
    return type === 'ec' && details?.namedCurve === 'prime256v1' ? keyOf(privateKey, validFrom) : undefined;
  } catch {
    return undefined;
  }
}

function keyOf(privateKey: KeyObject, validFrom: string): RegistryKey {
  return { privateKey, publicKey: publicKey(createPublicKey(privateKey), 'the key'), validFrom };
}

function fileName({ publicKey: { fingerprint }, validFrom }: RegistryKey): string {
  return `${validFrom.replace(/[-:.]/g, '')}-${fingerprint.slice('sha256:'.length, 'sha256:'.length + 16)}.pem`;
}

function refused(message: string, cause: unknown): KrmhubError {
  const { code } = cause as NodeJS.ErrnoException;
  const full = code === 'ENOSPC' || code === 'EDQUOT';
  return new KrmhubError(full ? 'storage-full' : 'unavailable', `${message} (${code ?? 'unknown reason'}).`, {
    hint: full
      ? 'Free some disk space.'
      : 'Change the owner of the folder and its files to the account that runs the registry.',
    cause,
  });
}
