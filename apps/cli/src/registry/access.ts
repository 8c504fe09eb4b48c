import { Readable } from 'node:stream';
import type { AccessDetail, AccessResult } from '@krmhub/api/model';
import { readFileUpTo } from '@krmhub/consume/files/read-file';
import { sha256 } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls, plural } from '@krmhub/schema/text';
import { requireConfirmation } from '../io/confirm.js';
import { FINDINGS } from '../io/exit-code.js';
import { type Io, write, writeData } from '../io/io.js';
import { type OutputFormat, printData, printLine } from '../io/print.js';
import { readStdin } from '../io/read-stdin.js';
import { connect } from './connection.js';

export interface AccessOptions {
  output: OutputFormat;
  registry?: string;
}

export interface ApplyAccessOptions extends AccessOptions {
  dryRun?: boolean;
  /** Do not ask. */
  yes?: boolean;
}

/** Prints the Access document of the registry, to edit and apply again. */
export async function showAccess(io: Io, options: AccessOptions): Promise<void> {
  const detail = await (await connect(io, options.registry)).access();
  await printData(io, options.output, detail, () => writeData(io.stdout, detail.text));
  await printLine(io, await describeState(detail));
}

async function describeState({ text, appliedAt, appliedBy }: AccessDetail): Promise<string> {
  if (appliedAt === undefined) {
    return [
      'no Access document: everything is public, and only administrators begin new groups',
      'to write one, see the example in `krmhub docs access`, then run: krmhub access apply access.yaml',
    ].join('\n');
  }
  const { AccessRules, EVERY_GROUP_IS_OPEN, readAccess } = await import('@krmhub/catalog');
  const { access } = readAccess(new TextEncoder().encode(text), 'stored document');
  const applied = escapeControls(`applied ${appliedAt.slice(0, 10)} by ${appliedBy}`);
  return new AccessRules(access).opensEveryGroup ? `${applied}\n${EVERY_GROUP_IS_OPEN}` : applied;
}

/**
 * Replaces the Access document, after it prints who gains and loses what, and asks. Without a terminal, it requires
 * `yes`.
 */
export async function applyAccess(io: Io, file: string, options: ApplyAccessOptions): Promise<void> {
  const bytes = await readDocument(io, file);
  const client = await connect(io, options.registry);
  const replaces = sha256(new TextEncoder().encode((await client.access()).text));
  const { dryRun, yes } = options;
  const isAsked = dryRun !== true && yes !== true;
  if (isAsked) {
    // Stdin has ended after the document was read from it.
    const asked = { ...io, stdin: file === '-' ? Readable.from([]) : io.stdin };
    await requireConfirmation(asked, 'apply the Access document', 'Apply this document?', async () => {
      const planned = await client.applyAccess(bytes, { dryRun: true, replaces });
      if (planned.outcome === 'unchanged') return false;
      await printChanges(io, planned);
      return true;
    });
  }
  const result = await client.applyAccess(bytes, { dryRun, replaces });
  if (!isAsked) await printChanges(io, result);
  await printData(io, options.output, result, async () => undefined);
  const outcome =
    result.outcome === 'unchanged'
      ? 'unchanged: this is the current document'
      : result.dryRun
        ? 'the document is valid (dry run, nothing was changed)'
        : 'applied the Access document';
  await printLine(io, outcome);
  if (result.dryRun) return;
  const { describeBehind } = await import('@krmhub/catalog');
  const behind = describeBehind(result);
  if (behind !== undefined) await printLine(io, escapeControls(`warning: ${behind}`));
}

/** Reads and checks a document before it is sent. */
async function readDocument(io: Io, file: string): Promise<Uint8Array> {
  const { ACCESS_LIMITS, readAccess } = await import('@krmhub/catalog');
  const { maxBytes } = ACCESS_LIMITS;
  const name = file === '-' ? '<stdin>' : file;
  const bytes = file === '-' ? await readStdin(io, maxBytes) : await readFileUpTo(io, file, maxBytes);
  const { access, diagnostics } = readAccess(bytes, name);
  if (diagnostics.length > 0) {
    const { printDiagnostics } = await import('../io/diagnostics.js');
    await printDiagnostics(io, io.stderr, diagnostics, new Map([[name, bytes]]));
  }
  if (access !== undefined) return bytes;
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
  throw new KrmhubError('invalid-document', `cannot apply ${name}: ${plural(errors, 'error')}`, {
    hint: 'Fix the errors above. Fields and examples: krmhub docs access',
  });
}

/** Prints on stderr who gains and loses what. */
async function printChanges(io: Io, result: AccessResult): Promise<void> {
  // A registry of an earlier version does not report what is exposed, and what ends.
  const { outcome, changes, count, exposed = [], exposedCount = 0, ended = [], endedCount = 0 } = result;
  if (outcome === 'unchanged') return;
  const { accessChangeCount, describeAccessChange, describeExposedFunction, describeTeamEnd, EXPOSED_STAYS } =
    await import('@krmhub/catalog');
  for (const { right, actors, reason } of changes.map(describeAccessChange)) {
    await printLine(io, escapeControls(right));
    await printLine(io, escapeControls(`  ${actors}${reason === undefined ? '' : `: ${reason}`}`));
  }
  for (const end of ended) await printLine(io, escapeControls(describeTeamEnd(end)));
  if (endedCount > ended.length) await printLine(io, `and ${endedCount - ended.length} more`);
  for (const fn of exposed) await printLine(io, escapeControls(describeExposedFunction(fn)));
  const more = exposedCount - exposed.length;
  if (more > 0) await printLine(io, `and ${plural(more, 'more function')}`);
  if (exposedCount > 0) await printLine(io, EXPOSED_STAYS);
  await printLine(io, accessChangeCount(count, changes.length));
}

/** Prints whether an actor may do something, and what says so. Not allowed is exit code 1. */
export async function checkAccess(
  io: Io,
  wanted: { actor: string; action: string; object: string },
  options: AccessOptions,
): Promise<void> {
  const client = await connect(io, options.registry);
  const decision = await client.checkAccess({
    ...wanted,
    action: wanted.action as Parameters<typeof client.checkAccess>[0]['action'],
  });
  const { allowed, reason } = decision;
  await printData(io, options.output, decision, () =>
    write(io.stdout, `${escapeControls(`${allowed ? 'yes' : 'no'}: ${reason}`)}\n`),
  );
  if (!allowed) io.exitCode = FINDINGS;
}
