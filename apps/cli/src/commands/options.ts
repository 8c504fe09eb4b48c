import { type Command, InvalidArgumentError, Option } from 'commander';
import { OUTPUT_FORMATS } from '../output/print.js';

/** Options that commands share, in the same words everywhere. */

export function withRegistry(command: Command): Command {
  return command.option('--registry <url>', 'Registry to talk to.');
}

export function withOutput(command: Command): Command {
  return command.addOption(
    new Option('-o, --output <format>', 'How data is printed.').choices(OUTPUT_FORMATS).default('table'),
  );
}

/** For options that are repeated or hold a list with commas. */
export function collectList(value: string, previous: readonly string[] | undefined): string[] {
  const items = value.split(',').map((item) => item.trim());
  if (items.includes('')) throw new InvalidArgumentError('It holds an empty name.');
  return [...(previous ?? []), ...items];
}

/** A whole number from 1 to `max`. */
export function count(max: number): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (!/^\d{1,9}$/.test(value) || number < 1 || number > max) {
      throw new InvalidArgumentError(`Give a whole number from 1 to ${max}.`);
    }
    return number;
  };
}
