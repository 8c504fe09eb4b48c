import type { ConsumerCounts, DeprecationRecord, LifecycleAction, ReleaseHead } from '@krmhub/catalog';
import { lackingRights } from '../../http/auth/authorize.js';
import { operateReleasePath, releasePath, takedownPath } from '../addresses.js';
import { Banner } from '../parts/banner.js';
import { ReleaseName } from '../parts/release-name.js';
import { QualifiedName, Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { sentence } from '../sentence.js';
import { useSite } from '../site.js';
import { ActionForm } from './action-form.js';
import { ConsumersSection } from './consumers-section.js';
import { Field, type FieldProblems } from './field.js';
import { missingChangeScopes, useOperator } from './operator.js';
import { ReleaseLabels } from './releases-page.js';

/** Fields of both forms; each form has its own ids. */
export type LifecycleField = 'yank-reason' | 'deprecate-reason' | 'deprecate-replacement';

export interface ReleasePageData {
  release: ReleaseHead;
  /** Who uses the function. Absent for operators who may not know. */
  consumers?: ConsumerCounts | undefined;
  /** The change that was just made. */
  done?: LifecycleAction | undefined;
  typed: { reason: string; replacement: string };
  problems: FieldProblems<LifecycleField>;
}

const DONE: Readonly<Record<LifecycleAction, string>> = {
  yank: 'The release is yanked',
  unyank: 'The release is no longer yanked',
  deprecate: 'The release is deprecated',
  undeprecate: 'The release is no longer deprecated',
};

/** Whether a release has the state after a change, whatever the URL says. */
const IS_DONE: Readonly<Record<LifecycleAction, (release: ReleaseHead) => boolean>> = {
  yank: ({ yanked }) => yanked !== undefined,
  unyank: ({ yanked }) => yanked === undefined,
  deprecate: ({ deprecated }) => deprecated !== undefined,
  undeprecate: ({ deprecated }) => deprecated === undefined,
};

/** Shows a release, and the forms that yank, deprecate, and take it down. */
export function ReleasePage({ shown }: { shown: ReleasePageData }) {
  const { at } = useSite();
  const operator = useOperator();
  const { release, consumers, done } = shown;
  const { group, yanked, deprecated } = release;
  const isDone = done !== undefined && IS_DONE[done](release);
  const lacking = lackingRights(operator.rules, operator.token, 'yank', { group });
  return (
    <>
      <div class="operate-head">
        <h1>
          <ReleaseName name={release} />
        </h1>
        <ReleaseLabels release={release} />
      </div>
      {isDone ? <Banner tone="good" title={DONE[done]} /> : null}
      <p>
        Published <Time at={release.publishedAt} /> by <Text value={release.publishedBy} max={100} />.{' '}
        <a href={at(releasePath(release))}>Its page</a>
      </p>
      {consumers === undefined ? null : <ConsumersSection counts={consumers} release={release.release} />}
      {lacking.length === 0 ? (
        <>
          <section aria-labelledby="yank">
            <h2 id="yank">{yanked === undefined ? 'Yank' : 'Unyank'}</h2>
            {yanked === undefined ? (
              <YankForm shown={shown} />
            ) : (
              <Undo shown={shown} action="unyank" mark={yanked} />
            )}
          </section>
          <section aria-labelledby="deprecate">
            <h2 id="deprecate">{deprecated === undefined ? 'Deprecate' : 'Undeprecate'}</h2>
            {deprecated === undefined ? (
              <DeprecateForm shown={shown} />
            ) : (
              <Undo shown={shown} action="undeprecate" mark={deprecated} />
            )}
          </section>
        </>
      ) : (
        <Banner title="Read-only access">
          <p>
            To yank or deprecate this release,{' '}
            {operator.token.user === undefined ? 'your token needs' : 'you need'}{' '}
            <Text value={lacking.join(' and ')} />.
          </p>
        </Banner>
      )}
      {missingChangeScopes(operator) === undefined ? (
        <section aria-labelledby="takedown">
          <h2 id="takedown">Take down</h2>
          <p>
            A takedown deletes the bytes of the release permanently, for example because it contains a secret.
            To only remove it from catalogs, yank it.
          </p>
          <p>
            <a class="button-plain" href={at(takedownPath(release))}>
              Show what a takedown deletes
            </a>
          </p>
        </section>
      ) : null}
    </>
  );
}

function YankForm({ shown: { release, typed, problems } }: { shown: ReleasePageData }) {
  return (
    <ActionForm action={operateReleasePath(release)} class="form">
      <p>Catalogs no longer include a yanked release. Users who pinned it can still get it.</p>
      <Field
        field="yank-reason"
        label="Reason to yank"
        problems={problems}
        name="reason"
        value={typed.reason}
        required
        maxlength={1_000}
      >
        Everyone can read it.
      </Field>
      <button type="submit" name="do" value="yank">
        Yank
      </button>
    </ActionForm>
  );
}

function DeprecateForm({ shown: { release, typed, problems } }: { shown: ReleasePageData }) {
  return (
    <ActionForm action={operateReleasePath(release)} class="form">
      <p>
        A deprecated release stays in catalogs, and tools warn about it. Enter a reason, a replacement, or
        both.
      </p>
      <Field
        field="deprecate-reason"
        label="Reason to deprecate"
        problems={problems}
        name="reason"
        value={typed.reason}
        maxlength={1_000}
      >
        Everyone can read it.
      </Field>
      <Field
        field="deprecate-replacement"
        label="Replacement"
        problems={problems}
        name="replacement"
        value={typed.replacement}
        maxlength={500}
        autocapitalize="none"
        spellcheck={false}
      >
        <code>GROUP/KIND</code>, with a range of releases if needed: <code>example.com/SetLabels@^2.0.0</code>
      </Field>
      <button type="submit" name="do" value="deprecate">
        Deprecate
      </button>
    </ActionForm>
  );
}

function Undo({
  shown: { release },
  action,
  mark,
}: {
  shown: ReleasePageData;
  action: 'unyank' | 'undeprecate';
  mark: DeprecationRecord;
}) {
  return (
    <ActionForm action={operateReleasePath(release)} class="form">
      <p>
        <Text value={sentence(mark.reason)} max={1_000} />{' '}
        {mark.replacement === undefined ? null : (
          <>
            Use <QualifiedName name={{ ...mark.replacement, release: mark.replacement.releases }} />.{' '}
          </>
        )}
        <span class="quiet">
          By <Text value={mark.by} max={100} />, <Time at={mark.at} />.
        </span>
      </p>
      <button type="submit" name="do" value={action}>
        {action === 'unyank' ? 'Unyank' : 'Undeprecate'}
      </button>
    </ActionForm>
  );
}
