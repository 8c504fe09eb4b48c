import type { Derivation } from '../../workers/derive/derivation.js';

/** The npm package of this program; empty if it is not built. */
export const PROGRAM_PACKAGE: Derivation<{ version: string }> = {
  name: 'program-package',
  async derive() {
    const { packProgram, readProgramFiles } = await import('./pack-program.js');
    const files = readProgramFiles();
    return files === undefined ? new Uint8Array() : packProgram(files);
  },
};
