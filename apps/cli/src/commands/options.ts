import { type Command, InvalidArgumentError, Option } from 'commander';
import { OUTPUT_FORMATS } from '../io/print.js';

/** Options that commands share, in the same words everywhere. */

export function withRegistry(command: Command): Command {
  return command.option('--registry <url>', 'Registry to talk to.');
}

export function withOutput(command: Command): Command {
  return command.addOption(
    new Option('-o, --output <format>', 'How data is printed.').choices(OUTPUT_FORMATS).default('table'),
  );
}

export function withPlainHttp(command: Command): Command {
  return command.option(
    '--plain-http <host>',
    'Speak to this registry without TLS; to this machine always.',
    collectList,
  );
}

/** As Go and image-spec name platforms. */
export function platformOf(value: string): { os: string; architecture: string } {
  const [, os, architecture] = /^([a-z0-9]+)\/([a-z0-9]+)$/.exec(value) ?? [];
  if (os === undefined || architecture === undefined) {
    throw new InvalidArgumentError('Write it as OS/ARCHITECTURE, such as linux/amd64.');
  }
  return { os, architecture };
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
