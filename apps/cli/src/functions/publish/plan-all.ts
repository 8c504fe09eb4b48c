import type { RegistryClient } from '@krmhub/api/client';
import type { PublishResult } from '@krmhub/api/model';
import { checkCompatibility } from '@krmhub/catalog';
import { type Diagnostic, type ErrorCode, hasErrors, KrmhubError } from '@krmhub/schema';
import type { Submission } from '../../documents/read-definitions.js';
import type { Progress } from '../../io/progress.js';
import { plural } from '../../io/text.js';
import { predecessorsAmong } from './predecessors.js';

/** What concerns one release alone; other failures end the whole command at once. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'conflict',
  'forbidden',
  'invalid-document',
  'invalid-request',
  'too-large',
  'unsupported-media-type',
  'untrusted',
]);
/** Plans that are asked for at the same time. */
const CONCURRENCY = 6;

/** What would be published, and what that changes for those who use the release before. */
export interface Planned extends Published {
  changes: Diagnostic[];
}

/** Has the registry plan every release, storing nothing. Rejects with every refusal of all of them. */
export async function planAll(
  client: RegistryClient,
  submissions: readonly Submission[],
  readme: Uint8Array | undefined,
  allowBreaking: boolean,
  progress: Progress,
): Promise<Planned[]> {
  const predecessors = await predecessorsAmong(client, submissions);
  const plans: Planned[] = [];
  const refused: { submission: Submission; error: KrmhubError }[] = [];
  for (let from = 0; from < submissions.length; from += CONCURRENCY) {
    await progress.show(`checking ${from + 1}/${submissions.length}`);
    const batch = submissions.slice(from, from + CONCURRENCY);
    const answers = await Promise.allSettled(
      batch.map((submission) =>
        plan(client, submission, readme, allowBreaking, predecessors.get(submission)),
      ),
    );
    for (const [index, answer] of answers.entries()) {
      const submission = batch[index]!;
      if (answer.status === 'fulfilled') plans.push(answer.value);
      else if (answer.reason instanceof KrmhubError && REFUSALS.has(answer.reason.code)) {
        refused.push({ submission, error: answer.reason });
      } else {
        await progress.clear();
        throw answer.reason;
      }
    }
  }
  await progress.clear();
  if (refused.length > 0) throw refusal(refused, submissions.length);
  return plans;
}

async function plan(
  client: RegistryClient,
  submission: Submission,
  readme: Uint8Array | undefined,
  allowBreaking: boolean,
  before: Submission | undefined,
): Promise<Planned> {
  const { group, kind, release, bytes, mediaType, bundles = [] } = submission;
  const result = await client.publish({
    group,
    kind,
    release,
    definition: bytes,
    mediaType,
    bundles,
    dryRun: true,
    // The registry does not know yet what is published before it by the same command; that is compared here.
    allowBreaking: allowBreaking || before !== undefined,
    ...(readme === undefined ? {} : { readme }),
  });
  const changes =
    before === undefined || result.outcome === 'unchanged'
      ? result.diagnostics.filter(({ code }) => isChange(code)).map(definite)
      : checkCompatibility({ ...submission, before, allowBreaking });
  if (before !== undefined && hasErrors(changes)) {
    throw new KrmhubError('invalid-document', `it breaks what was written for ${before.release}`, {
      diagnostics: changes,
      hint: '`krmhub diff` tells all changes; `--allow-breaking` publishes them as they are.',
    });
  }
  return { submission, result, changes: changes.map((change) => inFile(change, submission)) };
}

/** Whether a diagnostic is about the release before. */
function isChange(code: string): boolean {
  return code === 'publish/breaking' || code === 'publish/review';
}

/** Of an answer, where what is absent may be undefined. */
function definite({ range, hint, ...rest }: PublishResult['diagnostics'][number]): Diagnostic {
  return { ...rest, ...(range === undefined ? {} : { range }), ...(hint === undefined ? {} : { hint }) };
}

function refusal(refused: { submission: Submission; error: KrmhubError }[], total: number): KrmhubError {
  const [first] = refused;
  const diagnostics = refused.flatMap(({ submission, error }) =>
    // Warnings were found here too, and told before.
    error.diagnostics
      .filter(({ severity }) => severity === 'error')
      .map((diagnostic) => inFile(diagnostic, submission)),
  );
  const { message, hint } = first!.error;
  if (total === 1)
    return new KrmhubError(first!.error.code, message, {
      diagnostics,
      ...(hint === undefined ? {} : { hint }),
    });
  const codes = new Set(refused.map(({ error }) => error.code));
  const lines = refused.map(({ submission, error }) => {
    const name = nameOf(submission);
    return error.message.startsWith(name) ? error.message : `${name}: ${error.message}`;
  });
  const hints = [...new Set(refused.flatMap(({ error }) => (error.hint === undefined ? [] : [error.hint])))];
  return new KrmhubError(
    codes.size === 1 ? first!.error.code : 'invalid-document',
    `the registry refuses ${plural(refused.length, 'release')} of ${total}, so nothing is published:\n${lines.join('\n')}`,
    { diagnostics, ...(hints.length === 0 ? {} : { hint: hints.join(' ') }) },
  );
}

function nameOf({ group, kind, release }: Submission): string {
  return `${group}/${kind}@${release}`;
}

/** The registry does not know the file's name, and positions only mean something where it got the file's own bytes. */
function inFile(diagnostic: Diagnostic, { file, exact }: Submission): Diagnostic {
  if (diagnostic.file === 'README.md') return diagnostic;
  const { range, ...rest } = diagnostic;
  return { ...rest, file, ...(exact && range !== undefined ? { range } : {}) };
}

export interface Published {
  submission: Submission;
  result: PublishResult;
}
