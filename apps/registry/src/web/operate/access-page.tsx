import type { AccessDecision, AccessResult, Diagnostic } from '@krmhub/api/model';
import { CHECKED_ACTIONS } from '@krmhub/api/model';
import {
  type AccessRules,
  accessChangeCount,
  describeAccessChange,
  describeBehind,
  describeExposedFunction,
  describeTeamEnd,
  EXPOSED_STAYS,
} from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { OPERATE_ACCESS } from '../addresses.js';
import { Banner } from '../parts/banner.js';
import { NamePart, Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { sentence } from '../sentence.js';
import { useSite } from '../site.js';
import { DocumentBanner, DocumentEditor, type DocumentOutcome } from './document-editor.js';
import { Field } from './field.js';
import { OpenGroups } from './open-groups.js';

type Effects = Omit<AccessResult, 'diagnostics'>;

/** Result of a submitted document. */
export type AccessOutcome =
  | { is: 'checked'; result: Effects }
  /** The document changes rights, which must be confirmed. */
  | { is: 'asks'; result: Effects }
  /** With the catalogs that may still have what is hidden now. */
  | { is: 'applied'; behind: Pick<AccessResult, 'behind' | 'behindCount'> }
  | DocumentOutcome;

/** What an operator asked, and the decision. */
export interface AccessQuestion {
  actor: string;
  action: string;
  object: string;
  decision?: AccessDecision | undefined;
  /** Why there is no decision. */
  problem?: string | undefined;
}

export interface AccessPageData {
  rules: AccessRules;
  /** Absent if no document was ever applied. */
  applied?: { at: string; by: string } | undefined;
  /** The stored text. */
  stored: string;
  /** Text in the editor. */
  text: string;
  /** Digest of the stored text when the edit began. */
  expected: string;
  diagnostics: readonly Diagnostic[];
  outcome?: AccessOutcome | undefined;
  question?: AccessQuestion | undefined;
}

/** Items of a list. The document has all. */
const MAX_ITEMS = 100;

export function AccessPage({ shown }: { shown: AccessPageData }) {
  const { rules, applied, stored, text, expected, diagnostics, outcome, question } = shown;
  const effects = shownEffects(outcome);
  // What happened to a submitted document is first, where its user looks.
  const editor = (
    <>
      <h2>Document</h2>
      <DocumentEditor
        {...{ text, stored, diagnostics, outcome }}
        noun="document"
        label="Access document, YAML"
        action={OPERATE_ACCESS}
        expected={expected}
        banner={outcome === undefined ? null : <Outcome outcome={outcome} />}
        {...defined({ applyLabel: effects && 'Apply these changes' })}
      >
        {effects === undefined ? null : <input type="hidden" name="shown" value={sha256(text)} />}
      </DocumentEditor>
    </>
  );
  return (
    <>
      <h1>Access</h1>
      <p>
        {applied === undefined ? (
          'No document was applied yet: everything is public, and only administrators begin new groups.'
        ) : (
          <>
            Applied <Time at={applied.at} /> by <Text value={applied.by} max={100} />.
          </>
        )}{' '}
        The document says who may see and do what.
      </p>
      {outcome === undefined ? null : editor}
      <OpenGroups rules={rules} />
      <Teams rules={rules} />
      <Visibility rules={rules} />
      <CheckForm question={question} />
      {outcome === undefined ? editor : null}
    </>
  );
}

function Outcome({ outcome }: { outcome: AccessOutcome }) {
  switch (outcome.is) {
    case 'applied': {
      const behind = describeBehind(outcome.behind);
      if (behind === undefined) return <Banner tone="good" title="Document applied" />;
      return (
        <Banner tone="warning" title="Document applied, catalogs follow later">
          <p>
            <Text value={sentence(behind)} max={4_000} />
          </p>
        </Banner>
      );
    }
    case 'checked':
      return (
        <Banner tone="good" title="The document is valid">
          <p>
            {outcome.result.outcome === 'unchanged'
              ? 'It is the current document.'
              : 'If you apply it, it replaces the current one.'}{' '}
            Checking changed nothing.
          </p>
          {outcome.result.outcome === 'unchanged' ? null : <EffectList effects={outcome.result} />}
        </Banner>
      );
    case 'asks':
      return (
        <Banner tone="warning" title="Nothing was changed yet">
          <p>The document has the effects below. Apply it again to confirm.</p>
          <EffectList effects={outcome.result} />
        </Banner>
      );
    default:
      return <DocumentBanner noun="document" outcome={outcome} />;
  }
}

/** Whether a document has effects that its author must have seen. */
export function hasEffects({ count, exposedCount, endedCount }: Effects): boolean {
  return count + exposedCount + endedCount > 0;
}

/** Returns the effects that the page shows above the form. */
function shownEffects(outcome: AccessOutcome | undefined): Effects | undefined {
  const isShown = outcome?.is === 'asks' || outcome?.is === 'checked';
  return isShown && hasEffects(outcome.result) ? outcome.result : undefined;
}

/** Who gains and who loses what, what ends with teams, and what snapshots still show. */
function EffectList({ effects }: { effects: Effects }) {
  const { changes, count, exposed, exposedCount, ended, endedCount } = effects;
  return (
    <>
      <ul>
        {changes.map(describeAccessChange).map(({ right, actors, reason }) => (
          <li>
            <b>
              <Text value={right} max={4_000} />
            </b>
            : <Text value={actors} max={4_000} />
            {reason === undefined ? null : (
              <>
                {' '}
                (<Text value={reason} max={200} />)
              </>
            )}
          </li>
        ))}
      </ul>
      <p>{sentence(accessChangeCount(count, changes.length))}</p>
      <Lines texts={ended.map(describeTeamEnd)} count={endedCount} />
      <Lines texts={exposed.map(describeExposedFunction)} count={exposedCount} />
      {exposedCount === 0 ? null : <p>{sentence(EXPOSED_STAYS)}</p>}
    </>
  );
}

/** The first of `count` effects, a sentence each. */
function Lines({ texts, count }: { texts: readonly string[]; count: number }) {
  if (count === 0) return null;
  return (
    <>
      <ul>
        {texts.map((text) => (
          <li>
            <Text value={sentence(text)} max={1_000} />
          </li>
        ))}
      </ul>
      {count > texts.length ? <p>And {count - texts.length} more.</p> : null}
    </>
  );
}

function Teams({ rules }: { rules: AccessRules }) {
  const { teams } = rules.document;
  if (teams.length === 0) return null;
  return (
    <section aria-labelledby="teams">
      <h2 id="teams">Teams</h2>
      <ul>
        {teams.slice(0, MAX_ITEMS).map(({ name, displayName }) => {
          const { owns, grants } = rules.rightsOf(name);
          const rights = [
            ...(owns.length === 0 ? [] : [`owns ${owns.join(', ')}`]),
            ...grants.map(({ may, in: where }) => {
              const [of, pattern] = Object.entries(where)[0] ?? [];
              return `may ${may.join(', ')} in ${of} ${pattern}`;
            }),
          ];
          return (
            <li>
              <b>{name}</b>
              {displayName === undefined ? null : (
                <>
                  {' '}
                  (<Text value={displayName} max={200} />)
                </>
              )}
              :{' '}
              <Text
                value={rights.length === 0 ? 'owns nothing, and has no grant' : rights.join('; ')}
                max={2_000}
              />
            </li>
          );
        })}
      </ul>
      <More of={teams} />
    </section>
  );
}

function Visibility({ rules }: { rules: AccessRules }) {
  const { groups, catalogs, repositories } = rules.document;
  const rows = [
    ...groups.flatMap(({ pattern, visibility = 'public', functions }) => [
      { of: 'group', name: pattern, visibility },
      ...functions.map(({ kind, visibility: own }) => ({
        of: 'function',
        name: `${pattern}/${kind}`,
        visibility: own,
      })),
    ]),
    ...catalogs.map(({ pattern, visibility }) => ({ of: 'catalog', name: pattern, visibility })),
    ...repositories.map(({ pattern, visibility }) => ({ of: 'repository', name: pattern, visibility })),
  ].filter(({ visibility }) => visibility !== 'public');
  if (rows.length === 0) return null;
  return (
    <section aria-labelledby="hidden">
      <h2 id="hidden">Not public</h2>
      <ul>
        {rows.slice(0, MAX_ITEMS).map(({ of, name, visibility }) => (
          <li>
            {of} <NamePart value={name} />: {visibility}
          </li>
        ))}
      </ul>
      <More of={rows} />
    </section>
  );
}

function More({ of }: { of: readonly unknown[] }) {
  return of.length <= MAX_ITEMS ? null : <p>and {of.length - MAX_ITEMS} more in the document</p>;
}

/** Asks what an actor may do. It changes nothing. */
function CheckForm({ question }: { question: AccessQuestion | undefined }) {
  const { at } = useSite();
  const { actor = '', action = 'read', object = '', decision, problem } = question ?? {};
  return (
    <section aria-labelledby="check">
      <h2 id="check">Check</h2>
      {decision === undefined ? null : (
        <Banner
          tone={decision.allowed ? 'good' : 'warning'}
          title={decision.allowed ? 'Allowed' : 'Not allowed'}
        >
          <p>
            <Text value={sentence(decision.reason)} max={1_000} />
          </p>
        </Banner>
      )}
      {problem === undefined ? null : (
        <Banner tone="danger" title="No decision">
          <p>
            <Text value={sentence(problem)} max={1_000} />
          </p>
        </Banner>
      )}
      <form method="get" action={`${at(OPERATE_ACCESS)}#check`} class="form">
        <Field field="actor" label="Actor" value={actor} required maxlength={100}>
          The name or ID of a token, <code>anonymous</code>, <code>internal</code>, <code>team:NAME</code>, or{' '}
          <code>user:ID</code>.
        </Field>
        <p class="entry">
          <label for="action">Action</label>
          <select id="action" name="action">
            {CHECKED_ACTIONS.map((one) => (
              <option value={one} selected={one === action}>
                {one}
              </option>
            ))}
          </select>
        </p>
        <Field field="object" label="Object" value={object} required maxlength={520}>
          <code>GROUP</code>, <code>GROUP/KIND</code>, <code>catalog:NAME</code>, <code>repository:NAME</code>
          , or <code>registry</code>.
        </Field>
        <div class="buttons">
          <button type="submit" class="button-plain">
            Check access
          </button>
        </div>
      </form>
    </section>
  );
}
