import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';

/**
 * Writes the key pairs NAME.key and NAME.pub, without a password: opening a file of `krmhub keygen` takes long on
 * purpose.
 */
export async function writeKeyFiles(folder: string, ...names: string[]): Promise<void> {
  for (const name of names) {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    await writeFile(path.join(folder, `${name}.key`), privateKey.export({ type: 'pkcs8', format: 'pem' }), {
      mode: 0o600,
    });
    await writeFile(path.join(folder, `${name}.pub`), publicKey.export({ type: 'spki', format: 'pem' }));
  }
}
