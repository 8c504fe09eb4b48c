import { recoverPackage } from './recover-package.js';

const [, , folder] = process.argv;
if (folder === undefined) throw new Error('the folder is missing');
// Another try would fail again: the next command for the package says why.
await recoverPackage(folder).catch(() => undefined);
