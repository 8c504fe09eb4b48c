import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Io } from '../io/io.js';
import { parseMoment } from '../io/time.js';
import type { AuditOptions } from '../registry/print-audit.js';
import { withOutput, withRegistry } from './options.js';

const DEFAULT_LIMIT = 100;

export function registerAudit(program: Command, io: Io): void {
  const moment = (value: string): string => {
    const time = parseMoment(value, io.now());
    if (time !== undefined) return time;
    throw new InvalidArgumentError('Use an age such as 7d or 12h, or a time such as 2026-01-31T10:00:00Z.');
  };
  withOutput(withRegistry(program.command('audit')))
    .summary('Show the audit log (audit, admin).')
    .description('Show who changed what in a registry, newest first (audit, admin).')
    .option('--since <time>', 'From this age or time, for example 7d.', moment)
    .option('--until <time>', 'Up to this age or time.', moment)
    .option('--actor <name>', 'Only of the token with this name or ID.')
    .option('--action <action>', 'Only this action, for example token.create, or token for all of tokens.')
    .option('--object <prefix>', 'Only objects that begin with this, for example release/example.com/.')
    .addOption(new Option('--outcome <outcome>', 'Only this outcome.').choices(['done', 'refused']))
    .addOption(
      new Option('--limit <count>', 'Rows to show at most; 0 for all.')
        .argParser(parseCount)
        .default(DEFAULT_LIMIT),
    )
    .addHelpText(
      'after',
      `
Examples:
  krmhub audit
  krmhub audit --action release.publish --object release/example.com/
  krmhub audit --since 7d --action token
  krmhub audit --object release/example.com/ --outcome refused
  krmhub audit --since 30d --limit 0 -o json > audit.json`,
    )
    .action(async (options: AuditOptions) => {
      const { printAudit } = await import('../registry/print-audit.js');
      await printAudit(io, options);
    });
}

function parseCount(value: string): number {
  if (/^\d{1,9}$/.test(value)) return Number(value);
  throw new InvalidArgumentError('Use a number, for example 500.');
}
