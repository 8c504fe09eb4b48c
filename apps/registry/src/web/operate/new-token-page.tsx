import type { CreatedToken } from '@krmhub/api/model';
import { describeScope, TOKEN_SCOPES } from '@krmhub/api/token-scopes';
import { tokenActor } from '@krmhub/catalog';
import type { PropsWithChildren } from 'hono/jsx';
import { NEW_TOKEN, TOKENS } from '../addresses.js';
import { Banner } from '../parts/banner.js';
import { CopySnippet } from '../parts/copy-snippet.js';
import { Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';
import { ActionForm } from './action-form.js';
import { Field, type FieldProblems, fieldAttributes, Problem, ProblemSummary } from './field.js';
import { CHANGES, mayOpen, useOperator } from './operator.js';
import type { TokenField, TokenInput } from './token-form.js';
import { TokenRights } from './tokens-page.js';

const LABELS: Readonly<Record<TokenField, string>> = {
  name: 'Name',
  scopes: 'Scopes',
  groups: 'Groups',
  repositories: 'Repositories',
  team: 'Team',
  expiresInDays: 'Days until it expires',
};

export function NewTokenPage({
  typed,
  maxDays,
  problems,
}: {
  typed: TokenInput;
  maxDays: number;
  problems: FieldProblems<TokenField>;
}) {
  const { at } = useSite();
  const operator = useOperator();
  const isUser = operator.token.user !== undefined;
  const isAdministrator = mayOpen(operator, CHANGES);
  const own = tokenActor(operator.rules, operator.token).scopes;
  const scopes = isAdministrator ? TOKEN_SCOPES : TOKEN_SCOPES.filter((scope) => own.includes(scope));
  return (
    <>
      <h1>Create a token</h1>
      {isUser ? (
        <p>
          The token is yours: whatever you choose here, it never has more than your rights at the time of its
          use.
        </p>
      ) : null}
      <ProblemSummary title="No token was created" problems={problems} labels={LABELS} />
      <ActionForm action={NEW_TOKEN} class="form">
        <Field
          field="name"
          label={LABELS.name}
          problems={problems}
          value={typed.name}
          required
          maxlength={100}
        >
          The user or program of the token. The log shows this name.
        </Field>
        <fieldset>
          <legend>Scopes</legend>
          <Problem field="scopes" problems={problems} />
          {scopes.map((scope, index) => (
            <label class="choice">
              <input
                type="checkbox"
                name="scopes"
                value={scope}
                checked={typed.scopes.includes(scope)}
                {...scopeAttributes(index, problems)}
              />
              <span>
                <b>{scope}</b> <span class="quiet">{describeScope(scope).meaning}</span>
              </span>
            </label>
          ))}
        </fieldset>
        <NamesField field="groups" typed={typed} problems={problems} maxlength={10_000}>
          Of functions, for <code>read</code>, <code>publish</code>, and <code>yank</code>, for example{' '}
          <code>*.example.com</code>, separated by spaces; <code>*</code> matches every group.
        </NamesField>
        <NamesField field="repositories" typed={typed} problems={problems} maxlength={10_000}>
          For <code>read</code> and <code>push</code>, for example <code>team/*</code>, separated by spaces;{' '}
          <code>*</code> matches every repository.
        </NamesField>
        {isUser && isAdministrator ? (
          <label class="choice">
            <input type="checkbox" name="robot" value="on" checked={typed.isRobot} />
            <span>
              <b>For a program</b>{' '}
              <span class="quiet">
                It is not yours, has the rights that you choose, and outlives your account.
              </span>
            </span>
          </label>
        ) : null}
        {isAdministrator ? (
          <NamesField field="team" typed={typed} problems={problems} maxlength={63}>
            Optional. The rights of the team bound those of the token; without groups, it has all of the team.
          </NamesField>
        ) : null}
        <Field
          field="expiresInDays"
          label={LABELS.expiresInDays}
          problems={problems}
          value={typed.expiresInDays}
          type="number"
          min={1}
          max={maxDays}
          required
        />
        <div class="buttons">
          <button type="submit">Create the token</button>
          <a href={at(TOKENS)}>Back to tokens</a>
        </div>
      </ActionForm>
    </>
  );
}

/** The link of a problem with the scopes leads to the first one. */
function scopeAttributes(index: number, problems: FieldProblems<TokenField>) {
  return index > 0 ? {} : { id: 'scopes', ...fieldAttributes('scopes', problems, { hasHint: false }) };
}

/** Shows a secret, which is not stored. */
export function CreatedTokenPage({ token }: { token: CreatedToken }) {
  const { at } = useSite();
  return (
    <>
      <h1>
        Token <Text value={token.name} max={100} />
      </h1>
      <Banner tone="warning" title="Copy the token now: this page shows it only once">
        <p>The registry stores only a hash of the token, so no page can show it again.</p>
      </Banner>
      <CopySnippet code={token.token} label="The token" />
      <TokenRights token={token} />
      {token.expiresAt === undefined ? null : (
        <p>
          It expires <Time at={token.expiresAt} />.
        </p>
      )}
      <p>
        On a workstation, <code>krmhub login</code> asks for it. In a pipeline, set the variable{' '}
        <code>KRMHUB_TOKEN</code>.
      </p>
      <p>
        <a href={at(TOKENS)}>Show tokens</a>
      </p>
    </>
  );
}

/** After the secret was shown, or was not asked for in time. */
export function SecretGonePage() {
  const { at } = useSite();
  return (
    <>
      <h1>The secret was shown once</h1>
      <p>
        The registry stores only a hash of a token. If you did not copy the secret, revoke the token, and{' '}
        <a href={at(NEW_TOKEN)}>create another token</a>.
      </p>
      <p>
        <a href={at(TOKENS)}>Show tokens</a>
      </p>
    </>
  );
}

/** A field of names; its children describe them. */
function NamesField({
  field,
  typed,
  problems,
  maxlength,
  children,
}: PropsWithChildren<{
  field: 'groups' | 'repositories' | 'team';
  typed: TokenInput;
  problems: FieldProblems<TokenField>;
  maxlength: number;
}>) {
  return (
    <Field
      field={field}
      label={LABELS[field]}
      problems={problems}
      value={typed[field]}
      maxlength={maxlength}
      spellcheck={false}
      autocapitalize="none"
    >
      {children}
    </Field>
  );
}
