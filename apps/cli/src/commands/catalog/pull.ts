import path from 'node:path';
import type { Document } from '@krmhub/api/client';
import { KrmhubError } from '@krmhub/schema/error';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { connect } from '../../connect.js';
import { type Io, write } from '../../io.js';
import { say } from '../../output/print.js';
import { plural, visible } from '../../output/text.js';
import { withRegistry } from '../options.js';
import { isSnapshotReference, ofCatalog, withCatalogName } from './catalog-name.js';

// As the schema package has them, which loads too much for a help text.
const KINDS = ['Catalog', 'KRMFunctionCatalog'] as const;
const FORMATS = ['yaml', 'json'] as const;

interface PullOptions {
  snapshot?: string;
  kind: (typeof KINDS)[number];
  format: (typeof FORMATS)[number];
  out: string;
  registry?: string;
}

export function registerCatalogPull(parent: Command, io: Io): void {
  withRegistry(withCatalogName(parent.command('pull')))
    .description('Get the exact bytes of a catalog, checked against their digest.')
    .option('--snapshot <snapshot>', 'Serial or sha256:… digest; the newest by default.', snapshotReference)
    .addOption(new Option('--kind <kind>', 'Kind of the document.').choices(KINDS).default('Catalog'))
    .addOption(new Option('--format <format>', 'Form of the document.').choices(FORMATS).default('yaml'))
    .option('--out <file>', 'File to write, whole or not at all; - is stdout.', '-')
    .addHelpText(
      'after',
      `
Examples:
  krmhub catalog pull default > catalog.yaml
  krmhub catalog pull default --out catalog.yaml
  krmhub catalog pull default --snapshot 7 --format json --out catalog.json`,
    )
    .action((name: string, options: PullOptions) => pull(io, name, options));
}

async function pull(io: Io, name: string, options: PullOptions): Promise<void> {
  const { snapshot, kind, format, out } = options;
  const client = await connect(io, options.registry);
  const document = await ofCatalog(
    client.catalogDocument(name, { kind, format, ...(snapshot === undefined ? {} : { snapshot }) }),
  );
  // A digest names the catalog.yaml of the kind Catalog; other forms of it have their own.
  const pinned = snapshot?.startsWith('sha256:') && kind === 'Catalog' && format === 'yaml';
  const problem = await mismatch(document, pinned ? snapshot : document.digest);
  if (problem !== undefined) {
    throw new KrmhubError('digest-mismatch', `${problem}; nothing was written`, { hint: MEND });
  }
  if (out === '-') {
    await printDocument(io, document.bytes);
    return;
  }
  const { writeFileAtomically } = await import('../../write-file.js');
  const outcome = await writeFileAtomically(path.resolve(io.cwd, out), document.bytes, { overwrite: true });
  const what = outcome === 'written' ? 'Wrote' : 'Unchanged:';
  await say(io, `${what} ${out}, ${plural(document.bytes.length, 'byte')}, ${document.digest}`);
}

const MEND = 'Try again; if it stays so, something between you and the registry changes its answers.';

/** Why the bytes are not what they have to be. Without a digest to hold them to, they are not. */
async function mismatch(document: Document, digest: string | undefined): Promise<string | undefined> {
  if (digest === undefined) return 'the registry does not tell the digest of the catalog';
  const { sha256 } = await import('@krmhub/schema/digest');
  const actual = sha256(document.bytes);
  return actual === digest ? undefined : `the catalog has to have the digest ${digest}, and has ${actual}`;
}

async function printDocument(io: Io, bytes: Uint8Array): Promise<void> {
  if (io.stdout.isTTY !== true) return write(io.stdout, bytes);
  const lines = new TextDecoder().decode(bytes).split('\n');
  await write(io.stdout, lines.map(visible).join('\n'));
}

function snapshotReference(value: string): string {
  if (isSnapshotReference(value)) return value;
  throw new InvalidArgumentError('It is neither a serial (1, 2, …) nor a sha256:… digest.');
}
