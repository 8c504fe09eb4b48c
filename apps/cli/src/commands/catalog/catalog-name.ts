import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';

const CATALOG_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** The argument `<name>`, held to what a catalog can be called. */
export function withCatalogName(command: Command): Command {
  return command.argument('<name>', 'Name of the catalog.', (name: string) => {
    if (CATALOG_NAME.test(name)) return name;
    throw new InvalidArgumentError('A catalog name has lower-case letters, digits and inner hyphens.');
  });
}
