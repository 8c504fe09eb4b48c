import { lstat, mkdir } from 'node:fs/promises';
import { platform, userInfo } from 'node:os';
import { KrmhubError } from '@krmhub/schema/error';

const PRIVATE_MODE = 0o700;
const WRITABLE_BY_OTHERS = 0o022;

/** Makes a folder that only this user can enter. Rejects with `untrusted` for one that other users can change. */
export async function makePrivateFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: PRIVATE_MODE });
  const found = await lstat(folder);
  if (!found.isDirectory()) throw refuse(folder, 'it is not a folder');
  // Windows has no owners and modes here; its temporary folders belong to one user.
  if (platform() === 'win32') return;
  if (found.uid !== userInfo().uid) throw refuse(folder, 'it belongs to another user');
  if ((found.mode & WRITABLE_BY_OTHERS) !== 0) throw refuse(folder, 'other users can write to it');
}

function refuse(folder: string, reason: string): KrmhubError {
  return new KrmhubError('untrusted', `cannot install executables in ${folder}: ${reason}`, {
    hint: `Use your own folder, and run: chmod 700 ${folder}`,
  });
}
