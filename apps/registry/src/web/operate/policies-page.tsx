import type { Diagnostic, PolicyResult } from '@krmhub/api/model';
import { type TrustChange, verdictLabel } from '@krmhub/catalog';
import { OPERATE_POLICIES } from '../addresses.js';
import { Banner } from '../parts/banner.js';
import { NamePart, QualifiedName, Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { sentence } from '../sentence.js';
import { DocumentBanner, DocumentEditor, type DocumentOutcome } from './document-editor.js';

/** Result of submitted policies. */
export type PoliciesOutcome =
  | { is: 'checked'; result: Omit<PolicyResult, 'diagnostics'>; trust: readonly TrustChange[] }
  /** The policies would remove others, which must be confirmed. */
  | { is: 'removes'; message: string }
  | { is: 'applied' }
  | DocumentOutcome;

export interface PoliciesPageData {
  /** Absent if policies were never applied. */
  applied?: { at: string; by: string } | undefined;
  /** The stored text. */
  stored: string;
  /** Text in the editor. */
  text: string;
  /** Revision of the stored policies when the edit began. */
  expected: number;
  diagnostics: readonly Diagnostic[];
  outcome?: PoliciesOutcome | undefined;
}

const MAX_CHANGES = 50;

export function PoliciesPage({ shown }: { shown: PoliciesPageData }) {
  const { applied, stored, text, expected, diagnostics, outcome } = shown;
  return (
    <>
      <h1>Signing policies</h1>
      <p>
        {applied === undefined ? (
          'No policies were applied yet.'
        ) : (
          <>
            Applied <Time at={applied.at} /> by <Text value={applied.by} max={100} />.
          </>
        )}{' '}
        They say which signers the registry trusts, and for which functions.
      </p>
      <DocumentEditor
        {...{ text, stored, diagnostics, outcome }}
        noun="policies"
        label="Policies, YAML: one SigningPolicy per document"
        action={OPERATE_POLICIES}
        expected={String(expected)}
        banner={outcome === undefined ? null : <Outcome outcome={outcome} />}
      >
        {outcome?.is === 'removes' ? (
          <label class="choice">
            <input type="checkbox" name="remove" value="true" />
            <span>Remove the policies that are missing in the text</span>
          </label>
        ) : null}
      </DocumentEditor>
    </>
  );
}

function Outcome({ outcome }: { outcome: PoliciesOutcome }) {
  switch (outcome.is) {
    case 'applied':
      return <Banner tone="good" title="Policies applied" />;
    case 'checked':
      return (
        <Banner tone="good" title="The policies are valid">
          <p>
            {outcome.result.outcome === 'unchanged'
              ? 'They are identical to the current policies.'
              : 'If you apply them, they replace the current policies.'}{' '}
            Checking changed nothing.
          </p>
          <Effects outcome={outcome} />
        </Banner>
      );
    case 'removes':
      return (
        <Banner tone="warning" title="Nothing was changed">
          <p>
            <Text value={sentence(outcome.message)} max={2_000} /> Functions of their groups need no signature
            afterwards. Add these policies to the text, or confirm below.
          </p>
        </Banner>
      );
    default:
      return <DocumentBanner noun="policies" outcome={outcome} />;
  }
}

/** Who becomes trusted or untrusted, and which releases get another verdict. */
function Effects({
  outcome: {
    trust,
    result: { changes, changed },
  },
}: {
  outcome: Extract<PoliciesOutcome, { is: 'checked' }>;
}) {
  return (
    <>
      {trust.length === 0 ? null : (
        <ul>
          {trust.slice(0, MAX_CHANGES).map(({ group, signatures, trusted, distrusted }) => (
            <li>
              <b>
                <NamePart value={group} />
              </b>
              {signatures === undefined ? '' : `: signatures are ${signatures}`}
              {trusted.length === 0 ? '' : '; trusts '}
              <Text value={trusted.join(' and ')} max={1_000} />
              {distrusted.length === 0 ? '' : '; no longer trusts '}
              <Text value={distrusted.join(' and ')} max={1_000} />
            </li>
          ))}
        </ul>
      )}
      {changed === 0 ? null : (
        <>
          <p>
            {changed} {changed === 1 ? 'release gets' : 'releases get'} another verdict:
          </p>
          <ul>
            {changes.slice(0, MAX_CHANGES).map((change) => (
              <li>
                <QualifiedName name={change} />: {verdictLabel(change.before)}, then{' '}
                {verdictLabel(change.after)}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
