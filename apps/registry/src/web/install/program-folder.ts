import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the program: a checkout, or an installed package. */
export const PROGRAM_FOLDER = fileURLToPath(new URL('../../../../../', import.meta.url));
/** The name of the package, which the workspace of a checkout does not have. */
export const INSTALLED = 'krmhub';

interface Manifest {
  name: string;
  version: string;
  description: string;
  license: string;
  /** Of the sources; releases name it. */
  repository?: { type: string; url: string };
  engines: Record<string, string>;
  dependencies: Record<string, string>;
}

/** Reads a `package.json` of the program. */
export function readManifest(name: string, folder = PROGRAM_FOLDER): Manifest {
  return JSON.parse(readFileSync(join(folder, name), 'utf8')) as Manifest;
}

/** Returns the version of krmhub, and whether it runs from a checkout, where other bytes can have the same version. */
export function programVersion(): { version: string; isCheckout: boolean } {
  const { version } = readManifest('apps/cli/package.json');
  return { version, isCheckout: readManifest('package.json').name !== INSTALLED };
}
