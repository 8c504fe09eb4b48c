import type { RegistryClient } from '@krmhub/api/client';
import type { PublishResult } from '@krmhub/api/model';
import { checkCompatibility } from '@krmhub/catalog';
import { type Diagnostic, type ErrorCode, hasErrors, KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { plural, shellWord } from '@krmhub/schema/text';
import type { Submission } from '../../documents/read-definitions.js';
import type { Progress } from '../../io/progress.js';
import { findPredecessors } from './find-predecessors.js';

/** Errors that concern one release; other errors end the command at once. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'conflict',
  'forbidden',
  'invalid-document',
  'invalid-request',
  'too-large',
  'unsupported-media-type',
  'untrusted',
]);
/** Concurrent plan requests. */
const CONCURRENCY = 6;

/** A release to publish, and its changes from the previous release. */
export interface Planned extends Published {
  changes: Diagnostic[];
}

/** Has the registry plan every release without storing it. Rejects with the refusals of all of them. */
export async function planAll(
  client: RegistryClient,
  submissions: readonly Submission[],
  readme: Uint8Array | undefined,
  allowBreaking: boolean,
  progress: Progress,
): Promise<Planned[]> {
  const predecessors = await findPredecessors(client, submissions);
  const plans: Planned[] = [];
  const refused: { submission: Submission; error: KrmhubError }[] = [];
  for (let from = 0; from < submissions.length; from += CONCURRENCY) {
    await progress.show(`checking ${from + 1}/${submissions.length}`);
    const batch = submissions.slice(from, from + CONCURRENCY);
    const results = await Promise.allSettled(
      batch.map((submission) =>
        plan(client, submission, readme, allowBreaking, predecessors.get(submission)),
      ),
    );
    for (const [index, outcome] of results.entries()) {
      const submission = batch[index]!;
      if (outcome.status === 'fulfilled') plans.push(outcome.value);
      else if (outcome.reason instanceof KrmhubError && REFUSALS.has(outcome.reason.code)) {
        refused.push({ submission, error: outcome.reason });
      } else {
        await progress.clear();
        throw outcome.reason;
      }
    }
  }
  await progress.clear();
  if (refused.length > 0) throw refusalError(refused, submissions.length);
  return plans;
}

async function plan(
  client: RegistryClient,
  submission: Submission,
  readme: Uint8Array | undefined,
  allowBreaking: boolean,
  before: Submission | undefined,
): Promise<Planned> {
  const { group, kind, release, bytes, mediaType, notes, bundles = [] } = submission;
  const result = await client.publish({
    group,
    kind,
    release,
    definition: bytes,
    mediaType,
    bundles,
    dryRun: true,
    // The registry does not have an earlier release of the same command yet, so it is compared here.
    allowBreaking: allowBreaking || before !== undefined,
    ...defined({ readme, notes }),
  });
  const changes =
    before === undefined || result.outcome === 'unchanged'
      ? result.diagnostics.filter(({ code }) => isOfRegistry(code)).map(toDiagnostic)
      : checkCompatibility({ ...submission, before, allowBreaking });
  if (before !== undefined && hasErrors(changes)) {
    throw new KrmhubError(
      'invalid-document',
      `cannot publish ${releaseName(submission)}: it breaks users of ${before.release}`,
      {
        diagnostics: changes,
        hint: `Show all changes: krmhub diff ${shellWord(before.file)} ${shellWord(submission.file)}. Or publish them with --allow-breaking.`,
      },
    );
  }
  return { submission, result, changes: changes.map((change) => withFile(change, submission)) };
}

/** Reports whether only the registry can know a problem: lint has printed the others. */
function isOfRegistry(code: string): boolean {
  return code.startsWith('publish/');
}

/** Drops undefined fields of a response. */
function toDiagnostic({ range, hint, ...rest }: PublishResult['diagnostics'][number]): Diagnostic {
  return { ...rest, ...defined({ range, hint }) };
}

function refusalError(refused: { submission: Submission; error: KrmhubError }[], total: number): KrmhubError {
  const [first] = refused;
  const diagnostics = refused.flatMap(({ submission, error }) =>
    // Warnings are already printed.
    error.diagnostics
      .filter(({ severity }) => severity === 'error')
      .map((diagnostic) => withFile(diagnostic, submission)),
  );
  const { message, hint } = first!.error;
  if (total === 1)
    return new KrmhubError(first!.error.code, message, {
      diagnostics,
      ...defined({ hint }),
    });
  const codes = new Set(refused.map(({ error }) => error.code));
  const lines = refused.map(({ submission, error }) => {
    const name = releaseName(submission);
    return error.message.startsWith(name) ? error.message : `${name}: ${error.message}`;
  });
  const hints = [...new Set(refused.flatMap(({ error }) => (error.hint === undefined ? [] : [error.hint])))];
  return new KrmhubError(
    codes.size === 1 ? first!.error.code : 'invalid-document',
    `cannot publish ${refused.length} of ${plural(total, 'release')}, nothing was published:\n${lines.join('\n')}`,
    { diagnostics, ...defined({ hint: hints.length === 0 ? undefined : hints.join(' ') }) },
  );
}

function releaseName({ group, kind, release }: Submission): string {
  return `${group}/${kind}@${release}`;
}

/** Sets the file name of a diagnostic. Keeps the position only if the registry received the bytes of the file. */
function withFile(diagnostic: Diagnostic, { file, exact }: Submission): Diagnostic {
  if (diagnostic.file === 'README.md') return diagnostic;
  const { range, ...rest } = diagnostic;
  return { ...rest, file, ...defined({ range: exact && range !== undefined ? range : undefined }) };
}

export interface Published {
  submission: Submission;
  result: PublishResult;
}
