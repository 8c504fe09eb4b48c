import { fileURLToPath } from 'node:url';

/** The folder `examples` of krmhub, which its package has too. */
export const EXAMPLES_FOLDER = fileURLToPath(new URL('../../../../examples/', import.meta.url));
