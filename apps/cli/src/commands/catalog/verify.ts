import type { Command } from 'commander';
import type { VerifyOptions } from '../../catalogs/verify/run-verification.js';
import type { Io } from '../../io/io.js';
import { collect, parseSerial, withOutput, withRegistry, withSnapshotLimits } from '../options.js';

export function registerCatalogVerify(parent: Command, io: Io): void {
  withOutput(withRegistry(withSnapshotLimits(parent.command('verify'))))
    .summary('Verify the signature of a catalog.')
    .description('Verify that a catalog is signed by its registry, and show every check.')
    .argument('<catalog>', 'Name of a catalog, or URL of a catalog or of a snapshot.')
    .option('--key <file>', 'Public key of the registry (PEM). Repeatable during a key rotation.', collect)
    .option('--snapshot <serial>', 'Verify this snapshot, of any age. Default: the newest.', parseSerial)
    .option('--out <folder>', 'Folder for the verified files.')
    .option('--files <folder>', 'Verify the files from --out, without network access.')
    .addHelpText(
      'after',
      `
The command rejects missing, wrong, and expired signatures, signatures of other
catalogs or snapshots, and bytes that differ from the signed bytes. It also
rejects a snapshot that is older than one that you verified before. For this
check, it stores the highest serial of each catalog and key in
seen-catalogs.json, in the folder of \`krmhub login\`. On a new machine, use
--min-serial or --max-age, or set them with \`krmhub trust add URL\`.

Without --key, the command uses the keys that you pinned with
\`krmhub trust add URL\`. Get the fingerprint of the key from the operator of the
registry before you pin it.

Exit codes: 0 trusted, 4 not trusted.

Examples:
  krmhub catalog verify default --key registry.pub
  krmhub catalog verify https://krm.example.com/catalogs/default --key registry.pub --out default
  krmhub catalog verify https://krm.example.com/catalogs/default --key registry.pub --files default
  krmhub catalog verify default --snapshot 7 --key registry.pub -o json`,
    )
    .action(async (target: string, options: VerifyOptions) => {
      const { runVerification } = await import('../../catalogs/verify/run-verification.js');
      await runVerification(io, target, options);
    });
}
