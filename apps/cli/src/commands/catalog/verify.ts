import { type Command, InvalidArgumentError } from 'commander';
import type { VerifyOptions } from '../../catalogs/verify/run-verification.js';
import type { Io } from '../../io/io.js';
import { withOutput, withRegistry } from '../options.js';

export function registerCatalogVerify(parent: Command, io: Io): void {
  withOutput(withRegistry(parent.command('verify')))
    .description('Prove that a catalog is what its registry has signed, by a key that you have.')
    .argument('<catalog>', 'Name of a catalog, or URL of one or of a snapshot.')
    .option(
      '--key <file>',
      'Public key of the registry, PEM. Repeat while it changes its key.',
      (file: string, files: string[] | undefined) => [...(files ?? []), file],
    )
    .option('--snapshot <serial>', 'This snapshot, however old; the newest by default.', serialOf)
    .option('--out <folder>', 'Write the verified files there, where everything holds.')
    .option('--offline <folder>', 'Verify what --out has written; nothing is asked of a network.')
    .addHelpText(
      'after',
      `
Refused: a missing or wrong signature, that of another catalog or snapshot,
other bytes than were signed, a signature that has expired, and an older
snapshot than was seen before. The highest serial of each catalog is remembered
in seen-catalogs.json, beside the credentials of \`krmhub login\`.

A key is pinned once: have who runs the registry tell you its fingerprint.
Without --key, the keys count that \`krmhub trust add URL\` pinned it to.

Exit codes: 0 trusted, 4 not trusted.

Examples:
  krmhub catalog verify default --key registry.pub
  krmhub catalog verify https://krm.example.com/catalogs/default --key registry.pub --out default
  krmhub catalog verify https://krm.example.com/catalogs/default --key registry.pub --offline default
  krmhub catalog verify default --snapshot 7 --key registry.pub -o json`,
    )
    .action(async (target: string, options: VerifyOptions) => {
      const { runVerification } = await import('../../catalogs/verify/run-verification.js');
      await runVerification(io, target, options);
    });
}

function serialOf(value: string): number {
  if (/^[1-9]\d{0,14}$/.test(value)) return Number(value);
  throw new InvalidArgumentError('It is no serial (1, 2, …).');
}
