import { stat } from 'node:fs/promises';
import path from 'node:path';
import { configurationFolder } from '../files/configuration-folder.js';
import type { Environment } from '../ports.js';

/**
 * Reports whether this user has a trust file. Most have none, and reading it loads a parser and the verification of
 * signatures. What is wrong with the file is found by those who read it.
 */
export async function hasTrustFile({ env }: Environment): Promise<boolean> {
  if ((env.KRMHUB_TRUST ?? '') !== '') return true;
  try {
    await stat(path.join(configurationFolder({ env }), 'trust.yaml'));
    return true;
  } catch (error) {
    // Any other error is one of the trust file, which must not be overlooked.
    return !(
      error instanceof Error &&
      'code' in error &&
      (error.code === 'ENOENT' || error.code === 'ENOTDIR')
    );
  }
}
