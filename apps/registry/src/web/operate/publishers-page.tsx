import { provider as findProvider, isPublisherExpired, type TrustedPublisher } from '@krmhub/catalog';
import { CI_PROVIDERS } from '@krmhub/schema';
import type { PropsWithChildren } from 'hono/jsx';
import { docsPath, OPERATE_PUBLISHERS, publishersPath, removePublisherPath } from '../addresses.js';
import { Banner } from '../parts/banner.js';
import { Label } from '../parts/label.js';
import { Pages } from '../parts/pages.js';
import { QualifiedName, Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';
import { ActionForm } from './action-form.js';
import { Field, type FieldProblems, fieldAttributes, Problem, ProblemSummary } from './field.js';
import type { Paged } from './paged.js';

/** Values of the form, as typed. */
export interface PublisherInput {
  target: string;
  provider: string;
  settings: string;
  pins: string;
  issuer: string;
  keys: string;
}
export type PublisherField = keyof PublisherInput;

export interface PublishersPageData {
  publishers: Paged<TrustedPublisher>;
  now: Date;
  typed: PublisherInput;
  problems: FieldProblems<PublisherField>;
  added?: TrustedPublisher;
  /** Whether one was just removed. */
  isRemoved: boolean;
  /** Whether the user owns a group, for which a publisher can be added. */
  isOwner: boolean;
  /** Whether who signed in may add and remove them: most tokens may not. */
  canChange: boolean;
  /** Whether workflows can name this registry in their tokens. */
  hasPublicUrl: boolean;
}

const LABELS: Readonly<Record<PublisherField, string>> = {
  target: 'Group, or one function',
  provider: 'Provider',
  settings: 'Settings',
  pins: 'IDs',
  issuer: 'Issuer',
  keys: 'Keys of the issuer',
};

export function PublishersPage({ shown }: { shown: PublishersPageData }) {
  const { publishers, added, isRemoved, isOwner, canChange, hasPublicUrl } = shown;
  const { at } = useSite();
  return (
    <>
      <h1>Trusted publishers</h1>
      {added === undefined ? null : (
        <Banner tone="good" title="The workflow may publish">
          <p>
            <QualifiedName name={added} />. It must do so before{' '}
            {added.pendingUntil === undefined ? null : <Time at={added.pendingUntil} />}.
          </p>
        </Banner>
      )}
      {!isRemoved ? null : (
        <Banner tone="good" title="The publisher is removed">
          <p>Its workflow gets no token any more, and those that it had are revoked.</p>
        </Banner>
      )}
      <p>
        CI workflows that may publish without a stored secret, in the groups that you own.{' '}
        <a href={at(docsPath('trusted-publishing'))}>How it works</a>.
      </p>
      {hasPublicUrl ? null : (
        <Banner tone="warning" title="No workflow can publish yet">
          <p>
            The registry does not know its public URL, which tokens of workflows name. The operator sets{' '}
            <code>KRMHUB_PUBLIC_URL</code>.
          </p>
        </Banner>
      )}
      {publishers.items.length === 0 ? <p class="quiet">No trusted publishers yet.</p> : null}
      {publishers.items.length === 0 ? null : (
        <ul class="operate-list">
          {publishers.items.map((publisher) => (
            <PublisherItem
              publisher={publisher}
              isOver={isPublisherExpired(publisher, shown.now)}
              canRemove={canChange}
            />
          ))}
        </ul>
      )}
      <Pages
        first={publishers.page === 1 ? undefined : publishersPath()}
        next={publishers.hasNext ? publishersPath({ page: publishers.page + 1 }) : undefined}
      />
      {isOwner && canChange ? <AddForm shown={shown} /> : null}
      {isOwner ? null : (
        <p>You own no group. The owner of a group adds the workflows that may publish there.</p>
      )}
      {isOwner && !canChange ? (
        <p>
          This token changes none. To add or remove a workflow, sign in as a user of the team that owns the
          group.
        </p>
      ) : null}
    </>
  );
}

function PublisherItem({
  publisher,
  isOver,
  canRemove,
}: {
  publisher: TrustedPublisher;
  isOver: boolean;
  canRemove: boolean;
}) {
  const { id, provider, settings, pins, issuer, pendingUntil, lastUsedAt, createdAt, createdBy } = publisher;
  const { title, issuer: usual } = findProvider(provider);
  return (
    <li id={id}>
      <div class="operate-head">
        <h2>
          <QualifiedName name={publisher} />
        </h2>
        <Label>{title}</Label>
        {pendingUntil === undefined ? null : (
          <Label tone="warning">{isOver ? 'not used in time' : 'not used yet'}</Label>
        )}
      </div>
      <p>
        <Text value={list(settings)} max={1_000} />
        {usual === issuer ? null : (
          <>
            ; issuer <Text value={issuer} max={300} />
          </>
        )}
      </p>
      <ul class="found-facts">
        <li>
          {Object.keys(pins).length === 0 ? (
            'IDs are those of its first run'
          ) : (
            <Text value={list(pins)} max={500} />
          )}
        </li>
        <li>
          added <Time at={createdAt} /> by <Text value={createdBy} max={100} />
        </li>
        <li>
          {lastUsedAt !== undefined ? (
            <>
              last used <Time at={lastUsedAt} />
            </>
          ) : pendingUntil === undefined ? (
            'never used'
          ) : isOver ? (
            <>
              ended <Time at={pendingUntil} />: add it again
            </>
          ) : (
            <>
              ends <Time at={pendingUntil} /> if it is not used
            </>
          )}
        </li>
        <li>
          <code>{id}</code>
        </li>
      </ul>
      {!canRemove ? null : (
        <details>
          <summary>
            Remove
            <span class="unseen">
              {' '}
              <QualifiedName name={publisher} />
            </span>
          </summary>
          <p>The workflow gets no token any more, and those that it has are revoked at once.</p>
          <ActionForm action={removePublisherPath({ id })} class="buttons">
            <button class="button-danger" type="submit">
              Remove it
            </button>
          </ActionForm>
        </details>
      )}
    </li>
  );
}

function AddForm({ shown: { typed, problems } }: { shown: PublishersPageData }) {
  return (
    <section aria-labelledby="add-publisher">
      <h2 id="add-publisher">Let a workflow publish</h2>
      <ProblemSummary title="No publisher was added" problems={problems} labels={LABELS} />
      <ActionForm action={OPERATE_PUBLISHERS} class="form">
        <OneLine field="target" typed={typed} problems={problems} required>
          For example <code>example.com</code>, or <code>example.com/SetLabels</code>.
        </OneLine>
        <p class="entry">
          <label for="provider">{LABELS.provider}</label>
          <select
            id="provider"
            name="provider"
            {...fieldAttributes('provider', problems, { hasHint: false })}
          >
            {CI_PROVIDERS.map((name) => (
              <option value={name} selected={name === typed.provider}>
                {findProvider(name).title}
              </option>
            ))}
          </select>
          <Problem field="provider" problems={problems} />
        </p>
        <Lines field="settings" typed={typed} problems={problems}>
          <code>NAME=VALUE</code> on each line. For GitHub, <code>repository=example/functions</code> and{' '}
          <code>workflow=release.yml</code>.
        </Lines>
        <Lines field="pins" typed={typed} problems={problems}>
          Optional, <code>NAME=VALUE</code> on each line, for example <code>repositoryId=1296269</code>. IDs
          that are missing are those of the first run; <code>krmhub publisher add</code> asks the provider for
          them.
        </Lines>
        <OneLine field="issuer" typed={typed} problems={problems}>
          Only for a server of your own, for example <code>https://gitlab.example.com</code>.
        </OneLine>
        <Lines field="keys" typed={typed} problems={problems}>
          Only if the registry cannot reach the issuer: its JSON Web Key Set.
        </Lines>
        <div class="buttons">
          <button type="submit">Let it publish</button>
        </div>
      </ActionForm>
    </section>
  );
}

type FieldProps = PropsWithChildren<{
  field: PublisherField;
  typed: PublisherInput;
  problems: FieldProblems<PublisherField>;
}>;

function OneLine({
  field,
  typed,
  problems,
  required = false,
  children,
}: FieldProps & { required?: boolean }) {
  return (
    <Field
      field={field}
      label={LABELS[field]}
      problems={problems}
      value={typed[field]}
      required={required}
      maxlength={400}
      spellcheck={false}
      autocapitalize="none"
    >
      {children}
    </Field>
  );
}

function Lines({ field, typed, problems, children }: FieldProps) {
  return (
    <p class="entry">
      <label for={field}>{LABELS[field]}</label>
      <span class="quiet" id={`${field}-hint`}>
        {children}
      </span>
      <textarea id={field} name={field} rows={3} spellcheck={false} {...fieldAttributes(field, problems)}>
        {typed[field]}
      </textarea>
      <Problem field={field} problems={problems} />
    </p>
  );
}

function list(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}
