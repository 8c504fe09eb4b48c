import { fillPath } from '@krmhub/api/paths';
import {
  type AppliedDocument,
  describeConditions,
  describeRequirements,
  describeThreshold,
  type SigningPolicy,
  type TrustedSigner,
} from '@krmhub/catalog';
import type { SourceRequirements } from '@krmhub/schema';
import { POLICIES, policyPath } from '../addresses.js';
import { counted } from '../counted.js';
import { CopySnippet } from '../parts/copy-snippet.js';
import { DefinitionList } from '../parts/definition-list.js';
import { Digest } from '../parts/digest.js';
import { Empty } from '../parts/empty.js';
import { GroupName } from '../parts/group-name.js';
import { Label } from '../parts/label.js';
import { NameList, Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';

/** Maximum number of listed signers; the API has all. */
const MAX_SIGNERS = 100;
const MAX_GROUPS = 50;
/** Groups of a policy in the list. */
const MAX_LISTED_GROUPS = 10;

export type AppliedPolicies = Pick<AppliedDocument, 'appliedAt' | 'appliedBy'>;

/** Lists the signing policies of the registry. */
export function PolicyListPage({ policies }: { policies: readonly SigningPolicy[] }) {
  const { at } = useSite();
  return (
    <div class="policies">
      <h1>Signing policies</h1>
      <p class="lead">
        A signing policy names the signers that this registry trusts for the functions of a group. A release
        that no policy covers needs no signature.
      </p>
      {policies.length === 0 ? (
        <Empty title="No policies yet">
          <p>
            An operator adds one with <code>krmhub policy add</code>.
          </p>
        </Empty>
      ) : (
        <ul class="found-list">
          {policies.map(({ name, groups, releases, signers }) => (
            <li class="found-function">
              <h2>
                <a href={at(policyPath(name))}>{name}</a>
              </h2>
              <ul class="found-facts">
                <li>
                  groups <NameList values={groups} max={MAX_LISTED_GROUPS} />
                </li>
                {releases === undefined ? null : (
                  <li>
                    releases <Text value={releases} max={100} />
                  </li>
                )}
                <li>{counted(signers.length, 'signer')}</li>
              </ul>
            </li>
          ))}
        </ul>
      )}
      <p>
        <a href={at(fillPath('policies', {}))}>Policies as JSON</a>
      </p>
    </div>
  );
}

/** Shows what a policy covers, and whom it trusts. */
export function PolicyPage({
  policy,
  applied,
}: {
  policy: SigningPolicy;
  applied: AppliedPolicies | undefined;
}) {
  const { at } = useSite();
  const { name, groups, releases, signers, testers = [] } = policy;
  const conditions = describeConditions(policy);
  const first = describeThreshold(policy) === undefined ? ['one of the signers must sign'] : [];
  return (
    <div class="policy">
      <p>
        <a href={at(POLICIES)}>Signing policies</a>
      </p>
      <h1>{name}</h1>
      <p class="lead">
        {conditions.length === 0
          ? 'This registry trusts a release of these groups if one of the signers signed it, and rejects releases that none of them signed.'
          : `This registry trusts a release of these groups only if this is true: ${[...first, ...conditions].join('; ')}.`}
      </p>
      <DefinitionList
        items={[
          ['Groups', <Groups groups={groups} />],
          ['Releases', releases === undefined ? 'all' : <Text value={releases} max={300} />],
          [
            'Applied',
            applied && (
              <>
                <Time at={applied.appliedAt} /> by <Text value={applied.appliedBy} max={60} />
              </>
            ),
          ],
        ]}
      />
      <SignerList id="signers" title="Signers" signers={signers} />
      {testers.length > 0 ? (
        <SignerList id="testers" title="Signers of test reports only" signers={testers} />
      ) : null}
      <p class="quiet">
        A signature says where a release comes from, not whether its behavior is safe. Your own trust policy
        decides what you run: <code>krmhub trust add</code>.
      </p>
      <p>
        <a href={at(fillPath('policies', {}))}>Policies as JSON</a>
      </p>
    </div>
  );
}

function SignerList({
  id,
  title,
  signers,
}: {
  id: string;
  title: string;
  signers: SigningPolicy['signers'];
}) {
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>
        {title} <span class="quiet">{signers.length}</span>
      </h2>
      <ul class="signatures">
        {signers.slice(0, MAX_SIGNERS).map((signer) => (
          <li>
            <Signer signer={signer} />
          </li>
        ))}
      </ul>
      {signers.length > MAX_SIGNERS ? (
        <p class="quiet">And {signers.length - MAX_SIGNERS} more in the JSON.</p>
      ) : null}
    </section>
  );
}

function Groups({ groups }: { groups: readonly string[] }) {
  return (
    <ul class="plain-list">
      {groups.slice(0, MAX_GROUPS).map((group) => (
        <li>
          <GroupName group={group} />
        </li>
      ))}
      {groups.length > MAX_GROUPS ? <li class="quiet">and {groups.length - MAX_GROUPS} more</li> : null}
    </ul>
  );
}

function sourceText(required: SourceRequirements) {
  const text = describeRequirements(required);
  return text === '' ? undefined : <Text value={text} max={1_000} />;
}

function Signer({ signer }: { signer: TrustedSigner }) {
  const { validFrom, validUntil, revoked } = signer;
  return (
    <>
      <h3>
        {'fingerprint' in signer ? (
          <>
            Key <Digest value={signer.fingerprint} />
          </>
        ) : (
          <Text value={signer.subject ?? signer.subjectPattern ?? 'any subject'} max={500} />
        )}{' '}
        {revoked === undefined ? null : <Label tone="danger">revoked</Label>}
      </h3>
      <DefinitionList
        items={[
          ['Revoked', revoked === undefined ? undefined : <Text value={revoked} max={500} />],
          ['Identity', 'subjectPattern' in signer ? 'every subject that matches this pattern' : undefined],
          ['Source', 'issuer' in signer ? sourceText(signer) : undefined],
          ['Issuer', 'issuer' in signer ? <Text value={signer.issuer} max={500} /> : undefined],
          ['Valid from', validFrom === undefined ? undefined : <Time at={validFrom} />],
          ['Valid until', validUntil === undefined ? undefined : <Time at={validUntil} />],
        ]}
      />
      {'key' in signer ? (
        <details>
          <summary>The public key</summary>
          <CopySnippet label={`Public key ${signer.fingerprint}`} code={signer.key.trim()} />
        </details>
      ) : null}
    </>
  );
}
