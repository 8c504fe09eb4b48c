import { recoverPackage } from '@krmhub/functions/fn';

/** `node recover-package.mjs FOLDER` does what every command does first. */
try {
  await recoverPackage(process.argv[2]);
  console.log('recovered');
} catch (error) {
  console.log(`failed: ${error.code}: ${error.message}`);
  process.exitCode = 1;
}
