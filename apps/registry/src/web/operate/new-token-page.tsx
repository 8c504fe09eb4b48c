import { type CreatedToken, TOKEN_SCOPES, type TokenScope } from '@krmhub/api/model';
import type { PropsWithChildren } from 'hono/jsx';
import { NEW_TOKEN, TOKENS } from '../addresses.js';
import { Banner } from '../parts/banner.js';
import { CopySnippet } from '../parts/copy-snippet.js';
import { Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';
import { ActionForm } from './action-form.js';
import { TokenRights } from './tokens-page.js';

/** Values of the form, as typed. */
export interface TokenInput {
  name: string;
  scopes: readonly string[];
  groups: string;
  repositories: string;
  expiresInDays: string;
}

export const EMPTY_TOKEN: TokenInput = {
  name: '',
  scopes: [],
  groups: '*',
  repositories: '*',
  expiresInDays: '90',
};

const MEANINGS: Readonly<Record<TokenScope, string>> = {
  publish: 'publish releases of functions, and attach signatures to them',
  yank: 'yank, unyank, and deprecate releases',
  push: 'push artifacts to repositories outside functions/',
  admin: 'administer the registry: tokens, recipes, policies, takedowns',
};

export function NewTokenPage({
  typed,
  problem,
}: {
  typed: TokenInput;
  problem?: { message: string; hint?: string | undefined } | undefined;
}) {
  const { at } = useSite();
  return (
    <>
      <h1>Create a token</h1>
      {problem === undefined ? null : (
        <Banner tone="danger" title="No token was created">
          <p>
            <Text value={`${problem.message}.`} max={2_000} />
          </p>
          {problem.hint === undefined ? null : (
            <p>
              <Text value={problem.hint} max={500} />
            </p>
          )}
        </Banner>
      )}
      <ActionForm action={NEW_TOKEN} class="form">
        <p class="entry">
          <label for="name">Name</label>
          <span class="quiet" id="name-hint">
            The user or program of the token. The log shows this name.
          </span>
          <input
            id="name"
            name="name"
            value={typed.name}
            required
            maxlength={100}
            aria-describedby="name-hint"
          />
        </p>
        <fieldset>
          <legend>Scopes</legend>
          {TOKEN_SCOPES.map((scope) => (
            <label class="choice">
              <input type="checkbox" name="scopes" value={scope} checked={typed.scopes.includes(scope)} />
              <span>
                <b>{scope}</b> <span class="quiet">{MEANINGS[scope]}</span>
              </span>
            </label>
          ))}
        </fieldset>
        <NamesField name="groups" title="Groups" value={typed.groups}>
          Of functions, for <code>publish</code> and <code>yank</code>, for example <code>*.example.com</code>
          , separated by spaces; <code>*</code> matches every group.
        </NamesField>
        <NamesField name="repositories" title="Repositories" value={typed.repositories}>
          For <code>push</code>, for example <code>team/*</code>, separated by spaces; <code>*</code> matches
          every repository.
        </NamesField>
        <p class="entry">
          <label for="expiresInDays">Days until it expires</label>
          <input
            id="expiresInDays"
            name="expiresInDays"
            type="number"
            min="1"
            max="3650"
            value={typed.expiresInDays}
            required
          />
        </p>
        <div class="buttons">
          <button type="submit">Create the token</button>
          <a href={at(TOKENS)}>Back to tokens</a>
        </div>
      </ActionForm>
    </>
  );
}

/** The only page that shows a secret, which is not stored. */
export function CreatedTokenPage({ token }: { token: CreatedToken }) {
  const { at } = useSite();
  return (
    <>
      <h1>
        Token <Text value={token.name} max={100} />
      </h1>
      <Banner tone="warning" title="Copy the token now: this page shows it only once">
        <p>
          The registry stores only a hash of the token. If you reload this page, it creates another token.
        </p>
      </Banner>
      <CopySnippet code={token.token} label="The token" />
      <TokenRights token={token} />
      {token.expiresAt === undefined ? null : (
        <p>
          It expires <Time at={token.expiresAt} isPrecise />.
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

/** A field of names separated by spaces; its children describe them. */
function NamesField({
  name,
  title,
  value,
  children,
}: PropsWithChildren<{ name: 'groups' | 'repositories'; title: string; value: string }>) {
  return (
    <p class="entry">
      <label for={name}>{title}</label>
      <span class="quiet" id={`${name}-hint`}>
        {children}
      </span>
      <input
        id={name}
        name={name}
        value={value}
        required
        maxlength={10_000}
        aria-describedby={`${name}-hint`}
        spellcheck={false}
        autocapitalize="none"
      />
    </p>
  );
}
