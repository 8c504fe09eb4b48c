import { recoverPackage } from './recover-package.js';

const [, , folder] = process.argv;
if (folder === undefined) throw new Error('the folder is missing');
await recoverPackage(folder);
