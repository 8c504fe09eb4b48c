import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject, randomUUID } from 'node:crypto';
import { chown, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { platform } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { KrmhubError, MAX_KEY_LENGTH, type PublicKey, publicKey } from '@krmhub/schema';
import { makeFolder } from '../server/make-folder.js';
import { syncFolder } from '../store/blobs/folder.js';

/** A key by which the registry signs its snapshots. */
export interface RegistryKey {
  publicKey: PublicKey;
  privateKey: KeyObject;
  /** RFC 3339, UTC: it signs from then on, until the next one does. */
  validFrom: string;
}

/** A file is called by the time from which its key signs, and by the beginning of the key's fingerprint. */
const FILE_NAME = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})(\d{3})Z-([a-f0-9]{16})\.pem$/;

const FROM_BACKUP = 'Put it back from a backup.';

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
      throw new KrmhubError(
        'unavailable',
        `Every account of this machine can put keys into ${folder}, the folder of the registry's keys`,
        { hint: `Look whose files are in it, then run: chmod 700 ${folder}` },
      );
    }
    return names.filter((name) => name.endsWith('.pem') && !name.startsWith('.')).sort();
  } catch (cause) {
    if (cause instanceof KrmhubError) throw cause;
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw refused(`The folder of the registry's keys ${folder} cannot be read`, cause);
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
  const temporary = path.join(folder, `.${randomUUID()}.unfinished`);
  try {
    await makeFolder(folder, 0o700);
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(String(privateKey.export({ type: 'pkcs8', format: 'pem' })));
      // An administrator adds a key that the registry's account has to read.
      if (owner !== undefined && (await handle.stat()).uid !== owner.uid) {
        await handle.chown(owner.uid, owner.gid);
        await chown(folder, owner.uid, owner.gid);
      }
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, path.join(folder, fileName(key)));
    await syncFolder(folder);
    await syncFolder(path.dirname(folder));
    return key;
  } catch (cause) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw refused(`No key can be written to ${folder}`, cause);
  }
}

async function readKeyFile(file: string): Promise<RegistryKey> {
  const match = FILE_NAME.exec(path.basename(file));
  if (match === null) {
    throw new KrmhubError('unavailable', `${file} is not named as a key of the registry`, {
      hint: 'Give it the name that it had, such as 20300102T030405678Z-0123456789abcdef.pem, or move it away.',
    });
  }
  const [, year, month, day, hour, minute, second, milliseconds, fingerprint] = match;
  const validFrom = `${year}-${month}-${day}T${hour}:${minute}:${second}.${milliseconds}Z`;
  let text: string;
  try {
    const status = await stat(file);
    // A pipe would be waited for, and a device read without an end.
    if (!status.isFile()) throw new KrmhubError('unavailable', `${file} is no file`, { hint: FROM_BACKUP });
    const { mode, size } = status;
    if (platform() !== 'win32' && (mode & 0o007) !== 0) {
      throw new KrmhubError(
        'unavailable',
        `${file} is a private key that every account of this machine can read`,
        {
          hint: `Run: chmod 600 ${file}; where others may have read it, make the next key with \`krmhub key rotate\`.`,
        },
      );
    }
    text = size > MAX_KEY_LENGTH ? '' : await readFile(file, 'utf8');
  } catch (cause) {
    if (cause instanceof KrmhubError) throw cause;
    throw refused(`The key ${file} cannot be read`, cause);
  }
  const key = parsed(text, validFrom);
  if (key?.publicKey.fingerprint.slice('sha256:'.length, 'sha256:'.length + 16) === fingerprint) return key!;
  const reason =
    key === undefined ? 'is damaged: it holds no private key' : 'holds another key than its name says';
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
      ? 'Free space on its disk.'
      : 'Give the folder and its files to the account that the registry runs under.',
    cause,
  });
}
