import type { Diagnostic } from '@krmhub/api/model';
import type { Child } from 'hono/jsx';
import { Words } from '../error/error-page.js';
import { Banner } from '../parts/banner.js';
import { Text } from '../parts/text.js';
import { sentence } from '../sentence.js';
import { visibleText } from '../visible-text.js';
import { ActionForm } from './action-form.js';
import { missingChangeScopes, useOperator } from './operator.js';
import { RecipeDiagnostics } from './recipe-diagnostics.js';

/** Result of a submitted document that is the same for every kind of document. */
export type DocumentOutcome =
  | { is: 'refused'; message: string; hint?: string | undefined }
  /** Concurrent update: another text was applied meanwhile. */
  | { is: 'conflict' }
  /** The form was of an earlier session. */
  | { is: 'stale' };

const WORDS = {
  recipe: { one: 'a recipe', have: 'has', them: 'it', texts: 'recipes', yours: 'your recipe' },
  document: { one: 'the document', have: 'has', them: 'it', texts: 'documents', yours: 'your document' },
  policies: { one: 'policies', have: 'have', them: 'them', texts: 'texts', yours: 'yours' },
} as const;
type Noun = keyof typeof WORDS;

interface EditorProps {
  /** What the document is, and the ID of the field. */
  noun: Noun;
  label: string;
  action: string;
  /** Text in the editor. */
  text: string;
  /** The stored text; undefined if there is none. */
  stored: string | undefined;
  /** The stored state when the edit began. */
  expected: string;
  diagnostics: readonly Diagnostic[];
  outcome: { is: string } | undefined;
  /** What happened to the submitted text. */
  banner: Child;
  /** Why nobody can change it; undefined if operators can. */
  fixed?: Child;
  /** On the button that applies the text. */
  applyLabel?: string;
  /** Further fields of the form. */
  children?: Child;
}

/** An editor for a YAML document that operators check and apply, or its text if they cannot. */
export function DocumentEditor({ noun, label, action, text, stored, expected, ...props }: EditorProps) {
  const { diagnostics, outcome, banner, fixed, applyLabel = 'Apply', children } = props;
  const { one, them } = WORDS[noun];
  const operator = useOperator();
  const lacking = missingChangeScopes(operator);
  const isConflict = outcome?.is === 'conflict';
  return (
    <>
      {fixed ??
        (lacking === undefined ? null : (
          <Banner title="Read-only access">
            <p>
              To apply {one}, you need the scope <code>admin</code> for all groups.{' '}
              {operator.token.user === undefined ? 'Your token does' : 'You do'} not have{' '}
              <Text value={lacking} />.
            </p>
          </Banner>
        ))}
      {banner}
      {isConflict ? (
        <section aria-labelledby="stored">
          <h2 id="stored">Current {noun}</h2>
          <pre tabindex={0}>
            <code>{stored === undefined ? 'None.' : visibleText(stored)}</code>
          </pre>
          <h2>Yours</h2>
        </section>
      ) : null}
      <RecipeDiagnostics diagnostics={diagnostics} text={text} />
      {lacking === undefined && fixed === undefined ? (
        <ActionForm action={action} class="editor">
          <input type="hidden" name="expected" value={expected} />
          <label for={noun}>{label}</label>
          {/* HTML parsers drop a line end at the start of a text area. */}
          <textarea
            id={noun}
            name="text"
            rows={Math.min(Math.max(text.split('\n').length + 2, 16), 40)}
            spellcheck={false}
            autocapitalize="none"
            autocomplete="off"
            wrap="off"
            dir="ltr"
            aria-invalid={outcome?.is === 'refused' ? 'true' : undefined}
          >
            {`\n${text}`}
          </textarea>
          {children}
          <div class="buttons">
            <button type="submit" name="do" value="check" class="button-plain">
              Check only
            </button>
            <button type="submit" name="do" value="apply">
              {isConflict ? `Replace ${them} with my ${noun}` : applyLabel}
            </button>
          </div>
        </ActionForm>
      ) : (
        <pre tabindex={0}>
          <code>{visibleText(text)}</code>
        </pre>
      )}
    </>
  );
}

/** Says what happened to a submitted document. */
export function DocumentBanner({ noun, outcome }: { noun: Noun; outcome: DocumentOutcome }) {
  const { have, texts, yours } = WORDS[noun];
  if (outcome.is === 'conflict') {
    return (
      <Banner tone="warning" title={`The ${noun} ${have} changed since you started`}>
        <p>
          Nothing was changed. Compare both {texts}, then apply {yours} again.
        </p>
      </Banner>
    );
  }
  if (outcome.is === 'stale') {
    return (
      <Banner tone="warning" title="Not applied yet">
        <p>You signed in again after you opened this form. Check the form, and submit it again.</p>
      </Banner>
    );
  }
  return (
    <Banner tone="danger" title="Nothing was changed">
      <p>
        <Text value={sentence(outcome.message)} max={2_000} />
      </p>
      {outcome.hint === undefined ? null : (
        <p>
          <Words text={outcome.hint} />
        </p>
      )}
    </Banner>
  );
}
